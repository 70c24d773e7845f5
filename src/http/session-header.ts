import { randomUUIDv7 } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isId } from './ids.ts'
import { fieldsOf } from '../json/is-object.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the route speaks of a session: every reply of it has `session-id`, refusals included. `body`: the body may name it too, as
     * `session_id`, where the header does not.
     */
    hasSession?: true | 'body'
  }
  interface FastifyRequest {
    /** What the header names, or a new one; what a body names or a repeated request had may come in its place. */
    sessionId: string
  }
}

/** Echoes the `session-id` of a request before anything can be refused; where the route speaks of a session it makes one. */
export function echoSessions(app: FastifyInstance): void {
  app.decorateRequest('sessionId', '')
  app.addHook('onRequest', (request, reply, done) => {
    const named = request.headers['session-id']
    if (isId(named)) setSessionId(request, reply, named)
    else if (request.routeOptions.config?.hasSession) setSessionId(request, reply, randomUUIDv7())
    done()
  })
  app.addHook('preValidation', (request, reply, done) => {
    const { hasSession, takesEvents } = request.routeOptions.config ?? {}
    if (hasSession === 'body' && request.headers['session-id'] === undefined) {
      // Nothing is validated yet. An event has as its `data` what is the body elsewhere.
      const body = takesEvents ? fieldsOf(request.body)['data'] : request.body
      const named = fieldsOf(body)['session_id']
      if (isId(named)) setSessionId(request, reply, named)
    }
    done()
  })
}

export function setSessionId(request: FastifyRequest, reply: FastifyReply, sessionId: string): void {
  request.sessionId = sessionId
  void reply.header('session-id', sessionId)
}
