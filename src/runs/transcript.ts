import { estimateTokens, fit } from '../agent/history.ts'
import type { Message } from '../agent/messages.ts'
import type { ChatMessage } from './run.ts'
import type { HistoryMessage, NewMessage } from './run-store.ts'

/** From what a session keeps to what the model is shown, and back. */

export interface Transcript {
  /** System messages that the caller brought, under the agent's instructions. */
  system: string
  messages: Message[]
}

interface Shown {
  history: readonly HistoryMessage[]
  /** The run's own human message. */
  messageIndex: number
  requestId: string
  /** What the request holds: turns that it brings to a session which has its own are context of this run alone. */
  messages: readonly ChatMessage[]
  tokens: number
}

/** The transcript that a run begins with: the window of the session, what was brought along, the human message. */
export function toTranscript({ history, messageIndex, requestId, messages: asked, tokens }: Shown): Transcript {
  const own = history.find((message) => message.idx === messageIndex)
  // What a run that goes on has said before is in its checkpoints.
  const isOwn = ({ idx, data }: HistoryMessage) => idx === messageIndex || (idx > messageIndex && data?.requestId === requestId)
  const earlier = history.filter((message) => !isOwn(message))
  const areStored = earlier.some((message) => message.data?.requestId === requestId)
  const brought = areStored ? [] : asked.slice(0, -1)
  const messages = earlier.flatMap(toMessages)
  const system = history.flatMap(({ idx, data }) => (idx === 0 && data?.system ? [data.system] : []))
  for (const { role, content } of brought) {
    if (role === 'system') system.push(content)
    else messages.push(toMessage(role, content))
  }
  messages.push({ role: 'user', text: own?.content ?? asked.at(-1)?.content ?? '' })
  return { system: [...new Set(system)].join('\n\n'), messages: fit(messages, tokens) }
}

function toMessages({ role, content, data }: HistoryMessage): Message[] {
  return data?.transcript ?? [toMessage(role === 'human' ? 'user' : 'assistant', content)]
}

function toMessage(role: 'user' | 'assistant', text: string): Message {
  return role === 'user' ? { role, text } : { role, text, toolCalls: [] }
}

/**
 * What a request stores in a session that has no messages yet: the turns that it brings, the human message last. System messages are
 * kept with the first one, so that later turns have them; a session that had messages before does not take them from there.
 */
export function toNewMessages(messages: readonly ChatMessage[], requestId: string, now: number): NewMessage[] {
  if (messages.length === 1) return [{ role: 'human', content: messages[0]!.content, createdAt: now }]
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.content] : []))
  const stored = messages
    .filter((message) => message.role !== 'system')
    .map(({ role, content }): NewMessage => ({ role: role === 'user' ? 'human' : 'ai', content, createdAt: now, data: { requestId } }))
  const [first] = stored
  if (first && system.length > 0) first.data = { requestId, system: system.join('\n\n') }
  return stored
}

/** However short they are: a turn's cost must not grow with its session. */
export const maxWindowMessages = 80

/**
 * The first message of the window in which a session is shown next: as many of the newest messages as fit, from a human one on. Half is
 * left free, so that the window moves in strides and a provider's prompt cache holds between them. The last turn always stays.
 */
export function nextWindowStart(messages: readonly { idx: number; role: string; tokens: number }[], tokens: number): number {
  const first = messages[0]?.idx ?? 0
  let total = messages.reduce((sum, message) => sum + message.tokens, 0)
  if (total <= tokens && messages.length <= maxWindowMessages) return first
  const lastHuman = messages.findLast((message) => message.role === 'human')
  for (const [at, message] of messages.entries()) {
    const isHalf = total <= tokens / 2 && messages.length - at <= maxWindowMessages / 2
    if (message.role === 'human' && (isHalf || message === lastHuman)) return message.idx
    total -= message.tokens
  }
  return first
}

export function tokensOf(message: HistoryMessage): number {
  return toMessages(message).reduce((sum, one) => sum + estimateTokens(one), 0)
}
