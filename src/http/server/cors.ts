import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * Requests of browser pages on other origins (Fetch standard, "CORS protocol"). Keys travel in headers and no answer allows credentials, so a page
 * can only use keys that it has itself. Without `CORS_ORIGINS` no answer has a header of CORS.
 */

declare module 'fastify' {
  interface FastifyInstance {
    /** `CORS_ORIGINS`: the origins whose pages may read answers of this service. */
    corsOrigins: ReadonlySet<string>
  }
}

/** Response headers that scripts of an allowed origin may read, beside the safelisted ones. */
const exposedHeaders = [
  'session-id',
  'request-id',
  'x-request-id',
  'x-should-retry',
  'x-budget-remaining',
  'etag',
  'retry-after',
  'content-disposition',
  'mcp-session-id',
  'www-authenticate',
  'content-location',
  'location',
].join(', ')

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/** Seconds for which browsers keep the answer to a preflight; Chromium keeps none for longer. */
const maxAge = '7200'

/** Adds the headers of CORS to a reply; true for a preflight, which is answered with that. */
export type AnswerCors = (request: FastifyRequest, reply: FastifyReply) => boolean

/** Adds the headers of CORS to every reply, errors and streams included, and answers preflights before the route is known. */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): AnswerCors {
  const allowed: ReadonlySet<string> = new Set(origins)
  app.decorate('corsOrigins', allowed)
  if (allowed.size === 0) return () => false

  const answer: AnswerCors = (request, reply) => {
    const { origin } = request.headers
    // A shared cache must not hand the answer for one origin to another.
    void reply.header('vary', 'origin')
    if (origin === undefined || !allowed.has(origin)) return false
    void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders })
    if (!isPreflight(request)) return false
    void reply.code(204).headers(preflightHeaders(request)).send()
    return true
  }

  app.addHook('onRequest', (request, reply, done) => {
    if (!answer(request, reply)) done()
  })
  // A route may have replaced the header. Streams write their headers without this hook, and replace none.
  app.addHook('onSend', (_request, reply, payload, done) => {
    const vary = String(reply.getHeader('vary') ?? '')
    if (!/\borigin\b/i.test(vary)) void reply.header('vary', vary === '' ? 'origin' : `${vary}, origin`)
    done(null, payload)
  })
  return answer
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** Every header is allowed: `stix*` headers have no fixed names, and clients add headers of their own, such as those of tracing. */
function preflightHeaders({ headers }: FastifyRequest): Record<string, string> {
  const requested = headers['access-control-request-headers']
  return {
    'access-control-allow-methods': allowedMethods,
    ...(typeof requested === 'string' && { 'access-control-allow-headers': requested }),
    'access-control-max-age': maxAge,
    vary: 'origin, access-control-request-headers',
  }
}
