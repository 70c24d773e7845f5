import { findPhrase, phrases } from '../language/phrases.ts'
import { isStopWord, setOf, stem, wordsOf, type Word } from '../language/words.ts'
import { hasRevenue, isStock, joinColumn, nameColumn, priceMeasure, type Column, type Table } from './tables.ts'

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
  /** False if only the stems of the words are equal: `returned` and `return`. */
  isExact: boolean
}

/** Words for the main money column of a table. */
export const revenueWords = setOf(
  'sale sales sold sell selling seller sellers revenue revenues turnover income earn earns earned earnings money takings proceeds spend spent turned turn',
)

/** Parts of column names that are too general to identify a column. */
const commonParts = setOf('list show count total number unit since date code id type avg sum at')
/** Longest value that is compared word by word. Longer values are texts, which are found whole. */
const maxValueWords = 8

export function findMentions(words: readonly Word[], tables: readonly Table[]): Mention[] {
  return tables.flatMap((table) => withoutOverlap(candidatesOf(table).flatMap((candidate) => occurrences(candidate, words))))
}

interface Candidate extends Omit<Mention, 'at' | 'length' | 'isExact'> {
  words: string[]
}

/** The candidates of each table: values are split into words once. */
const cache = new WeakMap<Table, Candidate[]>()

function candidatesOf(table: Table): Candidate[] {
  const candidates = cache.get(table) ?? [
    { kind: 'table', table, values: [], words: wordsOf(table.name), weight: 3 },
    ...table.columns.flatMap((column) => [...nameCandidates(table, column), ...valueCandidates(table, column)]),
  ]
  cache.set(table, candidates)
  return candidates
}

function nameCandidates(table: Table, column: Column): Candidate[] {
  const name = wordsOf(column.name)
  const parts = name.length > 1 ? name.filter((word) => word.length > 2 && !isStopWord(word) && !commonParts.has(word)) : []
  const whole = { words: name, weight: 2 + (name.length - 1) * 1.5 }
  return [whole, ...parts.map((part) => ({ words: [part], weight: 1 }))].map((entry) => {
    return { kind: 'column', table, column, values: [], ...entry }
  })
}

function valueCandidates(table: Table, column: Column): Candidate[] {
  const pairs = column.values.flatMap((value) => {
    const words = wordsOf(value).slice(0, maxValueWords)
    const isText = words.length > 4
    const fronts = words.map((_, at) => words.slice(0, at + 1)).filter((front) => !isText || front.length === words.length)
    // "The large stove kettle" is the "Stove Kettle Large".
    if (words.length > 2 && !isText) fronts.push([words.at(-1)!, ...words.slice(0, -1)])
    const extra = isText ? [] : words.slice(1).filter((word) => word.length > 3 && !isStopWord(word))
    return [...fronts, ...extra.map((word) => [word])].map((part) => ({ key: part.join(' '), value }))
  })
  return [...Map.groupBy(pairs, ({ key }) => key)].map(([key, group]) => {
    const words = key.split(' ')
    const values = [...new Set(group.map(({ value }) => value))]
    // A complete value matches only itself, even if longer values begin with the same words.
    const whole = values.find((value) => wordsOf(value).length === words.length)
    return { kind: 'value', table, column, values: whole ? [whole] : values, words, weight: whole ? 2 : 1 }
  })
}

function occurrences({ words: parts, ...mention }: Candidate, words: readonly Word[]): Mention[] {
  const stems = parts.map(stem)
  return words.flatMap((_, at): Mention[] => {
    const window = words.slice(at, at + parts.length)
    if (window.length < parts.length || window.some(({ use }, offset) => use !== undefined || window[offset]!.stem !== stems[offset]))
      return []
    if (parts.length === 1 && isStopWord(window[0]!.lower)) return []
    // "Return" is not the value "returned", but "grinders" may be the value "grinder".
    if (mention.kind === 'value' && !window.every(({ lower }, offset) => isSameNumber(lower, parts[offset]!))) return []
    return [{ ...mention, at, length: parts.length, isExact: window.every(({ lower }, offset) => lower === parts[offset]) }]
  })
}

