import { isStopWord, stem, wordsOf } from '../words.ts'
import { hasRevenue, type Column, type Table } from './tables.ts'

/** Finds the tables, columns and column values mentioned in a question. */

export interface Mention {
  kind: 'table' | 'column' | 'value'
  table: Table
  column?: Column
  /** For kind `value`: the matching values. Words that only begin a value may match several values. */
  values: string[]
  /** Position and length, in words. */
  at: number
  length: number
  /** Confidence. Complete names count more than parts of names. */
  weight: number
}

/** Words for the main money column of a table. */
export const revenueWord =
  /^(sale|sales|sold|sell|selling|seller|sellers|revenue|revenues|turnover|income|earn|earned|earnings|money|takings|proceeds)$/

/** Parts of column names that are too general to identify a column. */
const commonPart = /^(list|show|count|total|number|unit|since|date|code|id|type|avg|sum)$/

export function findMentions(words: readonly string[], tables: readonly Table[]): Mention[] {
  const stems = words.map(stem)
  return tables.flatMap((table) => withoutOverlap(candidates(table).flatMap((candidate) => occurrences(candidate, words, stems))))
}

interface Candidate extends Omit<Mention, 'at' | 'length'> {
  stems: string[]
}

function candidates(table: Table): Candidate[] {
  const candidates: Candidate[] = [{ kind: 'table', table, values: [], stems: wordsOf(table.name).map(stem), weight: 3 }]
  for (const column of table.columns) {
    const name = wordsOf(column.name)
    candidates.push({ kind: 'column', table, column, values: [], stems: name.map(stem), weight: 2 + (name.length - 1) * 1.5 })
    if (name.length > 1) {
      for (const word of name)
        if (word.length > 2 && !isStopWord(word) && !commonPart.test(word))
          candidates.push({ kind: 'column', table, column, values: [], stems: [stem(word)], weight: 1 })
    }
    candidates.push(...valueCandidates(table, column))
  }
  return candidates
}

function valueCandidates(table: Table, column: Column): Candidate[] {
  const beginnings = new Map<string, string[]>()
  for (const value of column.values) {
    const stems = wordsOf(value).map(stem)
    for (let length = 1; length <= stems.length; length++) {
      const beginning = stems.slice(0, length).join(' ')
      beginnings.set(beginning, [...(beginnings.get(beginning) ?? []), value])
    }
  }
  return [...beginnings].map(([beginning, values]) => {
    const stems = beginning.split(' ')
    // A complete value matches only itself, even if longer values begin with the same words.
    const whole = values.find((value) => wordsOf(value).length === stems.length)
    return { kind: 'value', table, column, values: whole ? [whole] : values, stems, weight: whole ? 2 : 1 }
  })
}

function occurrences(candidate: Candidate, words: readonly string[], stems: readonly string[]): Mention[] {
  const { stems: candidateStems, ...mention } = candidate
  const mentions: Mention[] = []
  for (let at = 0; at + candidateStems.length <= stems.length; at++) {
    const fits = candidateStems.every((part, offset) => part === stems[at + offset])
    if (!fits || (candidateStems.length === 1 && isStopWord(words[at]!))) continue
    mentions.push({ ...mention, at, length: candidateStems.length })
  }
  return mentions
}

/** Resolves overlaps: longer names win. A word belongs to a single mention, except that a table and a column may share their name. */
function withoutOverlap(mentions: Mention[]): Mention[] {
  const mentionAt = new Map<number, Mention>()
  const accepted: Mention[] = []
  for (const mention of mentions.toSorted((a, b) => b.length - a.length || b.weight - a.weight)) {
    const positions = Array.from({ length: mention.length }, (_, offset) => mention.at + offset)
    if (positions.some((position) => clashes(mentionAt.get(position), mention))) continue
    accepted.push(mention)
    for (const position of positions) if (!mentionAt.has(position)) mentionAt.set(position, mention)
  }
  return accepted.toSorted((a, b) => a.at - b.at)
}

function clashes(earlier: Mention | undefined, mention: Mention): boolean {
  return earlier !== undefined && !(earlier.kind === 'table' && mention.kind === 'column') && earlier.kind !== 'table'
}

/** The table that the question is about; undefined if the question mentions nothing of any table. */
export function chooseTable(
  tables: readonly Table[],
  mentions: readonly Mention[],
  words: readonly string[],
  hasDate: boolean,
): Table | undefined {
  const asksRevenue = words.some((word) => revenueWord.test(word))
  const asksPrice = words.some((word) => /^(expensive|cheap|cheapest|priciest|prices?|costs?)$/.test(word))
  const ranks = words.some((word) => /^(best|worst|top|bottom|strongest|weakest|performing)$/.test(word))
  const asksPieces = words.some((word) => /^(sold|sell|selling)$/.test(word))
  const scores = tables.map((table) => {
    const byPlace = new Map<number, number>()
    for (const mention of mentions)
      if (mention.table === table)
        byPlace.set(mention.at, Math.max(byPlace.get(mention.at) ?? 0, mention.weight + (mention.column?.kind === 'number' ? 0.5 : 0)))
    const mentionScore = [...byPlace.values()].reduce((sum, weight) => sum + weight, 0)
    const dated = hasDate && table.columns.some((column) => column.kind === 'date') ? 1.5 : 0
    const revenue = asksRevenue && hasRevenue(table) ? (asksPieces ? 3 : 2) : 0
    const ranked = ranks && hasRevenue(table) ? 1.5 : 0
    const price = asksPrice && !hasRevenue(table) && table.columns.some((column) => /price|cost/i.test(column.name)) ? 1 : 0
    return mentionScore + revenue + price + (mentionScore + revenue > 0 ? dated + ranked : 0)
  })
  const best = Math.max(...scores)
  return best > 0 ? tables[scores.indexOf(best)] : undefined
}
