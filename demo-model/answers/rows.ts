import type { JsonValue } from '../../src/agent/messages.ts'
import { formatNumber } from './numbers.ts'

/** Describes the rows of a query: a sentence for a single figure, or a table after a summary sentence. */

export interface Rows {
  columns: string[]
  rows: JsonValue[][]
  truncated?: boolean
}

/** Limit of rows in an answer. Longer tables are cut. */
const maxRows = 50

/** Describes rows as a sentence or a table. `scope` is the limit of the query in words, `lead` the sentence before a table. */
export function describeRows({ columns, rows, truncated }: Rows, scope = '', lead = ''): string {
  const [first] = rows
  const [name = '', second = ''] = columns
  if (!first) return `No rows match that${scope}.`
  const [value = null, figure = null] = first
  if (rows.length === 1 && columns.length === 1) return describeValue(name, value, scope)
  if (rows.length === 1 && columns.length === 2 && typeof value === 'string' && figure !== null)
    return `The ${titleWords(second)} of ${value}${scope.includes(value) ? '' : scope} is **${cell(figure, second)}**.`
  const isCut = truncated || rows.length > maxRows
  const ending = isCut ? `\n\nThese are the first ${Math.min(rows.length, maxRows)} rows; there are more.` : ''
  const cells = rows.slice(0, maxRows).map((row) => columns.map((column, at) => cell(row[at] ?? null, column)))
  const isNumber = columns.map((_, at) => rows.every((row) => typeof row[at] === 'number' || row[at] === null))
  const titles = columns.map((column) => titleWords(column).replace(/^./u, (letter) => letter.toUpperCase()))
  const list = columns.length === 1 ? cells.map(([text]) => `- ${text}`).join('\n') : toTable(titles, cells, isNumber)
  const count = columns.length === 1 && lead === '' && !isCut ? `There are ${rows.length}${scope}:` : lead
  return [count, list].filter(Boolean).join('\n\n') + ending
}

function describeValue(column: string, value: JsonValue, scope: string): string {
  if (value === null) return `No rows match that${scope}, so there is nothing to compute.`
  const noun = /^number_of_(.+)$/.exec(column)?.[1]?.replaceAll('_', ' ')
  if (noun) return value === 1 ? `There is **1** (${noun})${scope}.` : `There are **${cell(value, '')}** ${noun}${scope}.`
  // A total of units, but neither an average of them nor a status.
  const isPlural = /^total_.*[^suiy]s$/.test(column)
  return `The ${titleWords(column)}${scope} ${isPlural ? 'are' : 'is'} **${cell(value, column)}**.`
}

/** Formats a Markdown table with right-aligned numbers. */
export function toTable(titles: string[], rows: string[][], isNumber: boolean[] = []): string {
  const line = (cells: string[]) => `| ${cells.map((text) => text.replaceAll('|', '\\|').replace(/(?<!\s)\s*\n\s*/g, ' ')).join(' | ')} |`
  return [line(titles), `|${titles.map((_, at) => (isNumber[at] ? '---:' : '---')).join('|')}|`, ...rows.map(line)].join('\n')
}

export function titleWords(column: string): string {
  return column.replace(/_percent$/, ' (%)').replaceAll('_', ' ')
}

export function cell(value: JsonValue, column: string): string {
  if (value === null) return '–'
  const isCode = /(^|_)(year|id|number|code)$/i.test(column) && Number.isInteger(value)
  if (typeof value === 'number') return isCode ? String(value) : formatNumber(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
