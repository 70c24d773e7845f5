import type { AssistantMessage, Message, ToolCall, ToolMessage } from './messages.ts'
import { withoutImages } from './tool-images.ts'

/** The tool result of a call without a recorded result. */
export const outcomeUnknown = 'The outcome of this call is unknown: it may or may not have been done. It was not repeated.'

/**
 * Returns a transcript that every provider accepts: each tool call has exactly one result, directly behind its message
 * and in the order of the calls. Results without a call and empty assistant messages are dropped; consecutive user
 * messages are kept. The input is not changed.
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

function followingResults(messages: readonly Message[], start: number): Map<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (let at = start; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role !== 'tool') break
    if (!results.has(message.callId)) results.set(message.callId, message)
  }
  return results
}

/** Calls without a result, in the order asked, of a transcript that ends in the middle of a turn. */
export function callsWithoutResult(messages: readonly Message[]): ToolCall[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant')
  const message = messages[last]
  if (message?.role !== 'assistant') return []
  const following = messages.slice(last + 1)
  if (following.some(({ role }) => role === 'user')) return []
  const done = new Set(following.map((next) => (next.role === 'tool' ? next.callId : '')))
  return message.toolCalls.filter((call) => !done.has(call.id))
}

/** Average characters per token over human languages and the JSON of a transcript. */
export const charactersPerToken = 4

/** A cheap estimate in linear time: exact tokenizers are quadratic on some inputs. */
export function estimateTokens(message: Message): number {
  const calls =
    message.role === 'assistant' ? message.toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0) : 0
  const images = message.role === 'assistant' ? 0 : (message.images?.length ?? 0) * tokensPerImage
  const files = message.role === 'user' ? (message.files?.length ?? 0) * tokensPerFile : 0
  const vendor = message.role === 'assistant' && message.vendor ? vendorTokens(message.vendor) : 0
  return Math.ceil((message.text.length + calls) / charactersPerToken) + images + files + vendor + tokensPerMessage
}

/**
 * Limit of the tokens that the provider data of a message counts for. Encrypted reasoning is longer than the reasoning that a provider
 * counts, and must not push earlier turns out of the window.
 */
export const maxVendorTokens = 8000
/** Estimates by provider data: a transcript is counted before each model call. */
const vendorEstimates = new WeakMap<NonNullable<AssistantMessage['vendor']>, number>()

function vendorTokens(vendor: NonNullable<AssistantMessage['vendor']>): number {
  let tokens = vendorEstimates.get(vendor)
  if (tokens === undefined) {
    tokens = Math.min(maxVendorTokens, Math.ceil(JSON.stringify(vendor.data).length / charactersPerToken))
    vendorEstimates.set(vendor, tokens)
  }
  return tokens
}

export const tokensPerImage = 1000
/**
 * A document, audio or video. A flat number: files have limits of their own, and the size of a long document must not push
 * the turn of the document, and all turns before, out of the window.
 */
export const tokensPerFile = 1000
const tokensPerMessage = 4
/** Characters that remain of old tool output. Output is cut before whole turns are left out. */
const oldOutputCharacters = 400
/** Newest outputs of a run kept whole if the space suffices, in addition to outputs not yet seen by the model. */
const newestOutputs = 3
/** Characters that each of the newest outputs keeps, however many share the budget. */
const minOutputCharacters = 2000
/**
 * Cuts advance in steps of this many messages, so that several calls share the same prefix and hit the provider's
 * prompt cache.
 */
const stride = 8

export function totalTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateTokens(message), 0)
}

/** Shortens a tool message for a tight budget; returns other messages unchanged. */
export function cutOutput(message: Message): Message {
  if (message.role !== 'tool') return message
  const isLong = message.text.length > oldOutputCharacters
  const text = isLong ? `${message.text.slice(0, oldOutputCharacters).toWellFormed()}\n[old output, cut]` : message.text
  return isLong || message.images ? withoutImages({ ...message, text }) : message
}

export interface FittedTranscript {
  messages: Message[]
  /** Turns left out for lack of room, oldest first. */
  omitted: readonly Message[]
}

/**
 * Fits a transcript into `budget` tokens before a run: first cuts the tool output of earlier turns, then leaves out
 * whole earlier turns, oldest first. The last user message and everything behind it stay unchanged.
 */
export function fit(messages: readonly Message[], budget: number): FittedTranscript {
  const lastUser = messages.findLastIndex((message) => message.role === 'user')
  const fitted = cutBefore(messages, lastUser, budget)
  let total = totalTokens(fitted)
  let start = 0
  while (total > budget && start < lastUser) {
    // Leave out a whole turn: from one user message to the next.
    do total -= estimateTokens(fitted[start++]!)
    while (start < lastUser && fitted[start]!.role !== 'user')
  }
  return { messages: fitted.slice(start), omitted: messages.slice(0, start) }
}

/**
 * Fits a transcript into `budget` tokens while a run grows: old tool output is cut first, then the newest outputs share
 * the remaining budget. Calls and results otherwise stay the same. Returns the same array when the transcript already
 * fits; the input is not changed.
 */
export function fitOutputs(messages: readonly Message[], budget: number): readonly Message[] {
  if (totalTokens(messages) <= budget) return messages
  const newest = beginOfNewest(messages)
  return shareRest(cutBefore(messages, newest, budget), newest, budget)
}

/** Cuts tool outputs before `end`, oldest first, in strides and only as far as needed. */
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

/**
 * Index of the message that requested the oldest of the newest outputs, so that the outputs of one turn stay together.
 */
function beginOfNewest(messages: readonly Message[]): number {
  let outputs = 0
  for (let at = messages.length - 1; at >= 0; at--) {
    if (messages[at]!.role === 'tool') outputs++
    else if (outputs >= newestOutputs) return at
  }
  return 0
}

function shareRest(messages: Message[], start: number, budget: number): Message[] {
  const over = totalTokens(messages) - budget
  const outputs = messages.slice(start).filter((message) => message.role === 'tool')
  if (over <= 0 || outputs.length === 0) return messages
  const available = Math.max(0, totalTokens(outputs) - over) * charactersPerToken
  const characters = Math.max(minOutputCharacters, Math.floor(available / outputs.length))
  return messages.map((message, at) => {
    if (at < start || message.role !== 'tool' || message.text.length <= characters) return message
    const text = `${message.text.slice(0, characters).toWellFormed()}\n[cut: ${characters} of ${message.text.length} characters. Ask for a part of it.]`
    return { ...message, text }
  })
}