/** True for a word and its plural. */
function isSameNumber(a: string, b: string): boolean {
  return a === b || [`${b}s`, `${b}es`, b.replace(/y$/, 'ies'), b.replace(/fe?$/, 'ves')].includes(a) || [`${a}s`, `${a}es`].includes(b)
}

/** Resolves overlaps: longer names win. A word belongs to a single mention, except that a table and a column may share their name. */
function withoutOverlap(mentions: Mention[]): Mention[] {
  const kindAt = new Map<number, Mention['kind']>()
  const rank = ({ length, weight, isExact }: Mention) => length * 10 + weight + (isExact ? 0.6 : 0)
  const accepted = mentions
    .toSorted((a, b) => rank(b) - rank(a))
    .filter((mention) => {
      const positions = Array.from({ length: mention.length }, (_, offset) => mention.at + offset)
      if (positions.some((position) => (kindAt.get(position) ?? 'table') !== 'table')) return false
      for (const position of positions) if (!kindAt.has(position)) kindAt.set(position, mention.kind)
      return true
    })
  return accepted.toSorted((a, b) => a.at - b.at)
}

const prices = phrases(
  'expensive|cheap|cheapest|priciest|dear|dearer|cheaper|price|prices|cost|costs|how much is|how much are|how much does|how much do',
)
/** Phrases of questions about the stock. */
export const leftPhrases = phrases('are left|is left|have left|left in stock|in stock|have enough|still have')
/** Words of questions for an amount in stock. */
export const stockPhrases = phrases('do we have|do we still have|have left|are left|is left|are there|is there|in stock|pieces of')
const ranks = phrases('best|worst|top|bottom|strongest|weakest|performing')

/** Pronouns for the rows of a table of people or companies. */
export const persons = setOf('anybody anyone somebody someone')

/** The table that the question is about; undefined if the question mentions nothing of any table. */
export function chooseTable(
  tables: readonly Table[],
  mentions: readonly Mention[],
  words: readonly Word[],
  hasDate: boolean,
): Table | undefined {
  const asksRevenue = words.some(({ lower }) => revenueWords.has(lower))
  const isSold = words.some(({ lower }) => ['sold', 'sell', 'selling'].includes(lower))
  const scores = tables.map((table) => {
    const weights = new Map<number, number>()
    for (const { at, length, weight, column, table: mentionTable } of mentions) {
      const full = weight + length * 0.5 + (column?.kind === 'number' ? 0.5 : 0)
      if (mentionTable === table) weights.set(at, Math.max(weights.get(at) ?? 0, full))
    }
    const joined = mentions.filter(
      (mention) =>
        mention.table !== table &&
        mention.kind !== 'table' &&
        mention.weight > 1 &&
        !weights.has(mention.at) &&
        joinColumn(table, mention.table),
    )
    const reach = weights.size > 0 || asksRevenue ? new Set(joined.map(({ at }) => at)).size * 1.6 : 0
    const revenue = hasRevenue(table) && asksRevenue ? (isSold ? 3 : 2) : 0
    const mentioned = weights.values().reduce((sum, weight) => sum + weight, 0) + reach + revenue
    const price = !asksRevenue && !hasRevenue(table) && priceMeasure(table) && findPhrase(words, prices) ? 1.5 : 0
    const dated = hasDate && table.columns.some(({ kind }) => kind === 'date') ? 1.5 : 0
    const ranked = hasRevenue(table) && findPhrase(words, ranks) ? 1.5 : 0
    const stocked = table.columns.some(isStock) && findPhrase(words, stockPhrases) ? 1.5 : 0
    const peopled = nameColumn(table)?.name === 'name' && words.some(({ lower }) => persons.has(lower)) ? 1.5 : 0
    return mentioned + price + peopled + (mentioned > 0 ? dated + ranked + stocked : 0)
  })
  const best = Math.max(0, ...scores)
  return best > 0 ? tables[scores.indexOf(best)] : undefined
}
