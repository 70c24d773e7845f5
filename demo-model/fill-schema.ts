import type { JsonSchema, JsonValue, Message } from '../src/agent/messages.ts'
import { isObject } from '../src/json/shape.ts'
import { createResolve, listed, named, nodesOf } from '../src/json/schema/schema-nodes.ts'
import { parseJson } from './answers/answer.ts'
import { collectFindings, toFigure, type Findings } from './findings.ts'

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
