import type { JsonValue, JsonObject } from '../../agent/messages.ts'
import { normaliseText } from '../../agent/tool-names.ts'

/** Rows for a chart, and a note for the caller. */
export interface ChartRows {
  rows: readonly Record<string, JsonValue>[]
  note?: string
}

/**
 * Converts a tool result to rows: objects, `{columns, rows}` as returned by `data_query`, rows of cells below a row of names, JSON text
 * of these forms, or an object with exactly one such list. Undefined for any other value.
 */
export function toRows(value: JsonValue): ChartRows | undefined {
  if (typeof value === 'string') return fromText(value)
  if (Array.isArray(value)) return fromList(value)
  if (value === null || typeof value !== 'object') return undefined
  const { columns, rows, truncated } = value
  if (Array.isArray(columns) && Array.isArray(rows) && rows.every(Array.isArray)) {
    const objects = toObjects(columns, rows)
    return truncated === true
      ? { rows: objects, note: `Only the first ${rows.length} rows are shown: the result had more.` }
      : { rows: objects }
  }
  const lists = Object.values(value).flatMap((member) => (Array.isArray(member) ? [fromList(member)] : []))
  const usable = lists.filter((list) => list !== undefined && list.rows.length > 0)
  if (usable.length > 0) return usable.length === 1 ? usable[0] : undefined
  // MCP servers return structured content beside a text.
  const inner = value['structured_content']
  return inner === undefined ? undefined : toRows(inner)
}

function fromText(text: string): ChartRows | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    const value = JSON.parse(text) as JsonValue
    return typeof value === 'string' ? undefined : toRows(value)
  } catch {
    return undefined
  }
}

function fromList(list: readonly JsonValue[]): ChartRows | undefined {
  if (list.every(isRow)) return { rows: list }
  const [names, ...rows] = list
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string') || !rows.every(Array.isArray)) return undefined
  return { rows: toObjects(names, rows) }
}

function isRow(value: JsonValue): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Converts rows of cells to objects. Of two columns with the same name, the first keeps its name. */
function toObjects(columns: readonly JsonValue[], rows: readonly JsonValue[][]): Record<string, JsonValue>[] {
  const names: string[] = []
  for (const column of columns) {
    let name = String(column)
    for (let n = 1; names.includes(name); n++) name = `${String(column)}_${n}`
    names.push(name)
  }
  return rows.map((cells) => Object.fromEntries(names.map((name, at) => [name, cells[at] ?? null])))
}

const maxNameCharacters = 60
/** Limits for the characters and lines read from a title. */
const maxTitleCharacters = 1000
const maxTitleLines = 20

/** A file name made from the title of a chart, without an extension: `sales-by-region`. */
export function nameOf({ title, description }: JsonObject): string {
  const name = (textOf(title) || textOf(description)).slice(0, maxTitleCharacters)
  const plain =
    normaliseText(name, 'NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu)
      ?.join('-') ?? ''
  const short = plain.slice(0, maxNameCharacters).toWellFormed().replace('\ufffd', '')
  // A cut word is dropped, unless the name has no other word.
  return (plain.length > short.length ? short.replace(/-[^-]*$/, '') : short) || 'chart'
}

function textOf(title: JsonValue | undefined): string {
  if (typeof title === 'string') return title
  if (Array.isArray(title))
    return title
      .slice(0, maxTitleLines)
      .filter((line) => typeof line === 'string')
      .join(' ')
  return typeof title === 'object' && title !== null ? textOf(title['text']) : ''
}
