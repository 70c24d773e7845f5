import { hash, timingSafeEqual } from 'node:crypto'
import { parseCookie, stringifySetCookie, type SetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { originOf, prefixOf } from './origin.ts'
import type { ConsoleSession } from '../../access/console/console-sessions.ts'
import { ServiceError } from '../../errors.ts'

/** Browsers keep no cookie longer. Later sessions get a new cookie at the next sign-in. */
const maxAgeSeconds = 400 * 86_400

/**
 * Name and scope of the console's cookie. Browsers accept the names with `__Host-` and `__Secure-` only from this host over https, so that no
 * sibling host can plant one. Cookies do not part ports, hence the hash in the name over http.
 */
export function cookieScope(request: FastifyRequest): Required<Pick<SetCookie, 'name' | 'path' | 'secure'>> {
  const [origin, prefix] = [originOf(request), prefixOf(request)]
  const path = `${prefix}/`
  if (origin.startsWith('https:')) return { name: prefix === '' ? '__Host-agent_core' : '__Secure-agent_core', path, secure: true }
  return { name: `agent_core_${hash('sha256', origin + prefix, 'hex').slice(0, 8)}`, path, secure: false }
}

/** The value of the console's cookie; undefined without one. */
export function cookieOf(request: FastifyRequest): string | undefined {
  const { cookie } = request.headers
  return cookie === undefined ? undefined : parseCookie(cookie)[cookieScope(request).name]
}

export function setCookie(request: FastifyRequest, reply: FastifyReply, value: string, lifeMs: number): void {
  const maxAge = Math.min(Math.floor(lifeMs / 1000), maxAgeSeconds)
  void reply.header('set-cookie', stringifySetCookie({ ...cookieScope(request), ...guarded, value, maxAge }))
}

export function clearCookie(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header('set-cookie', stringifySetCookie({ ...cookieScope(request), ...guarded, value: '', maxAge: 0 }))
}

/** Scripts cannot read the cookie, and requests from other sites do not carry it. */
const guarded = { httpOnly: true, sameSite: 'strict' } as const

/** Routes where the console's cookie counts. Other protocols take keys only. */
export function acceptsCookie({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.startsWith('/core/v1/') ?? false
}

/** True for a request with a key, valid or not: its cookie is ignored. */
export function hasKeyHeader({ headers }: FastifyRequest): boolean {
  return ['x-service-access', 'authorization', 'x-api-key'].some((name) => headers[name] !== undefined)
}

/** A read changes nothing: it needs no token, and does not count against the rate limit of the session. */
export function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * The refusal of a request with the console's cookie that does not come from the console's own page. Browsers state the site in
 * `sec-fetch-site`, which no script can change. Over plain http they do not: then `origin` decides, and for reads, which have none, `referer`.
 */
export function refuseForeignPage(request: FastifyRequest): ServiceError | undefined {
  const { 'sec-fetch-site': site, origin, referer } = request.headers
  if (site !== undefined)
    return site === 'same-origin' ? undefined : foreign(`sec-fetch-site is ${JSON.stringify(site)}, not "same-origin"`)
  const own = originOf(request)
  if (origin !== undefined) return origin === own ? undefined : foreign(`origin is ${JSON.stringify(origin)}, not ${JSON.stringify(own)}`)
  if (referer !== undefined && isRead(request) && URL.parse(referer)?.origin === own) return undefined
  return foreign('the request has neither sec-fetch-site nor origin')
}

/** The refusal of a sign-in from a page of another origin. A program without a browser sends neither header, and is no page. */
export function refuseForeignSignIn(request: FastifyRequest): ServiceError | undefined {
  const { 'sec-fetch-site': site, origin } = request.headers
  return site === undefined && origin === undefined ? undefined : refuseForeignPage(request)
}

/** The refusal of a change without the session's token. */
export function refuseWithoutToken(request: FastifyRequest, { csrfToken }: ConsoleSession): ServiceError | undefined {
  if (isRead(request)) return undefined
  const token = request.headers['x-csrf-token']
  if (typeof token === 'string' && isEqual(token, csrfToken)) return undefined
  const fault = token === undefined ? 'is missing' : 'is wrong'
  return new ServiceError('forbidden', `The header x-csrf-token ${fault}: send the csrf_token of GET /core/v1/me.`)
}

function foreign(reason: string): ServiceError {
  return new ServiceError('forbidden', `The console takes requests of its own page only: ${reason}.`)
}

/** Compares in constant time for texts of equal length. The length is no secret. */
function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
