import type { FastifyRequest, FastifyReply } from 'fastify'
import {
  accessTo,
  listRoles,
  PermissionError,
  type CustomRoles,
  type Permission,
  type PermissionScope,
} from '../../../access/permissions.ts'
import type { AccessProvider } from '../../../access/verify.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { ServiceError } from '../../../errors.ts'
import { originOf, keepOutOfCaches, prefixOf } from '../../server/origin.ts'
import { Type } from 'typebox'
import type { App } from '../../server/app.ts'
import { notFound } from '../../server/error-reply.ts'
import { ErrorReply } from '../../schemas/shared.ts'

const Metadata = Type.Object({
  resource: Type.String({ description: 'The address that the metadata is about, for the parameter `resource` of a token request.' }),
  authorization_servers: Type.Array(Type.String(), { description: 'The issuer of the identity provider.' }),
  scopes_supported: Type.Array(Type.String()),
  bearer_methods_supported: Type.Array(Type.String()),
  resource_name: Type.String(),
  resource_documentation: Type.String(),
})

/** The metadata that lets OAuth clients find the identity provider of `/mcp` (RFC 9728), and the challenges that point there (RFC 6750). */
export interface ResourceMetadata {
  /** The document at a path below the well-known path, such as `/mcp`; undefined for a path without a resource. */
  documentAt(path: string, request: FastifyRequest): ProtectedResource | undefined
  /** The header `www-authenticate` for a refusal at `/mcp`: a 401, or a 403 for a token without the needed permissions. */
  challengeOf(error: ServiceError, request: FastifyRequest): string | undefined
}

export interface ProtectedResource {
  resource: string
  authorization_servers: string[]
  scopes_supported: readonly string[]
  bearer_methods_supported: string[]
  resource_name: string
  resource_documentation: string
}

export interface ResourceMetadataOptions {
  provider: AccessProvider | undefined
  adminTenant: string
  agent: CurrentAgent
}

export const wellKnownPath = '/.well-known/oauth-protected-resource'

/** What a client of `/mcp` needs for everything that the endpoint offers. */
const neededByClients = [...accessTo.chat, ...accessTo.executeTool] as const

/** Undefined without an identity provider, and for an issuer that is no address: clients could not find its endpoints. */
export function createResourceMetadata({ provider, adminTenant, agent }: ResourceMetadataOptions): ResourceMetadata | undefined {
  if (!provider || !/^https?:\/\//i.test(provider.issuer)) return undefined
  const rules = () => ({
    provider,
    customRoles: agent().config.access.roles,
    scope: { tenant: provider.tenant ?? adminTenant, adminTenant },
  })

  return {
    documentAt(path, request) {
      const prefix = prefixOf(request)
      // The well-known path comes before the path of the resource (RFC 9728, 3.1); a proxy with a prefix may only pass paths behind the prefix.
      const suffix = prefix !== '' && path.startsWith(prefix) ? path.slice(prefix.length) : path
      if (suffix !== '' && suffix !== '/mcp') return undefined
      const address = originOf(request) + prefix
      return {
        resource: address + suffix,
        authorization_servers: [provider.issuer],
        scopes_supported: scopesFor(neededByClients, rules()),
        bearer_methods_supported: ['header'],
        resource_name: agent().config.name,
        resource_documentation: `${address}/docs/guides/mcp-clients`,
      }
    },

    challengeOf(error, request) {
      const location = { resource_metadata: `${originOf(request)}${prefixOf(request)}${wellKnownPath}/mcp` }
      if (error.code === 'unauthorized') {
        return toChallenge({ ...location, scope: scopesFor(neededByClients, rules()).join(' ') })
      }
      if (!(error instanceof PermissionError)) return undefined
      const scope = scopesFor([...new Set([...accessTo.chat, error.access[0]!])], rules()).join(' ')
      return toChallenge({ error: 'insufficient_scope', ...location, scope, error_description: error.message })
    },
  }
}

/** Empty parameters are left out. Values are ASCII without quotes and backslashes: addresses, scopes and own messages. */
function toChallenge(parameters: Record<string, string>): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== '')
  return `Bearer ${pairs.map(([name, value]) => `${name}="${value}"`).join(', ')}`
}

/** Metadata of `/mcp` for OAuth clients (RFC 9728). Without an identity provider there is none. */
export function resourceMetadataRoutes(app: App, { metadata }: { metadata: ResourceMetadata | undefined }): void {
  const answer = (path: string, request: FastifyRequest, reply: FastifyReply) => {
    const document = metadata?.documentAt(path, request)
    if (!document) throw notFound(request)
    keepOutOfCaches(request, reply)
    return document
  }
  const schema = {
    tags: ['Protocols'],
    summary: 'The identity provider for MCP clients (OAuth protected resource metadata, RFC 9728)',
    response: { 200: Metadata, 404: ErrorReply },
  }
  const config = { access: 'public' } as const
  app.get(
    wellKnownPath,
    { config, schema: { ...schema, text: 'The same for the service as a whole: `resource` is the address of the service.' } },
    async (request, reply) => answer('', request, reply),
  )
  const text =
    'Names the identity provider for clients of `/mcp`, as RFC 9728 describes: they sign their user in there and send the token as a bearer token. 404 without an identity provider (`ACCESS_ISSUER`), and with one whose issuer is no address. Behind a proxy with a prefix, the prefix may also stand in front of the last segment.'
  app.get(`${wellKnownPath}/mcp`, { config, schema: { ...schema, text } }, async (request, reply) => answer('/mcp', request, reply))
  // Behind a proxy with a prefix, the path of the resource has the prefix too.
  app.get<{ Params: { '*': string } }>(`${wellKnownPath}/*`, { config, schema: { hide: true } }, async (request, reply) =>
    answer(`/${request.params['*']}`, request, reply),
  )
}

/** Claims whose words are the OAuth scopes of a token (RFC 9068, 2.2.3; `scp` at some providers). */
const scopeClaims = ['scope', 'scp']

interface ScopeRules {
  provider: Pick<AccessProvider, 'rolesClaim' | 'scopes'>
  customRoles: CustomRoles
  scope: PermissionScope
}

/**
 * The scopes that a client requests from the identity provider for a token with these permissions: the configured scopes. Without configured
 * scopes, the role with the fewest permissions that grants all of them if roles are scopes, otherwise `openid`, which every OpenID provider has.
 */
function scopesFor(needed: readonly Permission[], { provider, customRoles, scope }: ScopeRules): readonly string[] {
  if (provider.scopes.length > 0) return provider.scopes
  if (!scopeClaims.includes(provider.rolesClaim ?? '')) return ['openid']
  const roles = listRoles(customRoles, scope).filter(({ permissions }) => needed.every((permission) => permissions.includes(permission)))
  const [narrowest] = roles.toSorted((one, other) => one.permissions.length - other.permissions.length)
  return narrowest ? [narrowest.name] : []
}
