import type { RouteOptions } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { namedSchemas, type OperationText, ErrorReply, ValidationReply } from '../schemas/shared.ts'
import swagger from '@fastify/swagger'
import type { App } from '../server/app.ts'

type Schema = Record<string, unknown>

/** A route with its schema, as `@fastify/swagger` passes it to the transform. */
interface DescribedRoute {
  schema: Schema & { response?: Record<string, Schema>; headers?: Schema; body?: Schema; querystring?: Schema }
  url: string
  route: RouteOptions
}

/** Adds the parts that all routes share and no route states itself: request ids, errors of bodies, response headers. */
function describeRoute({ schema: validated, url, route }: DescribedRoute, replies: Replies): { schema: Schema; url: string } {
  const schema: DescribedRoute['schema'] = { ...validated, response: replies.get(route) ?? {} }
  if (schema['hide']) return { schema, url }
  const { text, parameters, prefilled, examples, requests, ...stated } = schema as Schema & OperationText
  const [method = 'GET'] = [route.method].flat()
  const isPublic = route.config?.access === 'public'
  const response = { ...(method === 'GET' ? {} : bodyErrors(route)), ...(isPublic ? brokenRequest : {}), ...schema.response } as Record<
    string,
    Schema
  >
  return {
    url,
    schema: {
      ...stated,
      operationId: schema['operationId'] ?? operationId(method, url),
      // A function, which no JSON of the document has: only readers of the whole document need its result.
      'x-details': () => ({ text, parameters, prefilled, examples, requests }),
      ...(isPublic ? { security: [] } : {}),
      'x-permissions': permissionsOf(route),
      headers: withRequestId(schema.headers),
      ...(schema.body ? { body: withoutDefaulted(schema.body) } : {}),
      ...(schema.querystring ? { querystring: withoutDefaulted(schema.querystring) } : {}),
      response: Object.fromEntries(Object.entries(response).map(([status, reply]) => [status, describeReply(status, reply, isPublic)])),
    },
  }
}

/** Permissions of which a key needs one; empty if any key, or none, suffices. */
function permissionsOf({ config }: RouteOptions): readonly string[] {
  const { access } = config ?? {}
  return access === undefined || access === 'public' || access === 'any_key' ? [] : [access].flat()
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

/** Error replies of every route that reads a body. */
function bodyErrors({ config }: RouteOptions): Record<string, TSchema> {
  return (
    config?.errorShape?.bodyErrors ?? {
      413: ErrorReply,
      415: ErrorReply,
      422: config?.validationShape === 'error' ? ErrorReply : ValidationReply,
    }
  )
}

/** The only refusal of public routes without parameters: HTTP that cannot be parsed. */
const brokenRequest = { 400: ErrorReply }

function withRequestId(headers: Schema = { type: 'object', properties: {} }): Schema {
  const properties = headers['properties'] as Schema
  const requestId = { type: 'string', description: 'The id of the request. Generated when absent, always echoed.' }
  return { ...headers, properties: { ...properties, 'request-id': properties['request-id'] ?? requestId } }
}

/** Removes fields with a default from `required`, since callers may leave such fields out. */
function withoutDefaulted(schema: Schema): Schema {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>
  const { required = [], ...rest } = schema as { required?: string[] }
  const withoutDefault = required.filter((name) => properties[name]?.['default'] === undefined)
  // An unchanged schema stays the same object, since named schemas are found by identity.
  if (withoutDefault.length === required.length) return schema
  return { ...rest, ...(withoutDefault.length > 0 ? { required: withoutDefault } : {}) }
}

interface Header {
  type: string
  description: string
}

const text = (description: string): Header => ({ type: 'string', description })

const idHeaders = {
  'request-id': text('The id of the request. For a repeated chat, the id of the first request.'),
  'session-id': text('The id of the session. Absent when the request has no session.'),
}

const timingText =
  'W3C Server Timing: where the time of the request went, as `name;dur=<milliseconds>`. With a run `queue`, `store`, `model`, `tools`, `own` and `total`, otherwise `store`, `own` and `total`; `total` alone while another process executes the run. A stream has the times until its start.'
const serverTiming = { 'server-timing': text(timingText) }

const retryAfter = { 'retry-after': text('Seconds to wait before trying again.') }

/** Response headers by status, beside the ids. */
const statusHeaders: Record<string, Record<string, Header>> = {
  401: { 'www-authenticate': text('The authentication scheme.') },
  409: retryAfter,
  429: retryAfter,
  503: retryAfter,
}

/** Default descriptions of replies, by status. */
const statusDescriptions: Record<string, string> = {
  200: 'Success.',
  202: 'The run waits for approval.',
  204: 'The stream has ended; there are no further events.',
  400: 'A file, image, tool or parameter of the request cannot be used, or the request is not valid HTTP.',
  401: 'The key is missing or not valid.',
  403: 'The key lacks the permission.',
  404: 'The resource does not exist, or belongs to another caller.',
  409: 'The request conflicts with the current state; `details.error_type` names the conflict.',
  410: 'The resource was deleted.',
  413: 'The request is larger than this service accepts.',
  415: 'The content type must be application/json.',
  422: 'The request is not valid.',
  429: 'The key has made too many requests.',
  500: 'Internal error; the log of the service has the cause under the request id.',
  502: 'No model could answer.',
  503: 'The service cannot do this now; try again later.',
}

function describeReply(status: string, reply: Schema, isPublic: boolean): Schema {
  const isNamed = Object.values(namedSchemas()).some((schema) => schema === reply)
  const description = isNamed || reply['description'] === undefined ? statusDescriptions[status] : reply['description']
  const ownHeaders = reply['headers'] as Schema | undefined
  const headers = { ...idHeaders, ...(isPublic || status === '401' ? {} : serverTiming), ...statusHeaders[status], ...ownHeaders }
  const described = reply['content'] === undefined ? { 'x-response-description': description } : { description }
  return { ...reply, ...described, headers }
}

/** Response headers in the form of the document's components. */
const namedHeaders = Object.fromEntries(
  Object.entries({ ...idHeaders, ...serverTiming, ...retryAfter }).map(([name, { type, description }]) => [
    name,
    { schema: { type }, description },
  ]),
)

/** Replaces each named schema and header in the document by a reference to its component. */
function withReferences<T extends object>(document: T): T {
  const keyOf = createKeys()
  const named = namedSchemas()
  const references = new Map([
    ...Object.entries(named).map(([name, schema]) => [keyOf(schema), `#/components/schemas/${name}`] as const),
    ...Object.entries(namedHeaders).map(([name, header]) => [keyOf(header), `#/components/headers/${name}`] as const),
  ])
  const replace = (value: unknown, isComponent = false): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const $ref = isComponent ? undefined : references.get(keyOf(value))
    if ($ref !== undefined) return { $ref }
    if (Array.isArray(value)) return value.map((element) => replace(element))
    return Object.fromEntries(Object.entries(toOpenApi(value)).map(([key, field]) => [key, replace(field)]))
  }
  const schemas = Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, replace(schema, true)]))
  return {
    ...(replace(document) as T),
    components: { ...(document as { components?: object }).components, schemas, headers: namedHeaders },
  }
}

