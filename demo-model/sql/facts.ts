import { isObject } from '../../src/json/shape.ts'
import type { JsonValue, ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { parseJson } from '../answers/answer.ts'
import type { Rows } from '../answers/rows.ts'
import { isStopWord } from '../language/words.ts'
import type { Call } from '../work.ts'
import type { DataFacts } from './read-query.ts'
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
/** Words that are looked up in one query. */
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

/** The tables with the values that a lookup has found. */
export function withValues(tables: readonly Table[], rows: readonly unknown[][]): Table[] {
  return tables.map((table) => {
    const columns = table.columns.map((column) => {
      const found = rows.filter(([owner, name]) => owner === table.name && name === column.name)
      return found.length > 0 ? { ...column, values: [...column.values, ...found.map(([, , value]) => String(value))] } : column
    })
    return { ...table, columns }
  })
}

/** The first and the last date of a column. */
export function* rangeOf(tool: ToolOffer, { name, table }: Column): Generator<Call, string[] | undefined, ToolMessage> {
  const sql = `SELECT min(${quoteName(name)}) AS "first_date", max(${quoteName(name)}) AS "last_date" FROM ${quoteName(table)}`
  return rowsOf(yield { tool, input: { sql }, evidence: ['date'] })?.rows[0]?.map((date) => String(date).slice(0, 10))
}
