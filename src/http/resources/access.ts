import { replies, route, optionalText, namedObject, toIso } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { listRoles, type Principal } from '../../access/permissions.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { principalOf } from '../server/authenticate.ts'

/** Schemas of callers, roles and keys. */

const Permissions = Type.Array(Type.String(), { description: 'Permissions, such as `chat` and `sessions.read`.' })

/** The caller of a request, as its key states it. */
export const Caller = namedObject('Caller', 'The caller of the request, and what the key permits.', {
  sub: Type.String({ description: 'The name of the caller within the issuer.' }),
  tenant: Type.String(),
  issuer: Type.String({ description: '`agent-core` for a key of this service, otherwise the identity provider.' }),
  roles: Type.Array(Type.String()),
  permissions: Permissions,
  expires_at: Type.String({ format: 'date-time', description: 'The expiry of the key.' }),
  csrf_token: optionalText('Only for a session of the console: the value for `x-csrf-token`, which every change needs.'),
})

export const Role = namedObject('Role', 'A role of keys.', { name: Type.String(), permissions: Permissions })

interface AccessRouteOptions {
  agent: CurrentAgent
  /** The only tenant whose keys may get `config.*`. */
  adminTenant: string
}

const tag = 'Access'

/** Routes that return the identity of the caller, and the roles. */
export function accessRoutes(app: App, { agent, adminTenant }: AccessRouteOptions): void {
  app.get(
    '/core/v1/me',
    route('any_key', tag, {
      summary: 'Get the caller and its permissions',
      description: 'Every valid key may call this route: it is also a check of the key.',
      text: 'Who the key stands for, and which routes it may use. 401: the key is not valid, expired or revoked.',
      response: replies({ 200: Caller }),
    }),
    async (request, reply) => {
      void reply.header('cache-control', 'no-store')
      return { ...toCaller(principalOf(request)), ...(request.consoleSession && { csrf_token: request.consoleSession.csrfToken }) }
    },
  )

  app.get(
    '/core/v1/roles',
    route('any_key', tag, {
      summary: 'List the roles and their permissions',
      description:
        "The built-in roles, then those of `access.roles` in the agent's configuration, with the permissions that each grants in the caller's tenant.",
      text: 'Use it to choose roles for `POST /core/v1/keys`.',
      response: replies({ 200: Type.Object({ roles: Type.Array(Role) }) }),
    }),
    async (request) => ({ roles: listRoles(agent().config.access.roles, { tenant: principalOf(request).tenant, adminTenant }) }),
  )
}

function toCaller({ sub, tenant, issuer, roles, permissions, expiresAt }: Principal): Type.Static<typeof Caller> {
  return { sub, tenant, issuer, roles: [...roles], permissions: [...permissions], expires_at: toIso(expiresAt) }
}
