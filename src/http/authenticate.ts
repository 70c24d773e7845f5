import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { lacking, permits } from '../access/operations.ts'
import type { Permission } from '../access/permissions.ts'
import type { Principal } from '../access/principal.ts'
import type { RequestLimits } from '../access/rate-limits.ts'
import type { Verifier } from '../access/verify.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a key must permit; of several, one of them; `public` needs none. Every route states it. */
    access?: Permission | readonly Permission[] | 'public'
  }
  interface FastifyRequest {
    principal: Principal | undefined
  }
}

/** A route that does not state its access stops the start. */
export function requireDeclaredAccess(app: FastifyInstance): void {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  app.addHook('onReady', async () => {
    const open = routes.find((route) => !route.config?.access)
    if (open) throw new Error(`${String(open.method)} ${open.url} does not state its access.`)
  })
}

/** Puts the caller on the request, or refuses it: 401 without a good key, 429 beyond its rate, 403 where the key does not permit the route. */
export function authenticate(app: FastifyInstance, verifier: Verifier, limits: RequestLimits): void {
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', (request, _reply, done) => {
    const { access } = request.routeOptions.config
    // No such route: what comes next says so.
    if (access === 'public' || request.is404) return done()
    const token = tokenOf(request)
    const admit = (principal: Principal): void => {
      request.principal = principal
      const refusal = limits.take(principal)
      if (refusal) return done(refusal)
      const permitting = access === undefined ? [] : [access].flat()
      done(permits(principal, permitting) ? undefined : lacking(permitting))
    }
    const cached = verifier.verifyCached(token)
    if (cached) return admit(cached)
    verifier.verify(token).then(admit, done)
  })
}

/** The caller of a route that needs a key. */
export function principalOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error('This route is public: it has no principal.')
  return request.principal
}

function tokenOf({ headers }: FastifyRequest): string {
  const key = headers['x-service-access']
  if (typeof key === 'string' && key !== '') return key
  return /^bearer +([^ ].*)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}
