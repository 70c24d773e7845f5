import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * The origin at which browsers reach the service, such as `https://example.org`: that of `PUBLIC_URL`, otherwise the address of the request
 * itself, with the scheme of `x-forwarded-proto` behind a proxy.
 */

declare module 'fastify' {
  interface FastifyInstance {
    /** Origin of `PUBLIC_URL`; undefined without `PUBLIC_URL`. */
    configuredOrigin: string | undefined
  }
}

/** Declares the configured origin. `originOf` reads it. */
export function configureOrigin(app: FastifyInstance, publicUrl: string | undefined): void {
  app.decorate('configuredOrigin', publicUrl === undefined ? undefined : new URL(publicUrl).origin)
}

/** The origin of a request, in the form of the header `origin`; empty when the request names no valid host. */
export function originOf({ server, headers, protocol, host }: OriginRequest): string {
  if (server.configuredOrigin !== undefined) return server.configuredOrigin
  const forwarded = headers['x-forwarded-proto']
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : protocol
  return URL.parse(`${scheme}://${host}`)?.origin ?? ''
}

/**
 * Keeps an answer that contains the origin of its request from other requesters. Without `PUBLIC_URL` the requester chooses the origin by
 * headers, so a shared cache could hand on an answer with an origin of an attacker.
 */
export function keepOutOfCaches({ server }: Pick<FastifyRequest, 'server'>, reply: FastifyReply): void {
  if (server.configuredOrigin !== undefined) return
  void reply.headers({ 'cache-control': 'no-store', vary: 'host, x-forwarded-host, x-forwarded-proto, x-forwarded-prefix' })
}

type OriginRequest = Pick<FastifyRequest, 'headers' | 'protocol' | 'host'> & { server: Pick<FastifyInstance, 'configuredOrigin'> }
