import { hash } from 'node:crypto'
import type { DataFilter } from '../../agent/tool.ts'
import type { HistoryMessage, RunningSummary } from '../run-store.ts'

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
