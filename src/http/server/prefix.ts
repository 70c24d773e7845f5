import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isPathPrefix } from '../../settings/values.ts'

/**
 * The path prefix under which browsers and clients reach the service, such as `/agents` behind a proxy that serves `https://example.org/agents/`.
 * The path of `PUBLIC_URL` decides; without one, the header `x-forwarded-prefix` of the request does. A header that is not a plain path is ignored.
 */

declare module 'fastify' {
  interface FastifyInstance {
    /** Path of `PUBLIC_URL`, without a slash at the end; `''` without `PUBLIC_URL`, and at the root of its host. */
    configuredPrefix: string
  }
}

/** Declares the configured prefix. `prefixOf` reads it. */
export function configurePrefix(app: FastifyInstance, publicUrl: string | undefined): void {
  app.decorate('configuredPrefix', toPrefix(publicUrl))
}

/** The prefix of a request: `''` or segments like `/agents/core`, without a slash at the end. Safe in a cookie, a redirect and an HTML attribute. */
export function prefixOf({
  server,
  headers,
}: Pick<FastifyRequest, 'headers'> & { server: Pick<FastifyInstance, 'configuredPrefix'> }): string {
  return server.configuredPrefix || forwardedPrefix(headers)
}

/** Returns a function for Fastify's `rewriteUrl`: removes the prefix of a proxy that forwards paths with it. Other paths stay as they are. */
export function prefixStripper(publicUrl: string | undefined): (request: IncomingMessage) => string {
  const configured = toPrefix(publicUrl)
  return ({ url = '/', headers }) => {
    const prefix = configured || forwardedPrefix(headers)
    if (prefix === '' || !url.startsWith(prefix)) return url
    const rest = url.slice(prefix.length)
    if (rest.startsWith('/')) return rest
    return rest === '' || rest.startsWith('?') ? `/${rest}` : url
  }
}

function toPrefix(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
}

function forwardedPrefix({ 'x-forwarded-prefix': prefix }: IncomingHttpHeaders): string {
  return typeof prefix === 'string' && isPathPrefix(prefix) ? prefix : ''
}
