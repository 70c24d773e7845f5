import type { JsonValue } from '../../../agent/messages.ts'
import { formatNumber } from './numbers.ts'

/** Describes the rows of a query: a sentence for a single figure, or a table after a summary sentence. */

export interface Rows {
  columns: string[]
  rows: JsonValue[][]
  truncated?: boolean
}

/** Limit of rows in an answer. Longer tables are cut. */
const maxRows = 50

/** Describes rows. `scope` is the limit of the query in words. */
export function describeRows({ columns, rows, truncated }: Rows, scope = ''): string {
  if (rows.length === 0) return `No rows match that${scope}.`
  const first = rows[0]!
  if (rows.length === 1 && columns.length === 1) return describeValue(columns[0]!, first[0] ?? null, scope)
  if (rows.length === 1 && columns.length > 3)
    return columns.map((column, at) => `- **${titleOf(column)}**: ${cell(first[at] ?? null, column)}`).join('\n')
  if (rows.length === 1 && columns.length === 2 && typeof first[0] === 'string' && typeof first[1] === 'number') {
    return `The ${wordsOf(columns[1]!)} of ${first[0]}${scope.includes(first[0]) ? '' : scope} is **${cell(first[1], columns[1]!)}**.`
  }
  const lead = columns.length === 1 ? `There are ${rows.length}:` : leadOf(columns, rows)
  if (columns.length === 1)
    return `${lead}\n\n${rows
      .slice(0, maxRows)
      .map((row) => `- ${cell(row[0] ?? null, columns[0]!)}`)
      .join('\n')}`
  const ending = truncated || rows.length > maxRows ? `\n\nThese are the first ${Math.min(rows.length, maxRows)} rows; there are more.` : ''
  const table = toTable(
    columns.map(titleOf),
    rows.slice(0, maxRows).map((row) => columns.map((column, at) => cell(row[at] ?? null, column))),
    numeric(columns, rows),
  )
  return [lead, table].filter(Boolean).join('\n\n') + ending
}

/** The conditions of a query in words: ` for region North, from 2025-03-01 until before 2025-04-01`. */
export function scopeOf(sql: string): string {
  const where = / WHERE (.*?)(?: GROUP BY | ORDER BY | LIMIT |$)/.exec(sql)?.[1] ?? ''
  const equal = [...where.matchAll(/"(\w+)"\)? = '((?:[^']|'')*)'/g)].map(
    ([, column, value]) => `${wordsOf(column!)} ${value!.replaceAll("''", "'")}`,
  )
  const start = />= DATE '([\d-]+)'/.exec(where)?.[1]
  const until = /< DATE '([\d-]+)'/.exec(where)?.[1]
  const time = where.includes(' OR ') ? [] : [start && `from ${start}`, until && `until before ${until}`].filter(Boolean)
  return (equal.length > 0 ? ` for ${equal.join(', ')}` : '') + (time.length > 0 ? `${equal.length > 0 ? ',' : ''} ${time.join(' ')}` : '')
}

function describeValue(column: string, value: JsonValue, scope: string): string {
  if (value === null) return `No rows match that${scope}, so there is nothing to compute.`
  const counted = /^number_of_(.+)$/.exec(column)?.[1]
  if (counted && typeof value === 'number') {
    const noun = counted.replaceAll('_', ' ')
    return value === 1 ? `There is **1** (${noun})${scope}.` : `There are **${formatNumber(value)}** ${noun}${scope}.`
  }
  const words = wordsOf(column)
  return `The ${words}${scope} ${/^total .*s$/.test(words) ? 'are' : 'is'} **${cell(value, column)}**.`
}

/** Summary of a grouping: the highest and lowest figure, and the total. */
function leadOf(columns: string[], rows: JsonValue[][]): string {
  const at = columns.findIndex((column) => /^(total|average|highest|lowest|median|number_of)_?/.test(column))
  if (at < 1 || rows.some((row) => typeof row[at] !== 'number')) return ''
  const figure = wordsOf(columns[at]!)
  const nameOf = (row: JsonValue[]) =>
    row
      .slice(0, at)
      .map((value, index) => cell(value, columns[index]!))
      .join(', ')
  const figureOf = (row: JsonValue[]) => Number(row[at])
  const high = rows.reduce((best, row) => (figureOf(row) > figureOf(best) ? row : best))
  const low = rows.reduce((best, row) => (figureOf(row) < figureOf(best) ? row : best))
  // Rows in ascending order answer "which is lowest?".
  const rises =
    figureOf(rows[0]!) < figureOf(rows.at(-1)!) &&
    rows.every((row, index) => index === 0 || figureOf(rows[index - 1]!) <= figureOf(row)) &&
    !/^\d{4}/.test(String(rows[0]![0]))
  const [front, back, frontWord, backWord] = rises ? [low, high, 'lowest', 'highest'] : [high, low, 'highest', 'lowest']
  const plain = figure.replace(/^(highest|lowest) /, '')
  const sum = /^(total|number_of)_/.test(columns[at]!)
    ? ` Together: ${formatNumber(Math.round(rows.reduce((total, row) => total + figureOf(row), 0) * 100) / 100)}.`
    : ''
  return `**${nameOf(front)}** has the ${frontWord} ${plain} with **${formatNumber(figureOf(front))}**; ${nameOf(back)} the ${backWord} with ${formatNumber(figureOf(back))}.${sum}`
}

function numeric(columns: string[], rows: JsonValue[][]): boolean[] {
  return columns.map((_, at) => rows.every((row) => typeof row[at] === 'number' || row[at] === null))
}

/** Formats a Markdown table with right-aligned numbers. */
export function toTable(titles: string[], rows: string[][], isNumber: boolean[] = []): string {
  const line = (cells: string[]) => `| ${cells.map((text) => text.replaceAll('|', '\\|').replace(/(?<!\s)\s*\n\s*/g, ' ')).join(' | ')} |`
  return [line(titles), `|${titles.map((_, at) => (isNumber[at] ? '---:' : '---')).join('|')}|`, ...rows.map(line)].join('\n')
}

function titleOf(column: string): string {
  const words = wordsOf(column)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function wordsOf(column: string): string {
  return column.replace(/_percent$/, ' (%)').replaceAll('_', ' ')
}

function cell(value: JsonValue, column: string): string {
  if (value === null) return '–'
  if (typeof value === 'number')
    return /(^|_)(year|id|number|code)$/i.test(column) && Number.isInteger(value) ? String(value) : formatNumber(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
