import type { JWTPayload } from 'jose'
import { isKeyName } from './keys/keys.ts'
import { ownerOf, ownIssuer, type Principal, permissionsOf, type CustomRoles } from './permissions.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/** The identity of a verified token. Permissions are not included: they follow the configuration. */
export type Identity = Omit<Principal, 'permissions'>

/** Claims without a valid identity. The message completes "JWT verification failed: ...". */
export class ClaimError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ClaimError'
  }
}

/** The identity of a key issued by this service. Throws `ClaimError`. */
export function toOwnIdentity(claims: JWTPayload, signingKeyId: string | undefined): Identity {
  if (typeof claims.jti !== 'string' || claims.jti === '') throw new ClaimError('the key has no "jti" claim')
  return toIdentity(claims, {
    signingKeyId,
    issuer: ownIssuer,
    tenant: claims['tenant'] ?? 'default',
    roles: toRoles(claims['roles']),
  })
}

export interface ProviderClaims {
  issuer: string
  /** The claim with the roles, as a dotted path; without a path tokens have no roles. */
  rolesClaim?: string | undefined
  /** The tenant of tokens without a "tenant" claim. */
  tenant?: string | undefined
}

/** The identity of an identity provider's token. Throws `ClaimError`. */
export function toProviderIdentity(claims: JWTPayload, provider: ProviderClaims): Identity {
  const tenant = claims['tenant'] ?? provider.tenant
  if (tenant === undefined) throw new ClaimError('the token has no "tenant" claim')
  return toIdentity(claims, {
    signingKeyId: undefined,
    issuer: provider.issuer,
    tenant,
    roles: provider.rolesClaim === undefined ? [] : toRoles(claimAt(claims, provider.rolesClaim)),
  })
}

interface Details extends Pick<Identity, 'issuer' | 'roles' | 'signingKeyId'> {
  tenant: unknown
}

function toIdentity(claims: JWTPayload, { issuer, tenant, roles, signingKeyId }: Details): Identity {
  const { sub, exp, jti } = claims
  if (!isKeyName(sub)) throw new ClaimError('its "sub" claim is missing or not a name')
  if (!isKeyName(tenant)) throw new ClaimError('its "tenant" claim is not a name')
  if (typeof exp !== 'number') throw new ClaimError('it has no "exp" claim')
  const keyId = typeof jti === 'string' ? jti : undefined
  return { tenant, issuer, sub, owner: ownerOf(issuer, sub), roles, keyId, signingKeyId, expiresAt: exp * 1000 }
}

/** Accepts a list, or words separated by spaces as in an OAuth `scope`; other values give no roles. */
function toRoles(value: unknown): string[] {
  const roles = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return roles.filter((role): role is string => typeof role === 'string' && role !== '')
}

/** Looks up the whole path as one claim first: providers use URLs with dots as collision-free claim names. */
function claimAt(claims: JWTPayload, dotted: string): unknown {
  if (Object.hasOwn(claims, dotted)) return claims[dotted]
  return dotted.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
  }, claims)
}

/**
 * The principal of a verified identity, with the permissions of the current roles. Undefined when the key behind the identity was revoked, its
 * signing key has ended, or its issuer is no longer accepted. The caller checks the expiry.
 */
export type LivePrincipal = () => Principal | undefined

export interface LivePrincipalOptions {
  signing: Pick<SigningKeys, 'find'>
  provider?: { issuer: string } | undefined
  adminTenant: string
  /** The current roles of the configuration; the same object as long as the roles do not change. */
  customRoles(): CustomRoles
  isRevoked(jti: string): boolean
}

/** Keeps identities usable between two verifications: each call of the result costs no I/O and no cryptography. */
export function createLivePrincipals({ signing, provider, adminTenant, customRoles, isRevoked }: LivePrincipalOptions) {
  const isAccepted = ({ issuer, keyId, signingKeyId }: Identity) => {
    if (issuer !== ownIssuer) return issuer === provider?.issuer
    return signingKeyId !== undefined && signing.find(signingKeyId) !== undefined && keyId !== undefined && !isRevoked(keyId)
  }
  const toPrincipal = (identity: Identity, roles: CustomRoles): Principal => {
    return { ...identity, permissions: permissionsOf(identity.roles, roles, { tenant: identity.tenant, adminTenant }) }
  }

  return (identity: Identity): LivePrincipal => {
    let roles = customRoles()
    let principal = toPrincipal(identity, roles)
    return () => {
      if (!isAccepted(identity)) return undefined
      const current = customRoles()
      if (current !== roles) {
        roles = current
        principal = toPrincipal(identity, roles)
      }
      return principal
    }
  }
}
