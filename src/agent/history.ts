import type { AssistantMessage, Message, ToolMessage } from './messages.ts'

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
const charactersPerToken = 4

/** A cheap estimate that never blocks: exact counters are quadratic on some inputs. */
export function estimateTokens(message: Message): number {
  const calls =
    message.role === 'assistant' ? message.toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0) : 0
  const images = message.role === 'user' ? (message.images?.length ?? 0) * tokensPerImage : 0
  return Math.ceil((message.text.length + calls) / charactersPerToken) + images + tokensPerMessage
}

const tokensPerImage = 1000
const tokensPerMessage = 4
/** Old tool output is cut to this before whole turns are left out. */
const oldOutputCharacters = 400

/**
 * Fits a transcript into `budget` tokens: first the tool output of earlier turns is cut, then whole earlier turns are left out, oldest
 * first. What begins with the last user message is never touched.
 */
export function fit(messages: readonly Message[], budget: number): Message[] {
  let total = messages.reduce((sum, message) => sum + estimateTokens(message), 0)
  if (total <= budget) return [...messages]
  const lastUser = messages.findLastIndex((message) => message.role === 'user')
  const fitted = messages.map((message, at): Message => {
    if (at >= lastUser || total <= budget || message.role !== 'tool' || message.text.length <= oldOutputCharacters) return message
    const cut = { ...message, text: `${message.text.slice(0, oldOutputCharacters).toWellFormed()}\n[old output, cut]` }
    total -= estimateTokens(message) - estimateTokens(cut)
    return cut
  })
  let from = 0
  while (total > budget && from < lastUser) {
    // A turn goes as a whole: from one user message to the next.
    do total -= estimateTokens(fitted[from++]!)
    while (from < lastUser && fitted[from]!.role !== 'user')
  }
  return fitted.slice(from)
}
