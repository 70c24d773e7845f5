import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'
import type { Reply } from './service-client.ts'

/** Says what of an answer the OpenAPI document does not: an empty list where all is as described. */
export interface OpenApiCheck {
  reply(method: string, path: string, reply: Pick<Reply, 'status' | 'headers' | 'text' | 'body'>): string[]
  /** The `data` of one server-sent event. */
  chunk(chunk: unknown): string[]
}

type Schema = Record<string, unknown>
interface Response {
  headers?: Record<string, unknown>
  content?: Record<string, { schema?: Schema }>
}
interface Operation {
  responses: Record<string, Response>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** Headers that mean something to a client of the interface. */
const told = [
  'session-id',
  'request-id',
  'retry-after',
  'www-authenticate',
  'etag',
  'content-disposition',
  'content-range',
  'accept-ranges',
]

/** Compares replies with the document of the service that gave them. A field that is not described is a fault too: no client can know of it. */
export function openApiCheck(app: FastifyInstance): OpenApiCheck {
  const document = app.swagger() as unknown as Document
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  const closed = close({ components: document.components })
  ajv.addSchema({ $id: 'openapi', ...(closed as object) })
  const compiled = new Map<string, ValidateFunction>()
  const routes = Object.entries(document.paths).map(([path, operations]) => ({ path, operations, pattern: toPattern(path) }))
  // A path without parameters before one with them.
  routes.sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))

  function validate(name: string, schema: Schema, value: unknown): string[] {
    const isRight = compiled.get(name) ?? ajv.compile(toReference(close(schema)) as Schema)
    compiled.set(name, isRight)
    return isRight(value)
      ? []
      : (isRight.errors ?? []).map((error) => `${name}: ${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`)
  }

  const chunk: OpenApiCheck['chunk'] = (value) => validate('chunk', { $ref: '#/components/schemas/StreamChunk' }, value)

  const reply: OpenApiCheck['reply'] = (method, address, reply) => {
    const path = address.split('?', 1)[0]!
    const route = routes.find(({ pattern }) => pattern.test(path))
    const operation = route?.operations[method.toLowerCase()]
    if (!route || !operation) return reply.status === 404 || reply.status === 405 ? [] : [`${method} ${path} is not described`]
    const response = operation.responses[reply.status]
    if (!response) return [`${method} ${route.path}: ${reply.status} is not described: ${reply.text.slice(0, 200)}`]
    const place = `${method} ${route.path} ${reply.status}`
    const headers = told.filter((name) => reply.headers.has(name) && !Object.keys(response.headers ?? {}).includes(name))
    const faults = headers.map((name) => `${place}: header ${name} is not described`)
    if (reply.text === '') return faults
    const type = reply.headers.get('content-type')?.split(';', 1)[0] ?? ''
    const content = response.content?.[type] ?? response.content?.['*/*']
    if (!content) return [...faults, `${place}: ${type} is not described`]
    if (type !== 'application/json' || !content.schema) return faults
    return [...faults, ...validate(place, content.schema, reply.body)]
  }

  return { reply, chunk }
}

function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replace(/\{[^}]+\}/g, '[^/]+')}/?$`)
}

/** The same schema, with no other fields than its own where it lists some and does not speak of others. */
function close(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(close)
  const copy: Schema = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, close(value)]))
  const isOpen = copy['properties'] !== undefined && copy['type'] === 'object' && copy['additionalProperties'] === undefined
  return isOpen ? { ...copy, additionalProperties: false } : copy
}

function toReference(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/'))
}
