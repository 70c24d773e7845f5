import type { JsonObject, JsonValue } from '../src/agent/messages.ts'
import { isObject } from '../src/json/shape.ts'
import { wordsOf } from './language/words.ts'

/** What the results of tools state, by name. */
export interface Findings {
  /** The value of a name: the same name, or else the only similar one. */
  find(name: string): JsonValue | undefined
  /** The newest list of records or values. */
  list: JsonValue[] | undefined
  /** The newest result that is an object. */
  whole: JsonObject | undefined
  /** The figure of results that have a single one. */
  onlyFigure: number | undefined
}

/** Levels of a result that are searched. */
const maxLevels = 4

/** Collects what values state. A value that is not an object has the name `name`. Newer values come last and count first. */
export function collectFindings(values: readonly JsonValue[], name = ''): Findings {
  const facts = new Map<string, JsonValue>()
  const lists: JsonValue[][] = []
  const figures = new Set<number>()

  function add(value: JsonValue, key: string, level: number): void {
    if (Array.isArray(value)) lists.push(value)
    // An element of a list is found by its fields; only a plain element has the name of the list.
    if (key !== '' && !(level === 0 && isObject(value)) && !facts.has(key)) facts.set(key, value)
    const figure = toFigure(value)
    if (figure !== undefined) figures.add(figure)
    if (!isObject(value) || level >= maxLevels) return
    const records = toRecords(value)
    if (records.length > 1) lists.push(records)
    else for (const [inner, item] of Object.entries(records[0] ?? value)) add(item, inner, level + 1)
  }

  for (const value of values.toReversed()) add(value, name, 0)
  return {
    find: (wanted) => findSimilar(facts, wanted),
    list: lists[0],
    whole: values.findLast(isObject) as JsonObject | undefined,
    onlyFigure: figures.size === 1 ? [...figures][0] : undefined,
  }
}

/** The rows of a query as objects. */
function toRecords({ columns, rows }: JsonObject): JsonObject[] {
  if (!Array.isArray(columns) || !Array.isArray(rows) || !rows.every(Array.isArray)) return []
  return rows.map((row) => Object.fromEntries(columns.map((column, at) => [String(column), row[at] ?? null])))
}

function findSimilar(facts: ReadonlyMap<string, JsonValue>, name: string): JsonValue | undefined {
  const words = wordsOf(name)
  const plain = words.join('')
  const same = [...facts].find(([key]) => key === name) ?? [...facts].find(([key]) => wordsOf(key).join('') === plain)
  if (same) return same[1]
  // `total` stands for `total_amount`, if nothing else has the word.
  const similar = [...facts].filter(([key]) => {
    const own = wordsOf(key)
    return words.every((word) => own.includes(word)) || own.every((word) => words.includes(word))
  })
  return similar.length === 1 && words.length > 0 ? similar[0]![1] : undefined
}

export function toFigure(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined
}
