import { cutOutput, tokensPerFile, tokensPerImage, totalTokens } from '../../agent/history.ts'
import { summaryTokens, toMessages } from './transcript.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { HistoryMessage, RunStore, Turn } from '../run-store.ts'

/** The window: the newest messages of a session, which runs see in full. Earlier messages are in the session's summary. */

/** Applies to short messages too, so that the cost of a turn does not grow with the session. */
export const maxWindowMessages = 80

/** Largest number of messages read from the store, even if a summary is late and the window has grown. */
const maxReadMessages = 4 * maxWindowMessages

/** A window whose summary is delayed grows: at most `maxReadMessages` messages, or as many as the request has, are read. */
export async function readWindow({ key, request }: LiveRun, turn: Turn, store: RunStore): Promise<HistoryMessage[]> {
  const { session, messageCount, windowStart, summary } = turn
  const { tenant } = key
  const from = Math.max(windowStart, messageCount - Math.max(maxReadMessages, request.messages.length))
  const window = await store.historyOfRun(tenant, session, from)
  // The first message carries the system messages of the session.
  return from === windowStart || summary ? window : [...(await store.historyOfRun(tenant, session, 0, 1)), ...window]
}

/** Size of a message in the window. */
export interface SizedMessage {
  idx: number
  role: string
  tokens: number
}

/**
 * Computes the size of a message. Tool output counts in the shortened form of old output, so that turns with large output do not displace
 * others. At least an eighth of the full output counts, to bound the amount that is read from the store.
 */
export function toSizedMessage(message: HistoryMessage): SizedMessage {
  const messages = toMessages(message)
  const tokens = Math.max(totalTokens(messages.map(cutOutput)), Math.ceil(totalTokens(messages) / fullOutputDivisor))
  const images = (message.data?.images?.length ?? 0) * tokensPerImage
  const files = (message.data?.files?.length ?? 0) * tokensPerFile
  return { idx: message.idx, role: message.role, tokens: tokens + images + files }
}

const fullOutputDivisor = 8

/**
 * Index of the first message of the next window. A window that fits stays. Otherwise the window starts at a human message and fills at most
 * half of its limits: a window that moves in large steps keeps a provider's prompt cache valid in between. The last turn always stays.
 */
export function nextWindowStart(messages: readonly SizedMessage[], historyTokens: number): number {
  const tokens = historyTokens - summaryTokens(historyTokens)
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
