import { randomUUIDv7 } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isId } from './ids.ts'
import { fieldsOf } from '../json/is-object.ts'

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

/** Sets the `session-id` header of each reply before any hook can refuse the request. A route with a session gets a new id when absent. */
export function echoSessions(app: FastifyInstance): void {
  app.decorateRequest('sessionId', '')
  app.addHook('onRequest', (request, reply, done) => {
    const headerId = request.headers['session-id']
    if (isId(headerId)) setSessionId(request, reply, headerId)
    else if (request.routeOptions.config?.hasSession) setSessionId(request, reply, randomUUIDv7())
    done()
  })
  app.addHook('preValidation', (request, reply, done) => {
    const { hasSession, takesEvents } = request.routeOptions.config ?? {}
    if (hasSession === 'body' && request.headers['session-id'] === undefined) {
      // The body is not validated yet. The `data` of a CloudEvent is the chat body.
      const body = takesEvents ? fieldsOf(request.body)['data'] : request.body
      const bodyId = fieldsOf(body)['session_id']
      if (isId(bodyId)) setSessionId(request, reply, bodyId)
    }
    done()
  })
}

/** Sets the session of a request, and the `session-id` header of its reply. */
export function setSessionId(request: FastifyRequest, reply: FastifyReply, sessionId: string): void {
  request.sessionId = sessionId
  void reply.header('session-id', sessionId)
}
