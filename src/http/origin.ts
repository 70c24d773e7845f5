import type { FastifyInstance, FastifyRequest } from 'fastify'

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

type OriginRequest = Pick<FastifyRequest, 'headers' | 'protocol' | 'host'> & { server: Pick<FastifyInstance, 'configuredOrigin'> }
