import type { JsonObject, JsonSchema, JsonValue, Message } from '../src/agent/messages.ts'
import { createResolve, listed, named, nodesOf } from '../src/json/schema/schema-nodes.ts'
import { isObject } from '../src/json/shape.ts'
import { parseJson } from './answers/answer.ts'
import { wordsOf } from './language/words.ts'

/** The levels of a value and of references that are followed. */
const maxDepth = 12
const maxItems = 200

/** Properties that mean the answer in words. */
const textNames = /^(answer|text|summary|message|response|reply|output|content|explanation|description|result)$/i
/** Properties that mean the only figure of the results. */
const figureNames = /^(answer|result|value|number|figure|total|sum|amount|count|output)$/i

/**
 * Fills a schema from the results of the tools in a run: by the names of properties and columns, in order. `text` is the answer in words.
 * Undefined where a required part is not in the results. The caller validates the value.
 */
export function fillSchema(schema: JsonSchema, run: readonly Message[], text: string): JsonValue | undefined {
  const resolve = createResolve(nodesOf(schema))
  const words = text.replace(/\*\*|`/g, '')

  function fill(part: unknown, name: string, findings: Findings, depth: number): JsonValue | undefined {
    if (!isObject(part) || depth > maxDepth) return undefined
    const inside = (inner: unknown) => fill(inner, name, findings, depth + 1)
    if (typeof part['$ref'] === 'string') return inside(resolve(part['$ref']))
    if ('const' in part) return part['const'] as JsonValue
    if ('enum' in part) return choose(listed(part, 'enum') as JsonValue[], findings.find(name), words)
    const options = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => listed(part, key))
    const types = [part['type'] ?? (part['properties'] ? 'object' : part['items'] ? 'array' : 'string')].flat()
    const values = options.length > 0 ? options.map(inside) : types.map((type) => fillers[String(type)]?.(part, { name, findings, depth }))
    return values.find((value) => value !== undefined)
  }

  const fillers: Record<string, (part: JsonSchema, place: Place) => JsonValue | undefined> = {
    null: () => null,
    boolean: (_, { name, findings }) => [findings.find(name)].find((value) => typeof value === 'boolean'),
    number: (_, { name, findings }) => toFigure(findings.find(name)) ?? (figureNames.test(name) ? findings.onlyFigure : undefined),
    integer: (part, place) => fillers['number']!(part, place),
    string(_, { name, findings }) {
      const value = findings.find(name)
      const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
      return isPlain ? String(value) : textNames.test(name) && words !== '' ? words : undefined
    },
    object(part, { name, findings, depth }) {
      const own = findings.find(name)
      const inner = isObject(own) ? collectFindings([own]) : findings
      const properties = Object.entries(named(part, 'properties'))
      if (properties.length === 0) return inner.whole ?? { answer: words }
      const filled = properties.map(([key, property]) => [key, fill(property, key, inner, depth + 1)] as const)
      const value = Object.fromEntries(filled.filter(([, item]) => item !== undefined)) as Record<string, JsonValue>
      return Object.keys(value).length > 0 && listed(part, 'required').every((key) => String(key) in value) ? value : undefined
    },
    array(part, { name, findings, depth }) {
      const own = findings.find(name)
      const singular = name.replace(/s$/, '')
      const list = (Array.isArray(own) ? own : findings.list)?.slice(0, maxItems)
      const items = list?.map((item) => fill(part['items'] ?? {}, singular, collectFindings([item], singular), depth + 1))
      return items?.every((item) => item !== undefined) ? items : undefined
    },
  }

  const results = run.flatMap((message) => (message.role === 'tool' && !message.isError ? [parseJson(message.text)] : []))
  return fill(schema, 'answer', collectFindings(results), 0)
}

/** Where in the value a part belongs, and what is known about it. */
interface Place {
  name: string
  findings: Findings
  depth: number
}

/** The value of an enumeration that was found, or the only one that the answer names. */
function choose(values: readonly JsonValue[], found: JsonValue | undefined, words: string): JsonValue | undefined {
  const tokens = new Set(found === undefined ? words.toLowerCase().split(/[^\p{L}\p{N}_-]+/u) : [String(found).toLowerCase()])
  const mentioned = values.filter((value) => tokens.has(String(value).toLowerCase()))
  return mentioned.length === 1 ? mentioned[0] : undefined
}

/** What the results of tools state, by name. */
interface Findings {
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
function collectFindings(values: readonly JsonValue[], name = ''): Findings {
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

function toFigure(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined
}
