import type { JsonValue, ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { isObject } from '../../src/json/shape.ts'
import { parseJson } from '../answers/answer.ts'
import { cell, describeRows, formatNumber, titleWords, type Rows } from '../answers/rows.ts'
import { isStopWord } from '../language/words.ts'
import { sure, type Answer, type Call } from '../part.ts'
import type { Condition, Query } from './query.ts'
import type { DataFacts } from './read-query.ts'
import { isList, listLimit } from './select.ts'
import { parseTables, quoteName, quoteText, type Column, type Table } from './tables.ts'

/** What is known of the data: from the description of the tables, and from the database, which is asked for unknown values and the last date. */

/** Tables by description: each turn of a run offers the same tools anew. */
const parsed = new Map<string, DataFacts>()
const maxParsed = 16

export function parseFacts({ description }: ToolOffer): DataFacts {
  const facts = parsed.get(description) ?? { tables: parseTables(description) }
  if (parsed.size >= maxParsed) parsed.delete(parsed.keys().next().value!)
  parsed.set(description, facts)
  return facts
}

export function rowsOf({ text, isError }: ToolMessage): Rows | undefined {
  const output = parseJson(text)
  if (isError || !isObject(output)) return undefined
  const { columns, rows, truncated } = output
  if (!Array.isArray(columns) || !Array.isArray(rows) || !rows.every(Array.isArray)) return undefined
  return { columns: columns.map(String), rows: rows as JsonValue[][], truncated: truncated === true }
}

const maxValues = 60
/** Limit of words in a lookup. */
const maxWords = 12

/** The SQL that finds the values with one of the words, or a word that is almost the same; undefined if no column has unknown values. */
export function writeLookup(tables: readonly Table[], unused: readonly string[]): string | undefined {
  const lower = new Set(unused.map((word) => word.toLowerCase()))
  const words = [...lower].filter((word) => word.length > 1 && !isStopWord(word)).slice(0, maxWords)
  const columns = tables.flatMap((table) => table.columns).filter(({ kind, isListed }) => kind === 'text' && !isListed)
  if (words.length === 0 || columns.length === 0) return undefined
  const selects = columns.map(({ table, name }) => {
    const fits = words.map((word) => fitsSql(`lower(${quoteName(name)})`, word)).join(' OR ')
    return `(SELECT DISTINCT ${quoteText(table)} AS "table", ${quoteText(name)} AS "column", ${quoteName(name)} AS "value" FROM ${quoteName(table)} WHERE ${fits} LIMIT ${maxValues})`
  })
  return selects.join(' UNION ALL ')
}

/** True in SQL for a value with the word, and for a word of a short value that differs by a letter or two. */
function fitsSql(value: string, word: string): string {
  const parts = `regexp_split_to_array(${value}, '[^a-z0-9]+')`
  const similar = `list_min(list_transform(${parts}, lambda w: damerau_levenshtein(w, ${quoteText(word)}))) <= ${word.length >= 8 ? 2 : 1}`
  const holds = `contains(${value}, ${quoteText(word)})`
  return word.length >= 5 ? `(${holds} OR (length(${value}) < 60 AND ${similar}))` : holds
}

/** The tables with the values of a lookup. */
export function withValues(tables: readonly Table[], rows: readonly unknown[][]): Table[] {
  return tables.map((table) => {
    const columns = table.columns.map((column) => {
      const values = rows.filter(([owner, name]) => owner === table.name && name === column.name)
      return values.length > 0 ? { ...column, values: [...column.values, ...values.map(([, , value]) => String(value))] } : column
    })
    return { ...table, columns }
  })
}

/** The first and the last date of a column. */
export function* rangeOf(tool: ToolOffer, { name, table }: Column): Generator<Call, string[] | undefined, ToolMessage> {
  const sql = `SELECT min(${quoteName(name)}) AS "first_date", max(${quoteName(name)}) AS "last_date" FROM ${quoteName(table)}`
  return rowsOf(yield { tool, input: { sql }, evidence: ['date'] })?.rows[0]?.map((date) => String(date).slice(0, 10))
}

/** Describes the rows of a query that a question became. A sentence claims nothing about rows that a limit cut off. */
export function describeFigures(query: Query, rows: Rows): Answer {
  const single = rows.rows.length === 1 && rows.columns.length === 1 ? rows.rows[0]![0] : undefined
  const scope = scopeOf(query)
  const isCut = rows.truncated === true || (isList(query) && query.limit === undefined && rows.rows.length >= listLimit)
  const lead = rows.rows.length > 1 ? leadOf(query, { ...rows, truncated: isCut }, scope) : ''
  // "Which month was the worst?" asks for one month, not for a list.
  const isOne = query.order !== undefined && !query.limit && query.groups.length === 1 && !query.isListed && lead !== ''
  const text = isOne ? lead : describeRows({ ...rows, truncated: isCut }, scope, lead)
  return sure(text, single === undefined || single === null ? undefined : String(single))
}

/** The conditions in words: ` for region North, in March 2025`. */
export function scopeOf({ conditions, numbers, measures }: Query): string {
  const limits = numbers.map(({ column, text }) => `${titleWords((column ?? measures[0])?.name ?? 'amount')} ${text}`)
  const isTime = ({ column, text }: Condition) => column.kind === 'date' && !/^with(out)? /.test(text)
  const all = [...conditions.values()]
  const rows = [...all.filter((condition) => !isTime(condition)).map(({ text }) => text), ...limits]
  const times = all.filter(isTime).map(({ text }) => text)
  return [rows.length > 0 ? ` for ${rows.join(', ')}` : '', times.length > 0 ? ` ${times.join(', ')}` : ''].filter(Boolean).join(',')
}

const figureName = /^(total|average|highest|lowest|median|number_of)_?/

/** The sentence before a table of figures. */
function leadOf(query: Query, { columns, rows, truncated }: Rows, scope: string): string {
  if (isList(query)) return truncated ? '' : `${rows.length} ${query.table.name}${scope}:`
  const at = columns.findIndex((column) => figureName.test(column))
  if (at < 1 || rows.some((row) => typeof row[at] !== 'number')) return ''
  const figures: Figures = { columns, rows, at, name: titleWords(columns[at]!) }
  const share = query.share ? describeShare(query, figures) : ''
  if (share !== '') return share
  return query.compares ? describeChange(query, figures) : describeExtremes(query, figures, { truncated: truncated === true, scope })
}

interface Figures {
  columns: string[]
  rows: JsonValue[][]
  /** The column of the figures, behind the groups. */
  at: number
  name: string
}

function nameOf({ columns, at }: Figures, row: JsonValue[]): string {
  const groups = row.slice(0, at)
  return groups.map((value, index) => cell(value, columns[index]!)).join(', ')
}

function describeShare({ hits }: Query, figures: Figures): string {
  const hitRows = figures.rows.filter((row) => hits.includes(String(row[0])))
  const parts = (hitRows.length < figures.rows.length ? hitRows : []).map((row) => {
    return `${nameOf(figures, row)} has **${formatNumber(Number(row.at(-1)))} %** of the ${figures.name}: ${formatNumber(Number(row[figures.at]))}`
  })
  return parts.length > 0 ? `${parts.join('; ')}.` : ''
}

/** "From 2025-01 (30,000) to 2025-12 (36,000): 6,000 more (+20 %)." The first and the last time, or the first two values. */
function describeChange({ compares, groups }: Query, figures: Figures): string {
  const { rows, at, name } = figures
  const isTime = groups.some(({ grain }) => grain)
  if (at > 1 || (!isTime && rows.length !== 2)) return ''
  const [first, last] = isTime ? [rows[0]!, rows.at(-1)!] : [rows[1]!, rows[0]!]
  const [from, to] = [Number(first[at]), Number(last[at])]
  const percent = from === 0 ? '' : ` (${to < from ? '−' : '+'}${formatNumber(Math.abs(Math.round((to / from - 1) * 1000) / 10))} %)`
  const amount = `**${formatNumber(Math.abs(Math.round((to - from) * 100) / 100))}** ${to < from ? 'less' : 'more'}${percent}`
  if (compares === 'difference' && !isTime) return `${nameOf(figures, last)} has ${amount} than ${nameOf(figures, first)} (${name}).`
  return `The ${name} went from ${formatNumber(from)} (${nameOf(figures, first)}) to ${formatNumber(to)} (${nameOf(figures, last)}): ${amount}.`
}

/** The first of a ranking, and the other end and the sum only where no row is missing. */
function describeExtremes(
  { order, groups, limit, numbers }: Query,
  figures: Figures,
  { truncated, scope }: { truncated: boolean; scope: string },
) {
  const { rows, at, columns } = figures
  if ((truncated && !order) || (order && groups.length > 1 && groups.some(({ isEach }) => isEach))) return ''
  const plain = figures.name.replace(/^(highest|lowest) /, '')
  const sorted = rows.toSorted((a, b) => (Number(b[at]) - Number(a[at])) * (order === 'ASC' ? -1 : 1))
  const [front, back] = [sorted[0]!, sorted.at(-1)!]
  const [near, far] = order === 'ASC' ? ['lowest', 'highest'] : ['highest', 'lowest']
  const ties = rows.filter((row) => row[at] === front[at]).map((row) => nameOf(figures, row))
  const first = `**${ties.slice(0, 3).join('** and **')}** ${ties.length > 1 ? 'have' : 'has'} the ${near} ${plain}${scope} with **${formatNumber(Number(front[at]))}**`
  if (truncated || (limit !== undefined && rows.length >= limit)) return `${first}.`
  const total = Math.round(rows.reduce((all, row) => all + Number(row[at]), 0) * 100) / 100
  const sum = /^(total|number_of)_/.test(columns[at]!) && numbers.length === 0 ? ` Together: ${formatNumber(total)}.` : ''
  return `${first}; ${nameOf(figures, back)} the ${far} with ${formatNumber(Number(back[at]))}.${sum}`
}
