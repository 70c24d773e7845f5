import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { lacking, permits } from '../access/operations.ts'
import type { Permission } from '../access/permissions.ts'
import type { KeyUse } from '../access/keys/key-use.ts'
import { ownIssuer, type Principal } from '../access/principal.ts'
import type { RequestLimits } from '../access/rate-limits.ts'
import type { Verifier } from '../access/verify.ts'

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

export interface AuthenticationOptions {
  verifier: Verifier
  limits: RequestLimits
  keyUse: Pick<KeyUse, 'record'>
}

/** Sets `request.principal`, or refuses the request: 401 without a valid key, 429 over the rate limit, 403 when the key lacks the permission. */
export function authenticate(app: FastifyInstance, { verifier, limits, keyUse }: AuthenticationOptions): void {
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', (request, _reply, done) => {
    const { access } = request.routeOptions.config
    // Unknown routes are answered with 404 by another hook.
    if (access === 'public' || request.is404) return done()
    const token = tokenOf(request)
    const admit = (principal: Principal): void => {
      request.principal = principal
      if (principal.issuer === ownIssuer && principal.keyId !== undefined) keyUse.record(principal.keyId)
      const refusal = limits.take(principal)
      if (refusal) return done(refusal)
      if (access === 'any_key') return done()
      const permitting = access === undefined ? [] : [access].flat()
      done(permits(principal, permitting) ? undefined : lacking(permitting))
    }
    const cached = verifier.verifyCached(token)
    if (cached) return admit(cached)
    verifier.verify(token).then(admit, done)
  })
}

/** The caller of a route that needs a key. Throws on public routes. */
export function principalOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error('The route is public, so the request has no principal.')
  return request.principal
}

function tokenOf({ headers }: FastifyRequest): string {
  const key = headers['x-service-access']
  if (typeof key === 'string' && key !== '') return key
  return /^bearer +([^ ].*)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}
