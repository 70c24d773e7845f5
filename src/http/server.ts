import { randomUUIDv7 } from 'node:crypto'
import fastify, { LogController, type FastifyBaseLogger, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ServiceError } from '../errors.ts'
import { authenticate, requireDeclaredAccess } from './authenticate.ts'
import type { RequestLimits } from '../access/rate-limits.ts'
import type { Verifier } from '../access/verify.ts'
import { limitBodies } from './body-limits.ts'
import { refuseBroken } from './broken-requests.ts'
import { batchType, eventType, isCloudEvent, acceptCloudEvents } from './cloud-events.ts'
import { drain, drainEarlyAnswers, type DrainLimits } from './early-answers.ts'
import { notFound, replyWithErrors, sendError } from './error-reply.ts'
import { isId } from './ids.ts'
import { isOpenAi } from './openai/errors.ts'
import { readBodies, type ReadText } from './read-bodies.ts'
import { echoSessions } from './session-header.ts'
import { defaultKeepAliveMs } from './sse.ts'
import { validateWith } from './validation.ts'

export interface ServerOptions {
  log: Logger
  verifier: Verifier
  limits: RequestLimits
  /** Takes what each request cost: its route's pattern, and seconds. */
  meter(method: string, route: string, status: number, seconds: number): void
  /** Bytes of a request's body. */
  bodyLimit: number
  /** Default: 15 s. */
  streamKeepAliveMs?: number | undefined
}

/** The HTTP server without its routes: ids, keys, limits, errors. */
export function createServer({ log, verifier, limits, meter, bodyLimit, streamKeepAliveMs }: ServerOptions): FastifyInstance {
  // Named by the type that Fastify's own signatures have.
  const loggerInstance: FastifyBaseLogger = log
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit,
    genReqId: ({ headers }) => requestIdOf(headers['request-id']),
    clientErrorHandler: refuseBroken,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: 0,
    forceCloseConnections: 'idle',
    // A path that can't be decoded, or is too long for any of ours: found before there is a route, or a hook.
    frameworkErrors: (_error, request, reply) => {
      reply.raw.once('finish', () => drain(request.raw, drained))
      void sendError(notFound(request), request, reply.header('request-id', request.id))
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
  })
  app.decorate('streamKeepAliveMs', streamKeepAliveMs ?? defaultKeepAliveMs)
  // JSON is all that is spoken here; Fastify would take plain text too.
  app.removeContentTypeParser('text/plain')
  // Responses are made by typed code; their schemas are documentation.
  app.setSerializerCompiler(() => JSON.stringify)
  limitBodies(app, bodyLimit)
  takeJson(app, readBodies(app, { bodyLimit }))
  drainEarlyAnswers(app, drained)
  validateWith(app)
  replyWithErrors(app)
  requireDeclaredAccess(app)
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('request-id', request.id)
    // Where OpenAI's clients look for it.
    if (isOpenAi(request.url)) void reply.header('x-request-id', request.id)
    done()
  })
  acceptCloudEvents(app)
  echoSessions(app)
  // A path that is not there is not there whatever the request holds: it is not read.
  app.addHook('onRequest', (request, _reply, done) => done(request.is404 ? notFound(request) : undefined))
  authenticate(app, verifier, limits)
  logRequests(app, meter)
  return app
}

/** A request without a body may all the same say that it is JSON; where one is needed, its schema says so. */
function takeJson(app: FastifyInstance, readText: ReadText): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser(['application/json', eventType, batchType], (request, _payload, done) => {
    const refusal = refuseCoding(request)
    if (refusal) return done(refusal)
    readText(request, (error, text) => {
      if (error) done(error)
      else if (text === '') done(null, undefined)
      else void parse(request, text, done)
    })
  })
}

function refuseCoding(request: FastifyRequest): ServiceError | undefined {
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity') return new ServiceError('unsupported_media_type', `The content coding ${coding} is not taken.`)
  if (isCloudEvent(request) && !request.routeOptions.config.takesEvents)
    return new ServiceError('unsupported_media_type', 'The content type must be application/json.')
  return undefined
}

/** A whole body of the largest size on a line of 1 MB/s reaches its end. */
const drained: DrainLimits = { bytes: 128 * 1024 * 1024, silentMs: 5000, totalMs: 60_000 }

/** Longer than that of usual load balancers, so that it is they who close an idle connection. */
const keepAliveMs = 72_000

/** An id that does not fit is refused when the request is validated; until then it has one of ours, for its errors. */
function requestIdOf(id: string | string[] | undefined): string {
  return isId(id) ? id : randomUUIDv7()
}

/** One line per request: ids, never content. */
function logRequests(app: FastifyInstance, meter: ServerOptions['meter']): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, principal } = request
    const ms = Math.round(reply.elapsedTime)
    meter(method, routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime / 1000)
    const who = principal && { tenant: principal.tenant, sub: principal.sub }
    request.log.info({ method, route: routeOptions.url ?? null, status: reply.statusCode, ms, ...who }, 'request')
  })
}
