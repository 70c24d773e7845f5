import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import { isRecord, type Api, type Operation, type ReadOptions } from './api.ts'
import { toBody, type FoundBody } from './bodies.ts'
import { createKeys } from './keys.ts'
import { toParameters, type FoundParameter } from './parameters.ts'
import { createReferences, type References } from './references.ts'
import { shortText } from './schemas.ts'
import { toRequirements, toSchemes } from './schemes.ts'
import { isWanted, toId } from './selection.ts'

const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const

/** More tools than any model can choose from. */
const maxOperations = 1000
const maxDescription = 1200
/** Of the JSON of one tool's schema, and of all of an entry. */
const maxSchema = 24_000
const maxSchemas = 8_000_000

/** Throws an `Error` that says what is wrong with a document as a whole. */
export function readApi(document: unknown, options: ReadOptions): Api {
  if (!isRecord(document)) throw new Error('it is no OpenAPI document')
  const version = String(document['openapi'] ?? '')
  if (document['swagger'] !== undefined) throw new Error('it is of Swagger 2.0; OpenAPI 3.0 and 3.1 are read')
  if (!/^3\.\d/.test(version)) throw new Error('it does not say that it is of OpenAPI 3.0 or 3.1')
  const references = createReferences(document)
  const found = findOperations(document, references)
  if (found.length === 0) throw new Error('it has no operations')
  const wanted = found.filter((one) => isWanted(one, options))
  if (wanted.length === 0) throw new Error(`include and exclude leave none of its ${found.length} operations (${toNames(found)})`)
  if (wanted.length > maxOperations) {
    throw new Error(`it has ${wanted.length} operations, more than the ${maxOperations} that an entry may have: name some in include`)
  }
  const schemes = toSchemes(document, references)
  const hidden = new Set([...options.ownHeaders, ...Object.values(schemes).flatMap((one) => (one.type === 'apiKey' ? [one.name] : []))])
  const room = Math.min(maxSchema, Math.floor(maxSchemas / wanted.length))
  const skipped: string[] = []
  const operations = wanted.flatMap((one) => {
    try {
      return [toOperation(one, { references, hidden, room })]
    } catch (error) {
      skipped.push(`${one.id}: ${error instanceof Error ? error.message : 'it can not be read'}`)
      return []
    }
  })
  if (operations.length === 0) throw new Error(`none of its operations can be called (${skipped[0]})`)
  return { operations, schemes, skipped }
}

function toNames(found: readonly FoundOperation[]): string {
  const names = found.slice(0, 20).map(({ id }) => id)
  return [...names, ...(found.length > names.length ? ['...'] : [])].join(', ')
}

export interface FoundOperation {
  id: string
  method: string
  path: string
  tags: string[]
  operation: Record<string, unknown>
  item: Record<string, unknown>
  document: Record<string, unknown>
}

function findOperations(document: Record<string, unknown>, references: References): FoundOperation[] {
  const paths = isRecord(document['paths']) ? Object.entries(document['paths']) : []
  const taken = new Set<string>()
  return paths.flatMap(([path, value]) => {
    const item = references.follow(value)
    if (!path.startsWith('/') || !isRecord(item)) return []
    return methods.flatMap((method) => {
      const operation = item[method]
      if (!isRecord(operation)) return []
      const id = toId(operation['operationId'], method, path, taken)
      const tags = Array.isArray(operation['tags']) ? operation['tags'].map(String) : []
      return [{ id, method: method.toUpperCase(), path, tags, operation, item, document }]
    })
  })
}

export interface Reading {
  references: References
  /** Names of parameters that the model is not asked for: others fill them. */
  hidden: ReadonlySet<string>
  /** Characters of the schema. */
  room: number
}

function toOperation(found: FoundOperation, reading: Reading): Operation {
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
  if (!isRecord(server) || typeof server['url'] !== 'string') return undefined
  const variables = isRecord(server['variables']) ? server['variables'] : {}
  return server['url'].replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    return isRecord(variable) && variable['default'] !== undefined ? String(variable['default']) : whole
  })
}
