import { hash } from 'node:crypto'
import type { DataFilter } from '../../agent/tool.ts'
import type { HistoryMessage, RunningSummary } from '../run-store.ts'

/**
 * What a run with data filter hints is shown of its session: answers of runs that had all of these hints, or more. Hints are ANDed, so
 * such a run has read nothing beyond what this one may read, and was shown nothing beyond it either.
 */

/** Stands for an answer, so that questions and answers still take turns. */
const withheld = '(This answer is not shown: it may tell of data that the filters of this request leave out.)'

/** Names of hints that say nothing of their values, in one order. */
export function hintNames(filters: readonly DataFilter[]): string[] {
  const names = filters.map(({ tool, key, type, value }) =>
    hash('sha256', JSON.stringify([tool, key, type, value]), 'base64url').slice(0, 22),
  )
  return [...new Set(names)].sort()
}

/** The history as a run with these filters is shown it. */
export function underFilters(filters: readonly DataFilter[], history: readonly HistoryMessage[]): readonly HistoryMessage[] {
  if (filters.length === 0) return history
  const hints = hintNames(filters)
  return history.map((message) => (isOfRun(message) && !includesAll(message.data?.hints, hints) ? withhold(message) : message))
}

/** The summary as a run with these filters is shown it: without its text where one of its answers would be withheld. */
export function summaryUnder(filters: readonly DataFilter[], summary: RunningSummary | undefined): RunningSummary | undefined {
  if (filters.length === 0 || !summary || includesAll(summary.hints, hintNames(filters))) return summary
  const { system } = summary
  return system === undefined ? undefined : { text: '', system }
}

/** The hints that all answers of a summary have had: those before, undefined where there were none, and those of more messages. */
export function commonHints(before: readonly string[] | undefined, messages: readonly HistoryMessage[]): string[] | undefined {
  let common = before && [...before]
  for (const message of messages) {
    if (!isOfRun(message)) continue
    const own = message.data?.hints ?? []
    common = common?.filter((hint) => own.includes(hint)) ?? own
  }
  return common
}

/** Answers that a caller brought along are the caller's own text: only a run's end has a reason. */
function isOfRun({ role, data }: HistoryMessage): boolean {
  return role === 'ai' && data?.finishReason !== undefined
}

function includesAll(hints: readonly string[] = [], wanted: readonly string[]): boolean {
  return wanted.every((hint) => hints.includes(hint))
}

function withhold({ idx, role, data }: HistoryMessage): HistoryMessage {
  const requestId = data?.requestId
  return { idx, role, content: withheld, data: requestId === undefined ? undefined : { requestId } }
}
