import { randomUUIDv7 } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isId } from './ids.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route speaks of a session: every reply of it has `session-id`, refusals included. */
    hasSession?: boolean
  }
  interface FastifyRequest {
    /** What the header names, or a new one; what a body names or a repeated request had may come in its place. */
    sessionId: string
  }
}

/** Echoes the `session-id` of a request, or makes one, before anything can be refused. */
export function echoSessions(app: FastifyInstance): void {
  app.decorateRequest('sessionId', '')
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config?.hasSession) {
      const named = request.headers['session-id']
      tellSession(request, reply, isId(named) ? named : randomUUIDv7())
    }
    done()
  })
}

export function tellSession(request: FastifyRequest, reply: FastifyReply, sessionId: string): void {
  request.sessionId = sessionId
  void reply.header('session-id', sessionId)
}
