import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isPathPrefix } from '../../settings/values.ts'

/**
 * The origin at which browsers reach the service, such as `https://example.org`: that of `PUBLIC_URL`, otherwise the address of the request
 * itself, with the scheme of `x-forwarded-proto` behind a proxy. And the path prefix, such as `/agents` behind a proxy that serves
 * `https://example.org/agents/`: the path of `PUBLIC_URL`; without one, the header `x-forwarded-prefix` of the request, if it is a plain path.
 */

declare module 'fastify' {
  interface FastifyInstance {
    /** Origin of `PUBLIC_URL`; undefined without `PUBLIC_URL`. */
    configuredOrigin: string | undefined
    /** Path of `PUBLIC_URL`, without a slash at the end; `''` without `PUBLIC_URL`, and at the root of its host. */
    configuredPrefix: string
  }
}

/** Declares the configured origin and prefix, which `originOf` and `prefixOf` read. */
export function configureAddress(app: FastifyInstance, publicUrl: string | undefined): void {
  app.decorate('configuredOrigin', publicUrl === undefined ? undefined : new URL(publicUrl).origin)
  app.decorate('configuredPrefix', toPrefix(publicUrl))
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

/** The prefix of a request: `''` or segments like `/agents/core`, without a slash at the end. Safe in a cookie, a redirect and an HTML attribute. */
export function prefixOf({
  server,
  headers,
}: Pick<FastifyRequest, 'headers'> & { server: Pick<FastifyInstance, 'configuredPrefix'> }): string {
  return server.configuredPrefix || forwardedPrefix(headers)
}

/**
 * Returns a function for Fastify's `rewriteUrl`: removes the prefix of a proxy that forwards paths with the prefix. Paths without the
 * prefix stay unchanged.
 */
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
