import type { JsonObject, JsonSchema, JsonValue, Message } from '../src/agent/messages.ts'
import { createResolve, listed, named, nodesOf } from '../src/json/schema/schema-nodes.ts'
import { isObject } from '../src/json/shape.ts'
import { parseJson } from './answers/answer.ts'
import { wordsOf } from './language/words.ts'

/** Limit for levels of a value and of references. */
const maxDepth = 12
const maxItems = 200

/** Properties for the answer in words. */
const textNames = /^(answer|text|summary|message|response|reply|output|content|explanation|description|result)$/i
/** Properties for the only figure of the results. */
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

  const fillers: Record<string, (part: JsonSchema, context: Place) => JsonValue | undefined> = {
    null: () => null,
    boolean: (_, { name, findings }) => [findings.find(name)].find((value) => typeof value === 'boolean'),
    number: (_, { name, findings }) => toFigure(findings.find(name)) ?? (figureNames.test(name) ? findings.onlyFigure : undefined),
    integer: (part, context) => fillers['number']!(part, context),
    string(_, { name, findings }) {
      const value = findings.find(name)
      const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
      return isPlain ? String(value) : textNames.test(name) && words !== '' ? words : undefined
    },
    object(part, { name, findings, depth }) {
      const recorded = findings.find(name)
      const inner = isObject(recorded) ? collectFindings([recorded]) : findings
      const properties = Object.entries(named(part, 'properties'))
      if (properties.length === 0) return inner.whole ?? { answer: words }
      const filled = properties.map(([key, property]) => [key, fill(property, key, inner, depth + 1)] as const)
      const value = Object.fromEntries(filled.filter(([, item]) => item !== undefined)) as Record<string, JsonValue>
      return Object.keys(value).length > 0 && listed(part, 'required').every((key) => String(key) in value) ? value : undefined
    },
    array(part, { name, findings, depth }) {
      const value = findings.find(name)
      const singular = name.replace(/s$/, '')
      const list = (Array.isArray(value) ? value : findings.list)?.slice(0, maxItems)
      const items = list?.map((item) => fill(part['items'] ?? {}, singular, collectFindings([item], singular), depth + 1))
      return items?.every((item) => item !== undefined) ? items : undefined
    },
  }

  const results = run.flatMap((message) => (message.role === 'tool' && !message.isError ? [parseJson(message.text)] : []))
  return fill(schema, 'answer', collectFindings(results), 0)
}

/** The position of a part in the value, and the findings for it. */
interface Place {
  name: string
  findings: Findings
  depth: number
}

/** The finding as a value of an enumeration, or the only value in the answer. */
function choose(values: readonly JsonValue[], finding: JsonValue | undefined, words: string): JsonValue | undefined {
  const tokens = new Set(finding === undefined ? words.toLowerCase().split(/[^\p{L}\p{N}_-]+/u) : [String(finding).toLowerCase()])
  const mentioned = values.filter((value) => tokens.has(String(value).toLowerCase()))
  return mentioned.length === 1 ? mentioned[0] : undefined
}

/** Statements in the results of tools, by name. */
interface Findings {
  /** The value of a name: the same name, or else the only similar one. */
  find(name: string): JsonValue | undefined
  /** The newest list of records or values. */
  list: JsonValue[] | undefined
  /** The newest object among the results. */
  whole: JsonObject | undefined
  /** The figure, if the results have a single figure. */
  onlyFigure: number | undefined
}

/** Limit for levels of a result. */
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
    find: (property) => findSimilar(facts, property),
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
  const equal = [...facts].find(([key]) => key === name) ?? [...facts].find(([key]) => wordsOf(key).join('') === plain)
  if (equal) return equal[1]
  // `total` stands for `total_amount`, if nothing else has the word.
  const similar = [...facts].filter(([key]) => {
    const keyWords = wordsOf(key)
    return words.every((word) => keyWords.includes(word)) || keyWords.every((word) => words.includes(word))
  })
  return similar.length === 1 && words.length > 0 ? similar[0]![1] : undefined
}

function toFigure(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined
}
