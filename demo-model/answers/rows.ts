import type { JsonObject, JsonValue } from '../../src/agent/messages.ts'
import { isObject } from '../../src/json/shape.ts'
import { cut } from './passages.ts'

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

/** Formats numbers for people: separated thousands and only significant decimals. */
export function formatNumber(value: number): string {
  const size = Math.abs(value)
  if (!Number.isFinite(value) || (size !== 0 && (size < 0.001 || size >= 1e15))) return String(value)
  const digits = Number.isInteger(value) ? 0 : size < 1 ? 4 : 2
  // 1,234.5 is an amount of money, and has two decimals.
  const isMoneyLike = digits === 2 && size >= 1000 && Math.round(value * 100) % 10 === 0 && Math.round(value * 100) % 100 !== 0
  return value.toLocaleString('en-US', { minimumFractionDigits: isMoneyLike ? 2 : 0, maximumFractionDigits: digits })
}

/** Formats a textual result such as `3.1068559611866697 miles`: the number is shortened, and the unit stays. */
export function formatResult(text: string): { text: string; isRounded: boolean } {
  const [, whole = '', fraction = '', unit = ''] = /^(-?\d+)(?:\.(\d+))?(\s.*)?$/.exec(text.trim()) ?? []
  if (whole === '' || whole.length > 15) return { text, isRounded: false }
  const isRounded = fraction.length > 6
  const value = Number(`${whole}.${fraction}`)
  const digits = Math.abs(value) < 0.001 ? 12 : isRounded ? 6 : fraction.length
  return { text: value.toLocaleString('en-US', { maximumFractionDigits: digits }) + unit, isRounded }
}

/** Reads the table of an answer back: what "that" and "the customer" of the next question mean. */

interface ShownTable {
  titles: string[]
  /** Cells as they were shown, with plain numbers; empty for a missing value. */
  rows: string[][]
}

/** The first table of an answer in Markdown; undefined where it has none. */
export function readShownTable(answer: string): ShownTable | undefined {
  const lines = answer.split('\n')
  const start = lines.findIndex((line) => line.startsWith('|'))
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'))
  const table = start < 0 ? [] : lines.slice(start, end < 0 ? undefined : end)
  const [titles, , ...rows] = table.map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map(toPlain),
  )
  return titles && rows.length > 0 ? { titles, rows } : undefined
}

function toPlain(cell: string): string {
  const text = cell.trim().replaceAll('\\|', '|')
  if (text === '–') return ''
  return /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(text) ? text.replaceAll(',', '') : text
}

const maxItems = 50
const maxColumns = 8

/** Formats JSON for people: `key: value` lines, a table for similar objects, and lists for other arrays. */
export function describeJson(value: JsonValue): string {
  if (Array.isArray(value)) return describeList(value)
  if (!isObject(value)) return describePlain(value)
  return describeObject(value, '') || 'The tool gave an empty result.'
}

function describeObject(object: JsonObject, indent: string): string {
  const lines = Object.entries(object).map(([key, value]) => {
    const title = indent === '' ? `**${key.replaceAll('_', ' ')}**` : key.replaceAll('_', ' ')
    if (Array.isArray(value) && value.some(isObject)) return `\n${title}:\n\n${describeList(value)}\n`
    if (Array.isArray(value)) return `${indent}- ${title}: ${value.map(describePlain).join(', ') || 'none'}`
    if (isObject(value) && indent === '') return `- ${title}:\n${describeObject(value, '  ')}`
    return `${indent}- ${title}: ${describePlain(value)}`
  })
  return lines.join('\n')
}

function describeList(values: JsonValue[]): string {
  if (values.length === 0) return 'The list is empty.'
  const items = values.slice(0, maxItems)
  const ending = values.length > maxItems ? `\n\n… and ${values.length - maxItems} more.` : ''
  const objects = items.filter((item) => isObject(item))
  if (objects.length < items.length) return items.map((value) => `- ${describePlain(value)}`).join('\n') + ending
  const keys = [...new Set(objects.flatMap((value) => Object.keys(value)))].slice(0, maxColumns)
  const cells = objects.map((value) => keys.map((key) => describePlain(value[key] ?? null)))
  const titles = keys.map((key) => key.replaceAll('_', ' '))
  return toTable(titles, cells) + ending
}

function describePlain(value: JsonValue): string {
  if (value === null) return '–'
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : formatNumber(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return cut(typeof value === 'string' ? value : JSON.stringify(value), 500)
}
