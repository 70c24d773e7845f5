import fastify, { LogController, type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { authenticate, requireDeclaredAccess, type CallerUse } from './authenticate.ts'
import type { ConsoleSessions } from '../../access/console/console-sessions.ts'
import type { Denials } from '../../access/denials.ts'
import type { RequestLimits } from '../../access/rate-limits.ts'
import type { Verifier } from '../../access/verify.ts'
import { createDrain, drainBody, refuseBroken, type DrainLimits } from './connection.ts'
import { convertCloudEvent } from './cloud-events.ts'
import { allowOrigins } from './cors.ts'
import { refuseOtherMethod } from './other-methods.ts'
import { readForms } from './forms.ts'
import { prefixStripper, configureAddress } from './origin.ts'
import { errorShapeOf, notFound, replyWithErrors, sendError } from './error-reply.ts'
import { echoSessions, isId } from './request-headers.ts'
import { limitBodies, parseTexts, readBodies, type BodyBudget } from './read-bodies.ts'
import { sendTimings } from './server-timing.ts'
import { defaultKeepAliveMs } from './sse.ts'
import { validateWith } from './validation.ts'

export interface ServerOptions {
  log: Logger
  verifier: Verifier
  limits: RequestLimits
  keyUse: CallerUse
  consoleSessions: Pick<ConsoleSessions, 'find' | 'findCached'>
  /** Counts refused requests. */
  denials: Pick<Denials, 'count' | 'countSignIn'>
  /** Records a finished request: method, route pattern, status, duration in seconds. */
  meter(method: string, route: string, status: number, seconds: number): void
  /** Largest request body in bytes; routes may have lower limits. */
  bodyLimit: number
  /** The memory of request bodies, which all servers of a process share. */
  bodies: BodyBudget
  /** Base address for clients; its path is the prefix of every route. */
  publicUrl: string | undefined
  /** Origins whose pages may read answers; default: none. */
  corsOrigins?: readonly string[]
  /** Milliseconds of silence before a stream sends a comment. Default: 15,000. */
  streamKeepAliveMs?: number | undefined
  /** Answers requests for which the server has no route. Default: they are refused. */
  passOn?: PassOn
  /** A UUIDv7. */
  newId(): string
}

/** Rejects where the request cannot be answered. */
type PassOn = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The path where WebSockets are opened; other offers to upgrade a connection are ignored. */
export const socketPath = '/v1/responses'

/** The HTTP server without its routes: request ids, authentication, body limits, error replies, access log. */
export function createServer({
  log,
  verifier,
  limits,
  keyUse,
  consoleSessions,
  denials,
  meter,
  bodyLimit,
  bodies,
  publicUrl,
  corsOrigins = [],
  streamKeepAliveMs,
  passOn,
  newId,
}: ServerOptions): FastifyInstance {
  // The annotation keeps the type parameters of `fastify()` at their defaults.
  const loggerInstance: FastifyBaseLogger = log
  const drain = createDrain(drainLimits)
  const stripPrefix = prefixStripper(publicUrl)
  const hasPrefix = publicUrl !== undefined
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit,
    // The `request-id` of the caller, or a new one. Validation refuses an invalid id later; the new id then names the error.
    genReqId: ({ headers: { 'request-id': id } }) => (isId(id) ? id : newId()),
    clientErrorHandler: (error, socket) => refuseBroken(error, socket, drain),
    http: {
      headersTimeout: headersMs,
      connectionsCheckingInterval: 1000,
      // Without the check, a request that offers another protocol, such as h2c, would have no answer.
      shouldUpgradeCallback: (request) =>
        request.headers.upgrade?.toLowerCase() === 'websocket' && stripPrefix(request).split('?', 1)[0] === socketPath,
    },
    keepAliveTimeout: keepAliveMs,
    requestTimeout: 0,
    // Each route is a plugin, and would start a timer.
    pluginTimeout: 0,
    rewriteUrl: (request) => (hasPrefix || request.headers['x-forwarded-prefix'] !== undefined ? stripPrefix(request) : request.url!),
    forceCloseConnections: 'idle',
    // The router reports paths that cannot be decoded or exceed `maxParamLength` before any hook runs.
    frameworkErrors: (_error, request, reply) => {
      const refuse = (error: Error) => void sendError(error, request, reply.header('request-id', request.id))
      if (passOn) passRequest(passOn, request, reply, refuse)
      else if (!answerCors(request, reply)) refuse(notFound(request))
    },
    // Without factories, Fastify would load its own compilers, which this service replaces below.
    schemaController: { compilersFactory: { buildValidator: refuseToCompile, buildSerializer: refuseToCompile } },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
  })
  configureAddress(app, publicUrl)
  app.decorate('streamKeepAliveMs', streamKeepAliveMs ?? defaultKeepAliveMs)
  // Response schemas are documentation only: typed code builds the responses.
  app.setSerializerCompiler(() => JSON.stringify)
  limitBodies(app, bodyLimit)
  parseTexts(app, readBodies(app, { budget: bodies }))
  readForms(app)
  app.server.prependListener('request', (request, response) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
    if (length === '0' && coding === undefined) return
    // Before Node closes the socket of the finished response. Answers of Fastify itself pass no hook.
    response.on('prefinish', () => {
      if (!request.complete) drainBody(request, drain)
    })
  })
  validateWith(app)
  replyWithErrors(app, denials)
  requireDeclaredAccess(app)
  if (passOn) app.addHook('onRequest', (request, reply, done) => (request.is404 ? passRequest(passOn, request, reply, done) : done()))
  app.addHook('onRequest', (request, reply, done) => {
    // Browsers run no answer as a script whose type is another.
    void reply.headers({ 'request-id': request.id, 'x-content-type-options': 'nosniff' })
    const { requestIdHeader } = (request.is404 ? errorShapeOf(request) : request.routeOptions.config.errorShape) ?? {}
    if (requestIdHeader !== undefined) void reply.header(requestIdHeader, request.id)
    done()
  })
  const answerCors = allowOrigins(app, corsOrigins)
  // Before `echoSessions`, which reads the session id from a structured event.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.routeOptions.config?.takesEvents) convertCloudEvent(app, request, done)
    else done()
  })
  echoSessions(app, newId)
  // An unknown path is 404 before authentication, and its body is not read.
  app.addHook('onRequest', (request, reply, done) =>
    done(request.is404 ? (refuseOtherMethod(request, reply) ?? notFound(request)) : undefined),
  )
  sendTimings(app)
  authenticate(app, { verifier, limits, keyUse, consoleSessions })
  // A request that is passed on is logged where it is answered.
  logRequests(app, passOn ? ({ is404 }) => !is404 : () => true, meter)
  return app
}