/** Returns a function that gives equal texts for equal schemas, whatever the order of their fields, and whether or not the plugin has converted them. */
function createKeys(): (value: unknown) => string {
  const keys = new WeakMap<object, string>()
  return function keyOf(value: unknown): string {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
    const stored = keys.get(value)
    if (stored !== undefined) return stored
    const fields = Array.isArray(value) ? value.map(keyOf) : fieldKeys(toOpenApi(value), keyOf)
    const key = Array.isArray(value) ? `[${fields.join()}]` : `{${fields.join()}}`
    keys.set(value, key)
    return key
  }
}

function fieldKeys(value: object, keyOf: (value: unknown) => string): string[] {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return fields.map(([name, field]) => `${JSON.stringify(name)}:${keyOf(field)}`).sort()
}

/**
 * The conversions of `@fastify/swagger`, which it applies to the schemas of routes but not to components: `const`, and records. A discriminator
 * is for Ajv alone: in OpenAPI its schemas would need names.
 */
function toOpenApi(value: object): object {
  const {
    patternProperties,
    const: constant,
    discriminator,
    ...rest
  } = value as Record<'patternProperties' | 'const' | 'discriminator', unknown>
  return {
    ...rest,
    ...(discriminator === undefined || 'oneOf' in rest ? {} : { discriminator }),
    ...(typeof patternProperties === 'object' && patternProperties !== null
      ? { additionalProperties: Object.values(patternProperties)[0] as unknown }
      : {}),
    // An object is a property of the name `const`.
    ...(constant === undefined ? {} : typeof constant === 'object' ? { const: constant } : { enum: [constant] }),
  }
}

interface DocsOptions {
  version: string
}

const securitySchemes = {
  key: {
    type: 'apiKey',
    in: 'header',
    name: 'x-service-access',
    description: 'An access key, such as the one in `.agent-core/admin.key`.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The same key as a bearer token, or a token of the identity provider.',
  },
} as const

/** The schemas of the replies of a route. Fastify would compile a serializer for each, which takes a megabyte, and no route uses any. */
type Replies = WeakMap<RouteOptions, Record<string, Schema>>

/** Registers the OpenAPI plugin. Only routes that are registered afterwards appear in the document. */
export async function documentRoutes(app: App, { version }: DocsOptions): Promise<void> {
  const replies: Replies = new WeakMap()
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Agent Core', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      components: { securitySchemes },
      security: [{ key: [] }, { bearer: [] }],
    },
    transform: (described) => describeRoute(described as unknown as DescribedRoute, replies) as never,
    transformObject: (document) => ('openapiObject' in document ? withReferences(document.openapiObject) : document.swaggerObject) as never,
  })
  app.addHook('onRoute', (route) => {
    const { response, ...schema } = route.schema ?? {}
    if (response === undefined) return
    replies.set(route, response as Record<string, Schema>)
    route.schema = schema
  })
}

/** Serves the OpenAPI document of all routes. `publicUrl` is its second server, beside the address of the document itself. */
export function openApiRoute(app: App, { publicUrl }: { publicUrl: string | undefined }): void {
  const schema = {
    tags: ['Documentation'],
    summary: 'Get this OpenAPI document',
    text: 'OpenAPI 3.1, for generators of clients. Every example of the document works on the sample agent. It needs no key.',
    response: { 200: Type.Record(Type.String(), Type.Unknown()) },
  }
  let text: string | undefined
  const createText = async () => JSON.stringify((await import('./texts.ts')).addTexts(app.swagger(), publicUrl))
  app.get('/openapi.json', { config: { access: 'public' }, schema }, async (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .serializer(String)
      .send((text ??= await createText())),
  )
}
