import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { ConsoleSession } from '../../access/console/console-sessions.ts'
import { ServiceError } from '../../errors.ts'
import { originOf } from '../server/origin.ts'

/** Routes where the console's cookie counts. Other protocols take keys only. */
export function acceptsCookie({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.startsWith('/core/v1/') ?? false
}

/** True for a request with a key, valid or not: its cookie is ignored. */
export function hasKeyHeader({ headers }: FastifyRequest): boolean {
  return headers['x-service-access'] !== undefined || headers.authorization !== undefined
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
