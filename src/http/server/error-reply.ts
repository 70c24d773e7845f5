import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { Denials } from '../../access/denials.ts'
import { PermissionError } from '../../access/permissions.ts'
import { isOfBudget, retryAfterOf, ServiceError, toErrorBody, type ErrorBody, type ErrorCode } from '../../errors.ts'
import { keepOutOfCaches } from './origin.ts'
import { toFaults } from './validation.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Shape of a 422: `detail` (default) is a list of faults under `detail`, `error` is the shape of every other error. */
    validationShape?: 'detail' | 'error'
    /** Shape of every error of the route; default: the shape of this service. */
    errorShape?: ErrorShape
    /** The header `www-authenticate` of a refusal; undefined for none. Default: `Bearer` for a 401. */
    challengeOf?: (error: ServiceError, request: FastifyRequest) => string | undefined
  }
  interface FastifyInstance {
    /** The shapes that routes declare. */
    errorShapes: ReadonlySet<ErrorShape>
    /** Counts refused requests. */
    denials: Pick<Denials, 'count' | 'countSignIn'>
  }
}

/** The errors of a protocol. Each door declares the shape at its routes. */
export interface ErrorShape {
  /** Unknown paths with this prefix have the shape too, such as `/v1`. */
  prefix?: string
  /** A header of every reply that repeats the request id. */
  requestIdHeader?: string
  /** Replies in the OpenAPI document to a body that is not taken, by status; empty where the routes state their own. */
  bodyErrors: Record<number, TSchema>
  /** Sends the refusal of a request. `thrown` is the cause of `error`. Undefined: the error has the shape of this service. */
  refuse(reply: FastifyReply, error: ErrorBody, thrown: unknown): FastifyReply | undefined
  /** Sends the failure of a run. Absent: failures have the shape of this service. */
  fail?(reply: FastifyReply, error: ErrorBody): FastifyReply
}

/** Refusals by Fastify itself, as codes and messages of this service. */
const fastifyRefusals: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['input_too_large', 'The request is larger than this service accepts.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'The content type must be application/json.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['validation', 'The body is not valid JSON.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['validation', 'The body is empty.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['validation', 'The length of the body differs from content-length.'],
}

/** Registers the only code that turns a failure into a response. */
export function replyWithErrors(app: FastifyInstance, denials: FastifyInstance['denials']): void {
  app.decorate('denials', denials)
  const shapes = new Set<ErrorShape>()
  app.decorate('errorShapes', shapes)
  app.addHook('onRoute', ({ config }) => {
    if (config?.errorShape) shapes.add(config.errorShape)
  })
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendError(notFound(request), request, reply))
}

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toServiceError(thrown)
  if (!(error instanceof ServiceError)) request.log.error({ err: error }, 'unexpected failure')
  const code = error instanceof ServiceError ? error.code : 'internal'
  countDenial(request, error)
  setConnectionHeader(request, reply, code)
  if (error instanceof ServiceError && error.retryAfter !== undefined) void reply.header('retry-after', String(error.retryAfter))
  if (code === 'budget_exceeded') void reply.header('x-should-retry', 'false')
  const challenge = error instanceof ServiceError ? challengeOf(error, request) : undefined
  if (challenge !== undefined) {
    void reply.header('www-authenticate', challenge)
    // The challenge of such a route names the origin of the request.
    if (request.routeOptions.config?.challengeOf) keepOutOfCaches(request, reply)
  }
  const body = toErrorBody(error)
  const sent = errorShapeOf(request)?.refuse(reply, body, error)
  if (sent) return sent
  const asDetail = code === 'validation' && request.routeOptions.config?.validationShape !== 'error'
  return reply.code(body.status_code).send(asDetail && error instanceof ServiceError ? { detail: error.faults } : body)
}

/** Errors that were counted: a door may map an error, and send the error. */
const counted = new WeakSet<ServiceError>()

/** Counts an error that refuses a caller for lack of rights, once. */
export function countDenial({ principal, method, routeOptions, server }: FastifyRequest, error: unknown): void {
  if (!principal || !(error instanceof ServiceError) || error.code !== 'forbidden' || counted.has(error)) return
  counted.add(error)
  const route = `${method} ${routeOptions.url ?? ''}`
  server.denials.count(principal, { route, ...(error instanceof PermissionError && { access: error.access }) })
}

/** RFC 9110, 15.5.2: a 401 names the authentication scheme. */
function challengeOf(error: ServiceError, request: FastifyRequest): string | undefined {
  const { challengeOf } = request.routeOptions.config ?? {}
  return challengeOf?.(error, request) ?? (error.code === 'unauthorized' ? 'Bearer' : undefined)
}

/**
 * Sets the `connection` header of an error. Fastify closes the connection after each refused body; a client that is still sending would lose the
 * answer, so the connection stays open unless the client closes it. The exception is a client that waits for `100 Continue`: its next bytes may be the body or another
 * request (RFC 9112, 9.3), so the connection closes.
 */
function setConnectionHeader(request: FastifyRequest, reply: FastifyReply, code: ErrorCode): void {
  const mayStillSend = request.headers.expect !== undefined && !request.isContinued
  if (mayStillSend) void reply.header('connection', 'close')
  else if (code !== 'request_timeout' && reply.raw.shouldKeepAlive && reply.hasHeader('connection')) void reply.removeHeader('connection')
}

/** The error shape of the route. Every route declares `access`; without a route, an unknown path has the shape of the routes beside it. */
export function errorShapeOf({ routeOptions: { config }, server, url }: FastifyRequest): ErrorShape | undefined {
  if (config?.access !== undefined) return config.errorShape
  return server.errorShapes.values().find(({ prefix = '' }) => prefix !== '' && isBelow(url, prefix))
}

function isBelow(url: string, prefix: string): boolean {
  return url.startsWith(prefix) && ['/', '?', undefined].includes(url[prefix.length])
}

/** Sends the error of a run as an HTTP error. Nothing of the run may have been sent before. */
export function sendFailure(reply: FastifyReply, error: ErrorBody): FastifyReply {
  const retryAfter = retryAfterOf(error)
  if (retryAfter !== undefined) void reply.header('retry-after', String(retryAfter))
  if (isOfBudget(error)) void reply.header('x-should-retry', 'false')
  return errorShapeOf(reply.request)?.fail?.(reply, error) ?? reply.code(error.status_code).send(error)
}

function toServiceError(thrown: unknown): unknown {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return thrown
  const error = thrown as FastifyError
  if (error.validation) return toFaults(error)
  const [code, message] =
    fastifyRefusals[error.code] ?? (isJsonSyntaxError(error) ? (['validation', 'The body is not valid JSON.'] as const) : [])
  if (!code || !message) return thrown
  const faults = code === 'validation' ? [{ loc: ['body'], msg: message, type: 'json_invalid' }] : []
  return new ServiceError(code, message, { faults, cause: thrown })
}

/** `secure-json-parse` throws a plain SyntaxError for a body with `__proto__`. */
function isJsonSyntaxError(error: FastifyError): boolean {
  return error instanceof SyntaxError && error.statusCode === 400
}

export function notFound({ method, url }: FastifyRequest): ServiceError {
  return new ServiceError('not_found', `There is no ${method} ${url.split('?', 1)[0]}.`)
}
