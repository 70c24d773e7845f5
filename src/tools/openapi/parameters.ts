import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import { headerFault } from '../web/request-headers.ts'
import { isObject } from '../../json/is-object.ts'
import type { Parameter, Place, Reading } from './api.ts'
import type { Keys } from './keys.ts'
import { shortText, toInputSchema } from './schemas.ts'

export interface FoundParameter {
  parameter: Parameter
  schema: JsonSchema
  isRequired: boolean
}

interface Options extends Reading {
  keys: Keys
}

/** By place: what is assumed where a document says nothing (OpenAPI, Parameter Object). */
const styles = {
  path: { own: 'simple', known: ['simple', 'label', 'matrix'] },
  query: { own: 'form', known: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] },
  header: { own: 'simple', known: ['simple'] },
  cookie: { own: 'form', known: ['form'] },
} as const

/** Headers that OpenAPI leaves to the rest of the document, and those whose value is ours or a secret's. */
const notAsked = new Set(['accept', 'content-type', 'authorization', 'cookie', 'idempotency-key', 'traceparent'])

/** Parameters of a path and of its operation, which wins. Throws where a call could not be made without one that can't be read. */
export function toParameters(lists: readonly unknown[], path: string, options: Options): FoundParameter[] {
  const byPlace = new Map<string, Record<string, unknown>>()
  for (const given of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
    const found = options.references.follow(given)
    if (!isObject(found)) throw new Error(`a parameter cannot be read: ${options.references.whyNot(given)}`)
    const { name, in: place } = found
    if (typeof name !== 'string') throw new Error('a parameter has no name')
    if (typeof place !== 'string' || !Object.hasOwn(styles, place))
      throw new Error(`its parameter ${name} is in ${String(place)}, a place that OpenAPI 3 does not have`)
    byPlace.set(`${place} ${name}`, found)
  }
  const asked = [...byPlace.values()].filter((one) => isAsked(String(one['name']), one['in'] as Place, options.hidden))
  const named = new Set(asked.flatMap((one) => (one['in'] === 'path' ? [one['name']] : [])))
  // A document that forgets to tell of one means a text.
  const forgotten = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name!).filter((name) => !named.has(name))
  const all = [...forgotten.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })), ...asked]
  return all.map((one) => toParameter(one, options))
}

function isAsked(name: string, place: Place, hidden: ReadonlySet<string>): boolean {
  const isHidden = [...hidden].some((one) => one === name || (place === 'header' && one.toLowerCase() === name.toLowerCase()))
  if (place === 'path') return true
  if (place !== 'header') return !isHidden
  return !isHidden && !notAsked.has(name.toLowerCase()) && headerFault(name, '') === undefined
}

function toParameter(given: Record<string, unknown>, { keys, references, room }: Options): FoundParameter {
  const name = String(given['name'])
  const place = given['in'] as Place
  const content = isObject(given['content']) ? Object.entries(given['content'])[0] : undefined
  const inner = content ? (isObject(content[1]) ? content[1]['schema'] : undefined) : given['schema']
  const schema = toInputSchema(inner, references, Math.floor(room / 4))
  const isRequired = place === 'path' || given['required'] === true
  const { own, known } = styles[place]
  const style = known.find((one) => one === given['style']) ?? own
  const fallback = isRequired && 'default' in schema ? { fallback: schema['default'] as JsonValue } : {}
  const parameter = {
    ...{ key: keys.take(name, `${place}_${name}`), name, in: place, style, ...fallback },
    explode: typeof given['explode'] === 'boolean' ? given['explode'] : style === 'form',
    allowReserved: given['allowReserved'] === true,
    isJson: content !== undefined && /[/+]json\b/.test(content[0]),
  }
  return { parameter, schema: withDescription(schema, given), isRequired }
}

/** What is said of the parameter counts, not what is said of its type. */
function withDescription(schema: JsonSchema, { description, deprecated }: Record<string, unknown>): JsonSchema {
  const said = typeof description === 'string' && description.trim() !== '' ? shortText(description, 600) : schema['description']
  const text = [deprecated === true ? 'Deprecated.' : undefined, said].filter(Boolean).join(' ')
  return text === '' ? schema : { ...schema, description: text }
}