/** Hands over a request as it came. `fail` is called where that is not possible. */
function passRequest(passOn: PassOn, { raw, originalUrl }: FastifyRequest, reply: FastifyReply, fail: (error: Error) => void): void {
  raw.url = originalUrl
  passOn(raw, reply.raw).catch(fail)
}

function refuseToCompile(): never {
  throw new Error('The server has compilers of its own.')
}

/** A client that sends 1 MB/s can finish a body of 60 MB after an early answer. */
const drainLimits: DrainLimits = { bytes: 128 * 1024 * 1024, silentMs: 5000, totalMs: 60_000, connections: 1000 }

/** Milliseconds in which the headers of a request arrive, from the connection or the first byte on. With `silentMs`, silent sockets are gone after 30 s. */
const headersMs = 24_000

/** Longer than the idle timeout of common load balancers (60 s), so that the load balancer closes idle connections first. */
const keepAliveMs = 72_000

/** Logs one line per request with ids and never content, and meters the request. */
function logRequests(app: FastifyInstance, isOwn: (request: FastifyRequest) => boolean, meter: ServerOptions['meter']): void {
  app.addHook('onResponse', (request, reply, done) => {
    if (!isOwn(request)) return done()
    const { method, routeOptions, principal } = request
    const ms = Math.round(reply.elapsedTime)
    meter(method, routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime / 1000)
    const caller = principal && { tenant: principal.tenant, sub: principal.sub }
    request.log.info({ method, route: routeOptions.url ?? null, status: reply.statusCode, ms, ...caller }, 'request')
    done()
  })
}
