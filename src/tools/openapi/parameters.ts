import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import { isObject } from '../../json/shape.ts'
import { headerFault } from '../web/request-headers.ts'
import type { OperationOptions, Parameter, ParameterIn } from './api.ts'
import { shortText, toInputSchema } from './schemas.ts'

export interface ConvertedParameter {
  parameter: Parameter
  schema: JsonSchema
  isRequired: boolean
}

interface ParameterOptions extends OperationOptions {
  keys: Keys
}

/** Default style and allowed styles by `in` (OpenAPI, Parameter Object). */
const styles = {
  path: { default: 'simple', allowed: ['simple', 'label', 'matrix'] },
  query: { default: 'form', allowed: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] },
  header: { default: 'simple', allowed: ['simple'] },
  cookie: { default: 'form', allowed: ['form'] },
} as const

/** Headers that other parts of the document define, or whose value is set by the service or is a secret. */
const reservedHeaders = new Set(['accept', 'content-type', 'authorization', 'cookie', 'idempotency-key', 'traceparent'])

/** Converts the parameters of a path and its operation; the operation wins. Throws when a parameter cannot be read, because a call without the parameter could be wrong. */
export function toParameters(lists: readonly unknown[], path: string, options: ParameterOptions): ConvertedParameter[] {
  const byLocation = new Map<string, Record<string, unknown>>()
  for (const reference of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
    const parameterObject = options.references.follow(reference)
    if (!isObject(parameterObject)) throw new Error(`a parameter cannot be read: ${options.references.explainFailure(reference)}`)
    const { name, in: location } = parameterObject
    if (typeof name !== 'string') throw new Error('a parameter has no name')
    if (typeof location !== 'string' || !Object.hasOwn(styles, location))
      throw new Error(`its parameter ${name} is in ${String(location)}, which OpenAPI 3 does not support`)
    byLocation.set(`${location} ${name}`, parameterObject)
  }
  const shownParameters = [...byLocation.values()].filter((parameter) =>
    isShown(String(parameter['name']), parameter['in'] as ParameterIn, options.excludedParameters),
  )
  const declaredNames = new Set(shownParameters.flatMap((parameter) => (parameter['in'] === 'path' ? [parameter['name']] : [])))
  // An undeclared path parameter is taken as a string.
  const undeclared = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name!).filter((name) => !declaredNames.has(name))
  const all = [...undeclared.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })), ...shownParameters]
  return all.map((parameter) => toParameter(parameter, options))
}

function isShown(name: string, location: ParameterIn, excludedParameters: ReadonlySet<string>): boolean {
  const isHidden = [...excludedParameters].some(
    (excluded) => excluded === name || (location === 'header' && excluded.toLowerCase() === name.toLowerCase()),
  )
  if (location === 'path') return true
  if (location !== 'header') return !isHidden
  return !isHidden && !reservedHeaders.has(name.toLowerCase()) && headerFault(name, '') === undefined
}

function toParameter(
  parameterObject: Record<string, unknown>,
  { keys, references, maxSchemaCharacters }: ParameterOptions,
): ConvertedParameter {
  const name = String(parameterObject['name'])
  const location = parameterObject['in'] as ParameterIn
  const content = isObject(parameterObject['content']) ? Object.entries(parameterObject['content'])[0] : undefined
  const inner = content ? (isObject(content[1]) ? content[1]['schema'] : undefined) : parameterObject['schema']
  const schema = toInputSchema(inner, references, Math.floor(maxSchemaCharacters / 4))
  const isRequired = location === 'path' || parameterObject['required'] === true
  const { default: defaultStyle, allowed: allowedStyles } = styles[location]
  const style = allowedStyles.find((allowedStyle) => allowedStyle === parameterObject['style']) ?? defaultStyle
  const fallback = isRequired && 'default' in schema ? { fallback: schema['default'] as JsonValue } : {}
  const parameter = {
    key: keys.take(name, `${location}_${name}`),
    name,
    in: location,
    style,
    ...fallback,
    explode: typeof parameterObject['explode'] === 'boolean' ? parameterObject['explode'] : style === 'form',
    allowReserved: parameterObject['allowReserved'] === true,
    isJson: content !== undefined && /[/+]json\b/.test(content[0]),
  }
  return { parameter, schema: withDescription(schema, parameterObject), isRequired }
}

/** The description of the parameter wins over the description of its schema. */
function withDescription(schema: JsonSchema, { description, deprecated }: Record<string, unknown>): JsonSchema {
  const descriptionText = typeof description === 'string' && description.trim() !== '' ? shortText(description, 600) : schema['description']
  const text = [deprecated === true ? 'Deprecated.' : undefined, descriptionText].filter(Boolean).join(' ')
  return text === '' ? schema : { ...schema, description: text }
}

const maxKeyCharacters = 64

/** Assigns unique property names of a tool input that every provider accepts (`[A-Za-z0-9_.-]{1,64}`). */
export function createKeys() {
  const usedKeys = new Set<string>()

  /** Reserves the first free name of the wishes, or else the last wish with a number. */
  function take(...wishes: string[]): string {
    const fit = wishes.map(fitKey)
    const last = fit.at(-1) ?? 'value'
    let key = fit.find((candidate) => !usedKeys.has(candidate)) ?? last
    for (let n = 2; usedKeys.has(key); n++) key = `${last.slice(0, maxKeyCharacters - 1 - String(n).length)}_${n}`
    usedKeys.add(key)
    return key
  }

  return { take, isFree: (name: string) => !usedKeys.has(fitKey(name)) }
}

export type Keys = ReturnType<typeof createKeys>

/** Makes a name valid: `filter[name]` becomes `filter_name`. */
function fitKey(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, maxKeyCharacters)
  return plain.replace(/^_+|(?<!_)_+$/g, '') === '' ? 'value' : plain === name ? name : plain.replace(/(?<!_)_+$/, '')
}
