import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import { isObject } from '../../json/is-object.ts'
import type { FoundOperation, Operation, Reading, SkippedOperation } from './api.ts'
import { toBody, type FoundBody } from './bodies.ts'
import { createKeys } from './keys.ts'
import { toParameters, type FoundParameter } from './parameters.ts'
import type { References } from './references.ts'
import { shortText } from './schemas.ts'
import { toRequirements } from './schemes.ts'
import { toId } from './selection.ts'

const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const

const maxDescription = 1200

export interface FoundOperations {
  readable: FoundOperation[]
  unread: SkippedOperation[]
}

export function findOperations(document: Record<string, unknown>, references: References): FoundOperations {
  const paths = isObject(document['paths']) ? Object.entries(document['paths']) : []
  const taken = new Set<string>()
  const found: FoundOperations = { readable: [], unread: [] }

  function addUnread(reason: string, method: string | undefined, path: string): void {
    const place = method === undefined ? path : `${method.toUpperCase()} ${path}`
    found.unread.push({ id: toId(undefined, method ?? 'any', path, taken), place, reason })
  }

  for (const [path, value] of paths) {
    // Names beside the paths are extensions, `x-...`.
    if (!path.startsWith('/')) continue
    const item = toItem(value, references)
    if (!item) {
      addUnread(references.whyNot(value), undefined, path)
      continue
    }
    const own = methods.filter((method) => Object.hasOwn(item, method))
    if (own.length === 0 && isObject(value) && '$ref' in value) addUnread('what it refers to has no operations', undefined, path)
    for (const method of own) {
      const operation = references.follow(item[method])
      if (!isObject(operation)) {
        addUnread(references.whyNot(item[method]), method, path)
        continue
      }
      const id = toId(operation['operationId'], method, path, taken)
      const tags = Array.isArray(operation['tags']) ? operation['tags'].map(String) : []
      found.readable.push({ id, method: method.toUpperCase(), path, tags, operation, item, document })
    }
  }
  return found
}

/** Beside its reference a path item may have fields of its own. */
function toItem(value: unknown, references: References): Record<string, unknown> | undefined {
  const item = references.follow(value)
  if (!isObject(item) || !isObject(value) || item === value) return isObject(item) ? item : undefined
  const { $ref: _, ...own } = value
  return { ...item, ...own }
}

/** Throws with the reason where a call of the operation could not be made rightly. */
export function toOperation(found: FoundOperation, reading: Reading): Operation {
  const { id, method, path, operation, item, document } = found
  const keys = createKeys()
  const parameters = toParameters([item['parameters'], operation['parameters']], path, { ...reading, keys })
  const body = toBody(operation['requestBody'], { ...reading, keys })
  const server = toServer([operation['servers'], item['servers'], document['servers']])
  const security = toRequirements(operation['security'] ?? document['security'])
  return {
    ...{ id, method, path },
    description: toDescription(found),
    schema: toSchema(parameters, body),
    parameters: parameters.map(({ parameter }) => parameter),
    ...(server !== undefined && { server }),
    ...(body && { body: body.body }),
    ...(security && { security }),
  }
}

function toSchema(parameters: readonly FoundParameter[], body: FoundBody | undefined): JsonSchema {
  const own = parameters.map(({ parameter, schema }) => [parameter.key, schema] as const)
  const required = [
    ...parameters
      .filter(({ isRequired, parameter }) => isRequired && parameter.fallback === undefined)
      .map(({ parameter }) => parameter.key),
    ...(body?.required ?? []),
  ]
  const properties: Record<string, JsonValue | JsonSchema> = Object.fromEntries([...own, ...(body?.properties ?? [])])
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

function toDescription({ method, path, operation }: FoundOperation): string {
  const said = [operation['summary'], operation['description']].filter((one): one is string => typeof one === 'string' && one.trim() !== '')
  const words = [...new Set(said.map((one) => one.trim()))].join('\n')
  const deprecated = operation['deprecated'] === true ? ['Deprecated.'] : []
  return [...deprecated, ...(words === '' ? [] : [shortText(words, maxDescription)]), `(${method} ${path})`].join('\n')
}

/** The first server of the nearest list, its variables at their defaults. */
function toServer(lists: readonly unknown[]): string | undefined {
  const list = lists.find((one) => Array.isArray(one) && one.length > 0) as unknown[] | undefined
  const server = list?.[0]
  if (!isObject(server) || typeof server['url'] !== 'string') return undefined
  const variables = isObject(server['variables']) ? server['variables'] : {}
  return server['url'].replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    return isObject(variable) && variable['default'] !== undefined ? String(variable['default']) : whole
  })
}
