import { cutOutput, tokensPerImage, totalTokens } from '../../agent/history.ts'
import { toMessages } from './transcript.ts'
import { summaryTokens } from './digest.ts'
import type { HistoryMessage } from '../run-store.ts'

/** The part of a session that its runs are shown as it is; what was before it is in the session's summary. */

/** However short they are: a turn's cost must not grow with its session. */
export const maxWindowMessages = 80

/** Messages that are read however long a window has waited for its summary. */
export const maxReadMessages = 4 * maxWindowMessages

/** A message as the window counts it. */
export interface Sized {
  idx: number
  role: string
  tokens: number
}

/** Old output counts as it is shown where room is short: turns with much of it do not push others out. What is read stays bounded too. */
export function toSized(message: HistoryMessage): Sized {
  const messages = toMessages(message)
  const tokens = Math.max(totalTokens(messages.map(cutOutput)), Math.ceil(totalTokens(messages) / readPerShown))
  const images = (message.data?.images?.length ?? 0) * tokensPerImage
  return { idx: message.idx, role: message.role, tokens: tokens + images }
}

const readPerShown = 8

/**
 * The first message of the window in which a session is to be shown: as many of the newest messages as fit beside a summary, from a
 * human one on. Half is left free, so that the window moves in strides and a provider's prompt cache holds between them. The last turn
 * always stays.
 */
export function nextWindowStart(messages: readonly Sized[], historyTokens: number): number {
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
