import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError, statusOf, toErrorBody, type ErrorBody, type ErrorCode } from '../errors.ts'
import { isOpenAi, mayRetryRun, openAiStatus, toOpenAiError } from './openai/errors.ts'
import { toRpcRefusal } from './rpc-errors.ts'
import { toFaults } from './validation.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How a 422 looks: as a list under `detail`, or in the shape of every other error. */
    validationShape?: 'detail' | 'error'
  }
}

/** What Fastify itself refuses, in our words. */
const refusals: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['input_too_large', 'The request is larger than this service takes.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'The content type must be application/json.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['validation', 'The body is not valid JSON.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['validation', 'The body is empty.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['validation', 'The body is not as long as content-length says.'],
}

/** The one place where a failure becomes an answer. */
export function replyWithErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendError(notFound(request), request, reply))
}

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toServiceError(thrown)
  if (!(error instanceof ServiceError)) request.log.error({ err: error }, 'unexpected failure')
  const code = error instanceof ServiceError ? error.code : 'internal'
  setConnectionHeader(request, reply, code)
  if (error instanceof ServiceError && error.retryAfter !== undefined) void reply.header('retry-after', String(error.retryAfter))
  // RFC 9110, 15.5.2: it says how to come in.
  if (code === 'unauthorized') void reply.header('www-authenticate', 'Bearer')
  if (isOpenAi(request.url)) return sendOpenAiRefusal(reply, error, code)
  const { rpcStatus } = request.routeOptions.config ?? {}
  const refusal = rpcStatus !== undefined && error instanceof ServiceError ? toRpcRefusal(error, rpcStatus) : undefined
  if (refusal) return reply.code(refusal.status).send(refusal.body)
  const asDetail = code === 'validation' && request.routeOptions.config?.validationShape !== 'error'
  const body = asDetail && error instanceof ServiceError ? { detail: error.faults } : toErrorBody(error)
  return reply.code(statusOf(code)).send(body)
}

/**
 * Fastify closes the connection after each refused body, and a client that is still sending loses the answer: the connection stays open. A client
 * that waits for `100 Continue` may send its body or the next request, and nobody can tell which (RFC 9112, 9.3): its connection ends.
 */
function setConnectionHeader(request: FastifyRequest, reply: FastifyReply, code: ErrorCode): void {
  const mayStillSend = request.headers.expect !== undefined && !request.isContinued
  if (mayStillSend) void reply.header('connection', 'close')
  else if (code !== 'request_timeout') void reply.removeHeader('connection')
}

/** These clients ask again after any 409; only one that says when is better later. */
function sendOpenAiRefusal(reply: FastifyReply, error: unknown, code: ErrorCode): FastifyReply {
  if (statusOf(code) === 409 && !reply.hasHeader('retry-after')) void reply.header('x-should-retry', 'false')
  return reply.code(openAiStatus(statusOf(code))).send(toOpenAiError(toErrorBody(error)))
}

/** What a run ended with, where nothing of it was sent yet. */
export function sendFailure(reply: FastifyReply, error: ErrorBody): FastifyReply {
  const { request } = reply
  if (!isOpenAi(request.url)) return reply.code(error.status_code).send(error)
  if (!mayRetryRun(request)) void reply.header('x-should-retry', 'false')
  return reply.code(openAiStatus(error.status_code)).send(toOpenAiError(error))
}

function toServiceError(thrown: unknown): unknown {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return thrown
  const error = thrown as FastifyError
  if (error.validation) return toFaults(error)
  const [code, message] = refusals[error.code] ?? (isJsonRefusal(error) ? (['validation', 'The body is not valid JSON.'] as const) : [])
  if (!code || !message) return thrown
  const faults = code === 'validation' ? [{ loc: ['body'], msg: message, type: 'json_invalid' }] : []
  return new ServiceError(code, message, { faults, cause: thrown })
}

/** `secure-json-parse` refuses a body with `__proto__` by a plain SyntaxError. */
function isJsonRefusal(error: FastifyError): boolean {
  return error instanceof SyntaxError && error.statusCode === 400
}

export function notFound({ method, url }: FastifyRequest): ServiceError {
  return new ServiceError('not_found', `There is no ${method} ${url.split('?', 1)[0]}.`)
}
