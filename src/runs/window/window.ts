import { cutOutput, tokensPerFile, tokensPerImage, totalTokens } from '../../agent/history.ts'
import { summaryTokens, toMessages } from './transcript.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { HistoryMessage, RunStore, Turn, RunningSummary } from '../run-store.ts'
import { hash } from 'node:crypto'
import type { DataFilter } from '../../agent/tool.ts'

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

/**
 * Restricts the history of a run with data filter hints. The run sees only answers of runs that had all of its hints, or more. Hints are
 * combined with AND, so such a run has read and seen no data beyond the data that the current run may read.
 */

/** Replaces a withheld answer, so that questions and answers still alternate. */
const withheld = '(This answer is not shown: it may contain data that the filters of this request exclude.)'

/** Names of hints, sorted. A name is a hash and reveals nothing of the hint's values. */
export function hintNames(filters: readonly DataFilter[]): string[] {
  const names = filters.map(({ tool, key, type, value }) =>
    hash('sha256', JSON.stringify([tool, key, type, value]), 'base64url').slice(0, 22),
  )
  return [...new Set(names)].sort()
}

/** The history that a run with these filters may see: answers outside the filters are replaced. */
export function underFilters(filters: readonly DataFilter[], history: readonly HistoryMessage[]): readonly HistoryMessage[] {
  if (filters.length === 0) return history
  const hints = hintNames(filters)
  return history.map((message) => (isOfRun(message) && !includesAll(message.data?.hints, hints) ? withhold(message) : message))
}

/** The summary that a run with these filters may see: without the text when an answer in the summary would be withheld. */
export function summaryUnder(filters: readonly DataFilter[], summary: RunningSummary | undefined): RunningSummary | undefined {
  if (filters.length === 0 || !summary || includesAll(summary.hints, hintNames(filters))) return summary
  const { system } = summary
  return system === undefined ? undefined : { text: '', system }
}

/** The hints common to `before` (hints of the earlier summary; undefined without an earlier answer) and to all answers in `messages`. */
export function commonHints(before: readonly string[] | undefined, messages: readonly HistoryMessage[]): string[] | undefined {
  let common = before && [...before]
  for (const message of messages) {
    if (!isOfRun(message)) continue
    const hints = message.data?.hints ?? []
    common = common?.filter((hint) => hints.includes(hint)) ?? hints
  }
  return common
}

/** True if a run has written the message. Answers sent along by the caller have no finish reason and are the caller's own text. */
function isOfRun({ role, data }: HistoryMessage): boolean {
  return role === 'ai' && data?.finishReason !== undefined
}

function includesAll(hints: readonly string[] = [], required: readonly string[]): boolean {
  return required.every((hint) => hints.includes(hint))
}

function withhold({ idx, role, data }: HistoryMessage): HistoryMessage {
  const requestId = data?.requestId
  return { idx, role, content: withheld, data: requestId === undefined ? undefined : { requestId } }
}
