import type { Mention } from './mentions.ts'
import { nameIsRow, type Reading } from './reading.ts'

/** Roles of columns in a question, derived from the surrounding words. */

export function isFollowedByValue(mentions: readonly Mention[], index: number): boolean {
  const mention = mentions[index]!
  return mentions.some((candidate) => {
    if (candidate.kind !== 'value' || candidate.column !== mention.column) return false
    return (candidate.at > mention.at && candidate.at - mention.at <= 2) || candidate.at + candidate.length === mention.at
  })
}

/** True for grouping: "by region", "per region and month", "which region", "top 3 regions", "compare regions". */
export function isGrouping(reading: Reading, words: readonly string[], mentions: readonly Mention[], index: number): boolean {
  const mention = mentions[index]!
  const before = previousWord(words, mention.at)
  if (/^(by|per|each|every|across|between)$/.test(before)) return !isFollowedByValue(mentions, index)
  const last = reading.groups.at(-1)
  if (before === 'and' && last && /\b(by|per|each)\b/.test(words.slice(Math.max(0, mention.at - 4), mention.at).join(' '))) return true
  if (isFollowedByValue(mentions, index) || mention.column!.kind === 'date') return false
  const asksFigure = reading.order !== undefined || reading.measures.length > 0 || reading.numbers.length > 0 || reading.share
  const leads =
    /^(which|what|top|best|worst|compare|highest|lowest|strongest|weakest|zz|largest|biggest|bottom|selling|seller|the|how)$/.test(before)
  return (
    asksFigure &&
    leads &&
    reading.aggregate !== 'count' &&
    reading.table.columns.some((column) => column.name === mention.column!.name) &&
    !(nameIsRow(reading.table, mention.column!) && !words.includes('compare'))
  )
}

/** The word before position `at`, skipping articles and similar words. */
export function previousWord(words: readonly string[], at: number, skipsOf = true): string {
  for (let index = at - 1; index >= 0; index--) {
    const word = words[index]!
    if (!/^(the|a|an|our|different|distinct|unique|single|\d+|best)$/.test(word) && !(skipsOf && word === 'of')) return word
  }
  return at > 0 ? words[0]! : ''
}
