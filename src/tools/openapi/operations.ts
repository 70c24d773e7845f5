import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import { isObject, fieldsOf } from '../../json/shape.ts'
import type { ApiReadOptions, FoundOperation, Operation, OperationOptions, SecurityScheme, SkippedOperation } from './api.ts'
import { toBody, type ConvertedBody } from './bodies.ts'
import { createKeys, toParameters, type ConvertedParameter } from './parameters.ts'
import { matchesAny } from '../plain-text.ts'
import type { References } from './references.ts'
import { shortText } from './schemas.ts'

const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const

const maxDescription = 1200

export interface OperationsFound {
  readable: FoundOperation[]
  unreadable: SkippedOperation[]
}

export function findOperations(document: Record<string, unknown>, references: References): OperationsFound {
  const paths = isObject(document['paths']) ? Object.entries(document['paths']) : []
  const usedIds = new Set<string>()
  const result: OperationsFound = { readable: [], unreadable: [] }

  function addUnreadable(reason: string, method: string | undefined, path: string): void {
    const location = method === undefined ? path : `${method.toUpperCase()} ${path}`
    result.unreadable.push({ id: toId(undefined, method ?? 'any', path, usedIds), location, reason })
  }

  for (const [path, value] of paths) {
    // Keys without a slash are extensions, `x-...`.
    if (!path.startsWith('/')) continue
    const item = toItem(value, references)
    if (!item) {
      addUnreadable(references.explainFailure(value), undefined, path)
      continue
    }
    const ownMethods = methods.filter((method) => Object.hasOwn(item, method))
    if (ownMethods.length === 0 && isObject(value) && '$ref' in value)
      addUnreadable('the referenced path item has no operations', undefined, path)
    for (const method of ownMethods) {
      const operation = references.follow(item[method])
      if (!isObject(operation)) {
        addUnreadable(references.explainFailure(item[method]), method, path)
        continue
      }
      const id = toId(operation['operationId'], method, path, usedIds)
      const tags = Array.isArray(operation['tags']) ? operation['tags'].map(String) : []
      result.readable.push({ id, method: method.toUpperCase(), path, tags, operation, item, document })
    }
  }
  return result
}

/** Resolves a path item; fields beside `$ref` override the referenced fields. */
function toItem(value: unknown, references: References): Record<string, unknown> | undefined {
  const item = references.follow(value)
  if (!isObject(item) || !isObject(value) || item === value) return isObject(item) ? item : undefined
  const { $ref: _, ...siblings } = value
  return { ...item, ...siblings }
}

/** Converts an operation. Throws the reason when the operation cannot be called correctly. */
export function toOperation(source: FoundOperation, options: OperationOptions): Operation {
  const { id, method, path, operation, item, document } = source
  const keys = createKeys()
  const parameters = toParameters([item['parameters'], operation['parameters']], path, { ...options, keys })
  const body = toBody(operation['requestBody'], { ...options, keys })
  const server = toServer([operation['servers'], item['servers'], document['servers']])
  const security = toRequirements(operation['security'] ?? document['security'])
  return {
    id,
    method,
    path,
    description: toDescription(source),
    schema: toSchema(parameters, body),
    parameters: parameters.map(({ parameter }) => parameter),
    ...(server !== undefined && { server }),
    ...(body && { body: body.body }),
    ...(security && { security }),
  }
}

