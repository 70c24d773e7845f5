import { errors, type JWTPayload } from 'jose'
import { isKeyName } from './keys/keys.ts'
import { ownerOf, ownIssuer, type Principal } from './permissions.ts'

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
  const keyId = isKeyName(jti) ? jti : undefined
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
 * The reason for refusing a token, in words that complete "JWT verification failed: ..."; parts of the token are not
 * repeated.
 */
export function toReason(error: unknown): string {
  if (error instanceof ClaimError) return error.message
  if (error instanceof errors.JWTExpired) return 'the key has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return toClaimReason(error)
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not fit'
  if (error instanceof errors.JWKSNoMatchingKey) return 'the identity provider has no key that could have signed it'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "it does not say which of the identity provider's keys signed it"
  return 'it is not a valid JWT'
}

function toClaimReason({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (claim === 'nbf' && reason === 'check_failed') return 'the key is not valid yet'
  return reason === 'missing' ? `it has no "${claim}" claim` : `its "${claim}" claim is not what is expected here`
}
