import type { AssistantMessage, Message, ToolMessage } from './messages.ts'
import { withoutImages } from './tool-images.ts'

/** What a model is told of a call whose result was never seen. */
export const outcomeUnknown = 'The outcome of this call is unknown: it may or may not have been done. It was not repeated.'

/**
 * A transcript that every provider takes: each tool call has exactly one result, right behind its message, in the order asked;
 * a result without its call is dropped, as is a message of the model that says and asks nothing; two user messages in a row are kept.
 * The input is not changed.
 */
export function repair(messages: readonly Message[]): Message[] {
  const repaired: Message[] = []
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'tool' || isEmpty(message)) continue
    repaired.push(message)
    if (message.role === 'assistant' && message.toolCalls.length > 0) {
      repaired.push(...resultsOf(message, followingResults(messages, at + 1)))
    }
  }
  return repaired
}

function isEmpty(message: Message): boolean {
  return message.role === 'assistant' && message.text === '' && message.toolCalls.length === 0
}

function resultsOf(message: AssistantMessage, results: ReadonlyMap<string, ToolMessage>): ToolMessage[] {
  return message.toolCalls.map(({ id, name }) => results.get(id) ?? { role: 'tool', callId: id, name, text: outcomeUnknown, isError: true })
}

function followingResults(messages: readonly Message[], from: number): Map<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (let at = from; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role !== 'tool') break
    if (!results.has(message.callId)) results.set(message.callId, message)
  }
  return results
}

/** Characters per token, roughly, over the languages and the JSON that a transcript holds. */
export const charactersPerToken = 4

/** A cheap estimate that never blocks: exact counters are quadratic on some inputs. */
export function estimateTokens(message: Message): number {
  const calls =
    message.role === 'assistant' ? message.toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0) : 0
  const images = message.role === 'assistant' ? 0 : (message.images?.length ?? 0) * tokensPerImage
  return Math.ceil((message.text.length + calls) / charactersPerToken) + images + tokensPerMessage
}

export const tokensPerImage = 1000
const tokensPerMessage = 4
/** Old tool output is cut to this before whole turns are left out. */
const oldOutputCharacters = 400
/** Outputs of a run that stay whole as long as they fit, beside those that the model has not seen yet. */
const newestOutputs = 3
/** Even where many outputs share what is left, each keeps so much. */
const leastCharacters = 2000
/** Cuts move on by so many messages, so that what stands before them is the same for several calls: prompt caches hold. */
const stride = 8

export function totalTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateTokens(message), 0)
}

/** As it is shown where room is short; for what is no tool output the message itself. */
export function cutOutput(message: Message): Message {
  if (message.role !== 'tool') return message
  const isLong = message.text.length > oldOutputCharacters
  const text = isLong ? `${message.text.slice(0, oldOutputCharacters).toWellFormed()}\n[old output, cut]` : message.text
  return isLong || message.images ? withoutImages({ ...message, text }) : message
}

export interface Fitted {
  messages: Message[]
  /** Whole turns that had no room, oldest first. */
  leftOut: readonly Message[]
}

/**
 * Fits a transcript into `budget` tokens before a run: first the tool output of earlier turns is cut, then whole earlier turns are left
 * out, oldest first. What begins with the last user message is never touched.
 */
export function fit(messages: readonly Message[], budget: number): Fitted {
  const lastUser = messages.findLastIndex((message) => message.role === 'user')
  const fitted = cutBefore(messages, lastUser, budget)
  let total = totalTokens(fitted)
  let from = 0
  while (total > budget && from < lastUser) {
    // A turn goes as a whole: from one user message to the next.
    do total -= estimateTokens(fitted[from++]!)
    while (from < lastUser && fitted[from]!.role !== 'user')
  }
  return { messages: fitted.slice(from), leftOut: messages.slice(0, from) }
}

/**
 * Fits a transcript into `budget` tokens while a run grows: old tool output is cut, and where that is not enough the newest outputs share
 * what is left. Calls and results stay as they are otherwise. The same array where it fits already; the input is not changed.
 */
export function fitOutputs(messages: readonly Message[], budget: number): readonly Message[] {
  if (totalTokens(messages) <= budget) return messages
  const newest = beginOfNewest(messages)
  return shareRest(cutBefore(messages, newest, budget), newest, budget)
}

/** Cuts tool outputs before `end`, oldest first, as far as needed, in strides. */
function cutBefore(messages: readonly Message[], end: number, budget: number): Message[] {
  const fitted = [...messages]
  let total = totalTokens(messages)
  for (let at = 0; at < end; at++) {
    if (at % stride === 0 && total <= budget) break
    const cut = cutOutput(messages[at]!)
    total -= estimateTokens(messages[at]!) - estimateTokens(cut)
    fitted[at] = cut
  }
  return fitted
}

/** The message that asked for the oldest of the newest outputs: those of one turn stay together. */
function beginOfNewest(messages: readonly Message[]): number {
  let outputs = 0
  for (let at = messages.length - 1; at >= 0; at--) {
    if (messages[at]!.role === 'tool') outputs++
    else if (outputs >= newestOutputs) return at
  }
  return 0
}

function shareRest(messages: Message[], from: number, budget: number): Message[] {
  const over = totalTokens(messages) - budget
  const outputs = messages.slice(from).filter((message) => message.role === 'tool')
  if (over <= 0 || outputs.length === 0) return messages
  const left = Math.max(0, totalTokens(outputs) - over) * charactersPerToken
  const characters = Math.max(leastCharacters, Math.floor(left / outputs.length))
  return messages.map((message, at) => {
    if (at < from || message.role !== 'tool' || message.text.length <= characters) return message
    const text = `${message.text.slice(0, characters).toWellFormed()}\n[cut: ${characters} of ${message.text.length} characters. Ask for a part of it.]`
    return { ...message, text }
  })
}
