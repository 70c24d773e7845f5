import type { JWTPayload } from 'jose'
import { isKeyName } from './keys/keys.ts'
import { ownerOf, ownIssuer, type Principal } from './principal.ts'

/** What a verified token says; permissions are not part of it, because they follow the configuration. */
export interface Identity extends Omit<Principal, 'permissions'> {
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/** Claims that do not make an identity. The message completes "JWT verification failed: ...". */
export class ClaimError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ClaimError'
  }
}

/** The identity of an own key. Throws `ClaimError`. */
export function toOwnIdentity(claims: JWTPayload): Identity {
  if (typeof claims.jti !== 'string' || claims.jti === '') throw new ClaimError('the key has no "jti" claim')
  return toIdentity(claims, {
    issuer: ownIssuer,
    tenant: claims['tenant'] ?? 'default',
    roles: toRoles(claims['roles']),
  })
}

export interface ProviderClaims {
  issuer: string
  /** Where the roles are, as a dotted path; without it a token has none, whatever it says. */
  rolesClaim?: string | undefined
  /** The tenant of tokens that name none. */
  tenant?: string | undefined
}

/** The identity of an identity provider's token. Throws `ClaimError`. */
export function toProviderIdentity(claims: JWTPayload, provider: ProviderClaims): Identity {
  const tenant = claims['tenant'] ?? provider.tenant
  if (tenant === undefined) throw new ClaimError('the token has no "tenant" claim')
  return toIdentity(claims, {
    issuer: provider.issuer,
    tenant,
    roles: provider.rolesClaim === undefined ? [] : toRoles(claimAt(claims, provider.rolesClaim)),
  })
}

function toIdentity(claims: JWTPayload, own: { issuer: string; tenant: unknown; roles: string[] }): Identity {
  const { sub, exp, jti } = claims
  const { issuer, tenant, roles } = own
  if (!isKeyName(sub)) throw new ClaimError('its "sub" claim is missing or not a name')
  if (!isKeyName(tenant)) throw new ClaimError('its "tenant" claim is not a name')
  if (typeof exp !== 'number') throw new ClaimError('it has no "exp" claim')
  const keyId = typeof jti === 'string' ? jti : undefined
  return { tenant, issuer, sub, owner: ownerOf(issuer, sub), roles, keyId, expiresAt: exp * 1000 }
}

/** A list, or words separated by spaces as in an OAuth `scope`; anything else is no role. */
function toRoles(value: unknown): string[] {
  const roles = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return roles.filter((role): role is string => typeof role === 'string' && role !== '')
}

/** The whole path as one claim first: providers that want names without collisions use URLs, which hold dots. */
function claimAt(claims: JWTPayload, dotted: string): unknown {
  if (Object.hasOwn(claims, dotted)) return claims[dotted]
  return dotted.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
  }, claims)
}
