import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the route belongs to a session: every reply, errors included, has the header `session-id`. `body`: without the header, the body may
     * name the session as `session_id`.
     */
    hasSession?: true | 'body'
  }
  interface FastifyRequest {
    /** The id of the header, else of the body, else a new id. For a repeated request, the session of the first request. */
    sessionId: string
  }
}

/** Form of session ids and request ids that callers choose. */
export const idPattern = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$'

const idExpression = new RegExp(idPattern)

export function isId(id: unknown): id is string {
  return typeof id === 'string' && idExpression.test(id)
}

/** Sets the `session-id` header of each reply before any hook can refuse the request. A route with a session gets a new id when absent. */
export function echoSessions(app: FastifyInstance, newId: () => string): void {
  app.decorateRequest('sessionId', '')
  app.addHook('onRequest', (request, reply, done) => {
    const headerId = request.headers['session-id']
    if (isId(headerId)) setSessionId(request, reply, headerId)
    else if (request.routeOptions.config?.hasSession) setSessionId(request, reply, newId())
    done()
  })
  app.addHook('preValidation', (request, reply, done) => {
    const { hasSession, takesEvents } = request.routeOptions.config ?? {}
    if (hasSession === 'body' && request.headers['session-id'] === undefined) {
      // The body is not validated yet. The `data` of a CloudEvent is the chat body.
      const body = (takesEvents ? (request.body as { data?: unknown } | null)?.data : request.body) as { session_id?: unknown } | null
      if (isId(body?.session_id)) setSessionId(request, reply, body.session_id)
    }
    done()
  })
}

/** Names the request, and so its run, by an id of the body. The header `request-id` wins. */
export function setRequestId(request: FastifyRequest, reply: FastifyReply, requestId: unknown): void {
  if (isId(request.headers['request-id']) || !isId(requestId)) return
  request.id = requestId
  void reply.header('request-id', requestId)
}

/** Sets the session of a request, and the `session-id` header of its reply. */
export function setSessionId(request: FastifyRequest, reply: FastifyReply, sessionId: string): void {
  request.sessionId = sessionId
  void reply.header('session-id', sessionId)
}

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/
const maxTraceparentCharacters = 256

/** The caller's `traceparent` (W3C Trace Context). An invalid header is ignored, as the standard requires. */
export function traceparentOf({ headers: { traceparent } }: Pick<FastifyRequest, 'headers'>): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > maxTraceparentCharacters) return undefined
  const [, version, traceId, spanId, extension] = traceparentPattern.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && extension !== undefined)) return undefined
  return /[^0]/.test(traceId!) && /[^0]/.test(spanId!) ? traceparent : undefined
}

/** Headers with a name that starts with `stix`: context for tools. */
export function contextHeaders({ headers }: FastifyRequest): Record<string, string> {
  const context: Record<string, string> = {}
  for (const name in headers) {
    if (name.startsWith('stix')) context[name] = String(headers[name])
  }
  return context
}

/** Parses `if-match` (RFC 9110, 13.1.1). A version without quotes is accepted too. */
export function toExpectation(header: string | undefined): (version: string) => boolean {
  if (header === undefined) return () => true
  const tags = header.split(',').map((tag) => tag.trim())
  return (version) => tags.some((tag) => tag === '*' || tag === `"${version}"` || tag === version)
}