function toSchema(parameters: readonly ConvertedParameter[], body: ConvertedBody | undefined): JsonSchema {
  const parameterProperties = parameters.map(({ parameter, schema }) => [parameter.key, schema] as const)
  const required = [
    ...parameters
      .filter(({ isRequired, parameter }) => isRequired && parameter.fallback === undefined)
      .map(({ parameter }) => parameter.key),
    ...(body?.required ?? []),
  ]
  const properties: Record<string, JsonValue | JsonSchema> = Object.fromEntries([...parameterProperties, ...(body?.properties ?? [])])
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

function toDescription({ method, path, operation }: FoundOperation): string {
  const texts = [operation['summary'], operation['description']].filter(
    (text): text is string => typeof text === 'string' && text.trim() !== '',
  )
  const words = [...new Set(texts.map((text) => text.trim()))].join('\n')
  const deprecated = operation['deprecated'] === true ? ['Deprecated.'] : []
  return [...deprecated, ...(words === '' ? [] : [shortText(words, maxDescription)]), `(${method} ${path})`].join('\n')
}

/** The first server of the innermost list, with default values for its variables. */
function toServer(lists: readonly unknown[]): string | undefined {
  const list = lists.find((list) => Array.isArray(list) && list.length > 0) as unknown[] | undefined
  const server = list?.[0]
  if (!isObject(server) || typeof server['url'] !== 'string') return undefined
  const variables = fieldsOf(server['variables'])
  return server['url'].replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    return isObject(variable) && variable['default'] !== undefined ? String(variable['default']) : whole
  })
}

/** The id of an operation, used as the last part of the tool name: letters, digits and `_.-`, unique in the document. */
function toId(operationId: unknown, method: string, path: string, usedIds: Set<string>): string {
  const hasId = typeof operationId === 'string' && operationId.trim() !== ''
  const baseName = hasId ? operationId : `${method}${path.replace(/\W+/g, '_')}`
  const plain = baseName.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+|(?<!_)_+$/g, '') || method
  const short = plain.slice(0, 100)
  let id = short
  for (let n = 2; usedIds.has(id); n++) id = `${short}_${n}`
  usedIds.add(id)
  return id
}

/** Selects by name, pattern with `*`, or `tag:<name or pattern>`. */
export function isSelected(operation: Pick<FoundOperation, 'id' | 'tags' | 'operation'>, { include, exclude }: ApiReadOptions): boolean {
  const { id, tags } = operation
  const operationId = operation.operation['operationId']
  const fits = (pattern: string) => {
    if (pattern.startsWith('tag:')) return tags.some((tag) => matchesAny(tag, [pattern.slice('tag:'.length)]))
    return matchesAny(id, [pattern]) || (typeof operationId === 'string' && matchesAny(operationId, [pattern]))
  }
  return (include === undefined || include.some(fits)) && !exclude?.some(fits)
}

export function toSchemes(document: Record<string, unknown>, references: References): Record<string, SecurityScheme> {
  const components = fieldsOf(document['components'])
  const all = isObject(components['securitySchemes']) ? Object.entries(components['securitySchemes']) : []
  return Object.fromEntries(
    all.flatMap(([name, reference]) => {
      const schemeObject = references.follow(reference)
      if (name === '__proto__') return []
      return [[name, isObject(schemeObject) ? toScheme(schemeObject) : { type: 'other', called: references.explainFailure(reference) }]]
    }),
  )
}

function toScheme({ type, in: location, name, scheme, flows }: Record<string, unknown>): SecurityScheme {
  if (type === 'apiKey' && typeof name === 'string' && (location === 'header' || location === 'query' || location === 'cookie')) {
    return { type: 'apiKey', in: location, name }
  }
  if (type === 'http') {
    const called = String(scheme).toLowerCase()
    return called === 'basic' || called === 'bearer' ? { type: called } : { type: 'other', called: `http ${called}` }
  }
  if (type === 'openIdConnect') return { type: 'bearer' }
  if (type !== 'oauth2') return { type: 'other', called: String(type) }
  const flow = isObject(flows) ? flows['clientCredentials'] : undefined
  const tokenUrl = isObject(flow) ? flow['tokenUrl'] : undefined
  // For other flows, the configured value is a token obtained elsewhere.
  return typeof tokenUrl === 'string' ? { type: 'clientCredentials', tokenUrl } : { type: 'bearer' }
}

/** Alternative security requirements; an empty requirement means that no credentials are needed. */
function toRequirements(reference: unknown): Record<string, string[]>[] | undefined {
  if (!Array.isArray(reference)) return undefined
  return reference
    .filter(isObject)
    .map((requirement) =>
      Object.fromEntries(Object.entries(requirement).map(([name, scopes]) => [name, Array.isArray(scopes) ? scopes.map(String) : []])),
    )
}
