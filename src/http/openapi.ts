import type { RouteOptions } from 'fastify'
import type { TSchema } from 'typebox'
import { isOpenAi } from './openai/errors.ts'
import { OpenAiErrorReply } from './openai/replies.ts'
import { RpcError } from './rpc-errors.ts'
import {
  ApprovalRequired,
  ChatBody,
  DataFilterHint,
  ErrorReply,
  GeneratedArtifact,
  Step,
  StreamChunk,
  Usage,
  ValidationReply,
} from './schemas.ts'

type Schema = Record<string, unknown>

/** What a route says of itself, as Fastify has it. */
export interface DescribedRoute {
  schema: Schema & { response?: Record<string, Schema>; headers?: Schema; body?: Schema; querystring?: Schema }
  url: string
  route: RouteOptions
}

/** Schemas that have a name in the document, so that clients made from it have one type for each. */
export const named: Record<string, TSchema> = {
  Error: ErrorReply,
  ValidationError: ValidationReply,
  OpenAIError: OpenAiErrorReply,
  JsonRpcError: RpcError,
  ChatRequest: ChatBody,
  DataFilterHint,
  IntermediateStep: Step,
  Usage,
  GeneratedArtifact,
  ApprovalRequired,
  StreamChunk,
}

/** Adds what holds for all routes of a kind, and is nowhere written at a route: ids, faults of bodies, the headers of replies. */
export function describeRoute({ schema, url, route }: DescribedRoute): { schema: Schema; url: string } {
  if (schema['hide']) return { schema, url }
  const [method = 'GET', ...others] = [route.method].flat()
  const isPublic = route.config?.access === 'public'
  const response = { ...(method === 'GET' ? {} : refusedBodies(route)), ...schema.response } as Record<string, Schema>
  return {
    url,
    schema: {
      ...schema,
      // One id can't be that of two operations.
      ...(others.length === 0 ? { operationId: schema['operationId'] ?? operationId(method, url) } : {}),
      ...(isPublic ? { security: [] } : {}),
      headers: withRequestId(schema.headers),
      ...(schema.body ? { body: withoutDefaulted(schema.body) } : {}),
      ...(schema.querystring ? { querystring: withoutDefaulted(schema.querystring) } : {}),
      response: Object.fromEntries(Object.entries(response).map(([status, reply]) => [status, describeReply(status, reply)])),
    },
  }
}

/** `GET /core/v1/sessions/:session_id` is `getSessionsBySessionId`. */
function operationId(method: string, url: string): string {
  const words = url
    .replace(/^\/core\/v1/, '')
    .replaceAll(':', 'by_')
    .split(/[^a-zA-Z0-9]+/)
    .filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
}

/** What any route that reads a body may refuse. */
function refusedBodies({ config, url }: RouteOptions): Record<string, TSchema> {
  if (isOpenAi(url)) return {}
  if (config?.rpcStatus !== undefined) return { 413: ErrorReply, 415: RpcError, 422: RpcError }
  return { 413: ErrorReply, 415: ErrorReply, 422: config?.validationShape === 'error' ? ErrorReply : ValidationReply }
}

function withRequestId(headers: Schema = { type: 'object', properties: {} }): Schema {
  const properties = headers['properties'] as Schema
  const requestId = { type: 'string', description: 'Names the request; made when absent; echoed.' }
  return { ...headers, properties: { ...properties, 'request-id': properties['request-id'] ?? requestId } }
}

/** What has a default may be left out, which `required` beside it denies. */
function withoutDefaulted(schema: Schema): Schema {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>
  const { required = [], ...rest } = schema as { required?: string[] }
  const needed = required.filter((name) => properties[name]?.['default'] === undefined)
  // Unchanged it stays the same object, by which it may have a name.
  return needed.length === required.length ? schema : { ...rest, ...(needed.length > 0 ? { required: needed } : {}) }
}

interface Header {
  type: string
  description: string
}

const text = (description: string): Header => ({ type: 'string', description })

const idHeaders = {
  'request-id': text('Of the request; of a repeated chat, its first one.'),
  'session-id': text('Of the session that the request names or is given; absent where it has none.'),
}

const retryAfter = { 'retry-after': text('Seconds after which asking again makes sense.') }

/** Headers of a status, beside the ids. */
const statusHeaders: Record<string, Record<string, Header>> = {
  401: { 'www-authenticate': text('How to come in.') },
  409: retryAfter,
  429: retryAfter,
  503: retryAfter,
}

const meanings: Record<string, string> = {
  200: 'Done.',
  202: 'It waits for approval.',
  204: 'There is no more.',
  400: 'Something that the request names can not be used.',
  401: 'No key, or one that is not valid.',
  403: 'The key does not permit this.',
  404: 'It is not there, or is another caller’s.',
  409: 'It is at odds with what is there; `details.error_type` says how.',
  410: 'It was deleted.',
  413: 'The request is larger than this service takes.',
  415: 'The content type must be application/json.',
  422: 'The request is not valid.',
  429: 'More requests than the key may make.',
  500: 'A failure of the service; its log has it under the request id.',
  502: 'No model answered.',
  503: 'It can not be done now.',
}

function describeReply(status: string, reply: Schema): Schema {
  const isNamed = Object.values(named).some((schema) => schema === reply)
  const description = isNamed || reply['description'] === undefined ? meanings[status] : reply['description']
  const headers = { ...idHeaders, ...statusHeaders[status], ...(reply['headers'] as Schema | undefined) }
  const described = reply['content'] === undefined ? { 'x-response-description': description } : { description }
  return { ...reply, ...described, headers }
}

/** Headers of replies as a document has them. */
const namedHeaders = Object.fromEntries(
  Object.entries({ ...idHeaders, ...retryAfter }).map(([name, { type, description }]) => [name, { schema: { type }, description }]),
)

/** The same document with a reference wherever something stands that has a name. */
export function withReferences<T extends object>(document: T): T {
  const references = new Map([
    ...Object.entries(named).map(([name, schema]) => [JSON.stringify(schema), `#/components/schemas/${name}`] as const),
    ...Object.entries(namedHeaders).map(([name, header]) => [JSON.stringify(header), `#/components/headers/${name}`] as const),
  ])
  const replace = (value: unknown, isTop = false): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const $ref = isTop ? undefined : references.get(JSON.stringify(value))
    if ($ref !== undefined) return { $ref }
    if (Array.isArray(value)) return value.map((one) => replace(one))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replace(one)]))
  }
  const schemas = Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, replace(schema, true)]))
  return {
    ...(replace(document) as T),
    components: { ...(document as { components?: object }).components, schemas, headers: namedHeaders },
  }
}
