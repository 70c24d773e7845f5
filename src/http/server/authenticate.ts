import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { ConsoleSession, ConsoleSessions } from '../../access/console/console-sessions.ts'
import { PermissionError, permits, type Permission, ownIssuer, type Principal } from '../../access/permissions.ts'
import type { KeyUse } from '../../access/keys/issued-keys.ts'
import type { RequestLimits } from '../../access/rate-limits.ts'
import type { Verifier } from '../../access/verify.ts'
import { ServiceError } from '../../errors.ts'
import { acceptsCookie, cookieOf, hasKeyHeader, isRead, refuseForeignPage, refuseWithoutToken } from './console-cookie.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The permission that a key needs, a list of which one is enough, `any_key` for every valid key, or `public`. Every route declares its
     * access.
     */
    access?: Permission | readonly Permission[] | 'any_key' | 'public'
  }
  interface FastifyRequest {
    principal: Principal | undefined
    /** Present when the request was authenticated by the console's cookie. */
    consoleSession: ConsoleSession | undefined
  }
}

/** Fails the start of the service when a route does not declare its access. */
export function requireDeclaredAccess(app: FastifyInstance): void {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  app.addHook('onReady', async () => {
    const undeclared = routes.find((route) => !route.config?.access)
    if (undeclared) throw new Error(`${String(undeclared.method)} ${undeclared.url} must declare config.access.`)
  })
}

/** Records that callers are there. */
export interface CallerUse extends Pick<KeyUse, 'record'> {
  /** Called with each caller of an identity provider. */
  seen(principal: Principal): void
}

export interface AuthenticationOptions {
  verifier: Verifier
  limits: RequestLimits
  keyUse: CallerUse
  consoleSessions: Pick<ConsoleSessions, 'find' | 'findCached'>
}

/**
 * Sets `request.principal`, or refuses the request: 401 without a valid key, 429 over the rate limit, 403 when the key lacks the permission.
 * Where the console's cookie counts, a request without a key may have a session instead.
 */
export function authenticate(app: FastifyInstance, { verifier, limits, keyUse, consoleSessions }: AuthenticationOptions): void {
  app.decorateRequest('principal', undefined)
  app.decorateRequest('consoleSession', undefined)

  /** Admits a caller, or returns the refusal. */
  function refusalOf(request: FastifyRequest, principal: Principal, isCounted: boolean): ServiceError | undefined {
    request.principal = principal
    if (principal.issuer !== ownIssuer) keyUse.seen(principal)
    else if (principal.keyId !== undefined) keyUse.record(principal.keyId)
    const refusal = isCounted && Object.keys(limits.limits()).length > 0 ? limits.take(principal) : undefined
    if (refusal) return refusal
    const { access } = request.routeOptions.config
    if (access === 'any_key') return undefined
    const permitting = access === undefined || access === 'public' ? [] : [access].flat()
    return permits(principal, permitting) ? undefined : new PermissionError(permitting)
  }

  function admitSession(request: FastifyRequest, session: ConsoleSession | undefined): ServiceError | undefined {
    if (!session) return new ServiceError('unauthorized', 'The session of the console has ended: sign in again.')
    const refusal = refuseWithoutToken(request, session)
    if (refusal) return refusal
    request.consoleSession = session
    return refusalOf(request, session.principal, !isRead(request))
  }

  app.addHook('onRequest', (request, _reply, done) => {
    const { access } = request.routeOptions.config
    // Unknown routes are answered with 404 by another hook.
    if (access === 'public' || request.is404) return done()
    const mayHaveCookie = request.headers.cookie !== undefined && acceptsCookie(request) && !hasKeyHeader(request)
    const cookie = mayHaveCookie ? cookieOf(request) : undefined
    if (cookie !== undefined) {
      const refusal = refuseForeignPage(request)
      if (refusal) return done(refusal)
      const cached = consoleSessions.findCached(cookie)
      if (cached) return done(admitSession(request, cached))
      const admit = (session: ConsoleSession | undefined) => done(admitSession(request, session))
      consoleSessions.find(cookie).then(admit, done)
      return
    }
    const token = tokenOf(request)
    const cached = verifier.verifyCached(token)
    if (cached) return done(refusalOf(request, cached, true))
    const admit = (principal: Principal) => done(refusalOf(request, principal, true))
    verifier.verify(token).then(admit, done)
  })
}

/** The caller of a route that needs a key. Throws on public routes. */
export function principalOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error('The route is public, so the request has no principal.')
  return request.principal
}

/** The key of a request; empty without one. Clients of Anthropic's API send `x-api-key`. */
export function tokenOf({ headers }: FastifyRequest): string {
  const key = headers['x-service-access']
  if (typeof key === 'string' && key !== '') return key
  const anthropicKey = headers['x-api-key']
  return /^bearer +([^ ].*)$/i.exec(headers.authorization ?? '')?.[1] ?? (typeof anthropicKey === 'string' ? anthropicKey : '')
}
