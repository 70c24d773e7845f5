import { hash } from 'node:crypto'
import { decodeJwt, jwtVerify, type FetchImplementation, errors } from 'jose'
import { ServiceError } from '../errors.ts'
import {
  ClaimError,
  toOwnIdentity,
  toProviderIdentity,
  type Identity,
  type ProviderClaims,
  createLivePrincipals,
  type LivePrincipal,
} from './identity.ts'
import { type CustomRoles, ownIssuer, type Principal, listRoles, type Permission, type PermissionScope } from './permissions.ts'
import { createProviderKeys } from './keys/provider-keys.ts'
import type { Revocations } from './revocation.ts'
import type { SigningKeys } from './keys/signing-keys.ts'
import { reachState } from '../states.ts'

/**
 * An Ed25519 check costs 0.2 ms, a hash 1 µs. So verified tokens are cached by hash, at most this long and never past
 * their expiry.
 */
const cacheMs = 60_000
const defaultMaxCached = 10_000
/** Longer than any HTTP header that Node accepts. */
const maxTokenLength = 16_384
const leewaySeconds = 60

export interface AccessProvider extends ProviderClaims {
  jwksUrl: string
  /** A token must have one of these as its `aud`. */
  audience: readonly string[]
  /** OAuth scopes that clients request; empty for none configured. */
  scopes: readonly string[]
}

export interface VerifierOptions {
  signing: Pick<SigningKeys, 'find' | 'lookFor'>
  provider?: AccessProvider | undefined
  adminTenant: string
  /** The current roles of the configuration; the same object as long as the roles do not change. */
  customRoles(): CustomRoles
  isRevoked(jti: string): boolean
  /** Keeps `isRevoked` current; absent where the caller does. */
  revocations?: Pick<Revocations, 'isStale' | 'freshen'>
  /** Epoch milliseconds. */
  now(): number
  /** Fetches the provider's keys. */
  fetch?: FetchImplementation
  maxCachedTokens?: number
}

export interface Verifier {
  /** Throws `unauthorized` with the reason, or `overloaded` when the identity provider or the revoked keys cannot be reached. */
  verify(token: string): Promise<Principal>
  /** The principal of a recently verified token; undefined means unknown: call `verify`. */
  verifyCached(token: string): Principal | undefined
}

interface CachedToken {
  until: number
  isOwn: boolean
  principal: LivePrincipal
}

export function createVerifier(options: VerifierOptions): Verifier {
  const { isRevoked, revocations, now, maxCachedTokens = defaultMaxCached } = options
  const check = createCheck(options)
  const toLivePrincipal = createLivePrincipals(options)
  const cache = new Map<string, CachedToken>()

  function store(digest: string, identity: Identity): Principal | undefined {
    const oldest = cache.size >= maxCachedTokens ? cache.keys().next().value : undefined
    if (oldest !== undefined) cache.delete(oldest)
    const principal = toLivePrincipal(identity)
    cache.set(digest, { until: Math.min(now() + cacheMs, identity.expiresAt), isOwn: identity.issuer === ownIssuer, principal })
    return principal()
  }

  function find(digest: string): Principal | undefined {
    const entry = cache.get(digest)
    if (!entry || (entry.isOwn && revocations?.isStale())) return undefined
    const principal = now() < entry.until ? entry.principal() : undefined
    if (!principal) cache.delete(digest)
    return principal
  }

  async function verify(token: string): Promise<Principal> {
    if (token === '') throw refusal('no key was given')
    if (token.length > maxTokenLength) throw refusal('the key is too long')
    const digest = digestOf(token)
    const cached = find(digest)
    if (cached) return cached
    const identity = await check(token).catch((error: unknown) => {
      throw error instanceof ServiceError ? error : refusal(toReason(error), error)
    })
    if (identity.issuer === ownIssuer && revocations?.isStale()) {
      reachState('revocations-stale')
      await revocations.freshen().catch(cannotFreshen)
    }
    if (isRevokedKey(identity, isRevoked)) throw refusal('the key was revoked')
    const principal = store(digest, identity)
    if (!principal) throw refusal('the key was signed by another signing key')
    return principal
  }

  return { verify, verifyCached: (token) => (token.length > maxTokenLength ? undefined : find(digestOf(token))) }
}

/** The issuer alone decides which keys may have signed a token, so that neither issuer can speak for the other. */
function createCheck({ signing, provider, now, fetch }: VerifierOptions): (token: string) => Promise<Identity> {
  if (provider?.issuer === ownIssuer) throw new Error(`An identity provider cannot have the issuer ${ownIssuer}.`)
  const providerKeys = provider && createProviderKeys({ jwksUrl: provider.jwksUrl, now, fetch })
  const common = () => ({ requiredClaims: ['sub', 'exp'], currentDate: new Date(now()) })
  const ownKey = async ({ kid = '' }: { kid?: string | undefined }) => {
    const key = signing.find(kid) ?? (isThumbprint(kid) ? await signing.lookFor(kid).catch(cannotLook) : undefined)
    if (!key) throw new ClaimError('the key was signed by another signing key')
    return key.publicKey
  }

  return async (token) => {
    const { iss } = decodeJwt(token)
    if (iss === ownIssuer) {
      const rules = { ...common(), algorithms: ['EdDSA'], issuer: ownIssuer }
      const { payload, protectedHeader } = await jwtVerify(token, ownKey, rules)
      return toOwnIdentity(payload, protectedHeader.kid)
    }
    if (!provider || !providerKeys || iss !== provider.issuer) throw refusal('its issuer is not one that is accepted here')
    const { issuer, audience } = provider
    const rules = { ...common(), algorithms: ['RS256', 'ES256', 'EdDSA'], issuer, audience: [...audience], clockTolerance: leewaySeconds }
    return toProviderIdentity((await jwtVerify(token, providerKeys, rules)).payload, provider)
  }
}

/** True for the form of an RFC 7638 thumbprint; other ids are never looked up. */
function isThumbprint(kid: unknown): kid is string {
  return typeof kid === 'string' && /^[\w-]{43}$/.test(kid)
}

function cannotLook(cause: unknown): never {
  throw new ServiceError('overloaded', 'The signing keys cannot be read; the key could not be verified.', { cause, retryAfter: 2 })
}

function cannotFreshen(cause: unknown): never {
  throw new ServiceError('overloaded', 'The revoked keys cannot be read; the key could not be verified.', { cause, retryAfter: 2 })
}

/**
 * Only keys of this service can be revoked: the `jti` of an identity provider's token may equal a `jti` of this
 * service.
 */
function isRevokedKey(identity: Identity, isRevoked: (jti: string) => boolean): boolean {
  return identity.issuer === ownIssuer && identity.keyId !== undefined && isRevoked(identity.keyId)
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64')
}

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('unauthorized', `JWT verification failed: ${reason}.`, { cause })
}

/**
 * The reason for refusing a token, in words that complete "JWT verification failed: ..."; parts of the token are not
 * repeated.
 */
function toReason(error: unknown): string {
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

/** Claims whose words are the OAuth scopes of a token (RFC 9068, 2.2.3; `scp` at some providers). */
const scopeClaims = ['scope', 'scp']

export interface ScopeRules {
  provider: Pick<AccessProvider, 'rolesClaim' | 'scopes'>
  customRoles: CustomRoles
  scope: PermissionScope
}

/**
 * The scopes that a client requests from the identity provider for a token with these permissions: the configured scopes. Without configured
 * scopes, the role with the fewest permissions that grants all of them if roles are scopes, otherwise `openid`, which every OpenID provider has.
 */
export function scopesFor(needed: readonly Permission[], { provider, customRoles, scope }: ScopeRules): readonly string[] {
  if (provider.scopes.length > 0) return provider.scopes
  if (!scopeClaims.includes(provider.rolesClaim ?? '')) return ['openid']
  const roles = listRoles(customRoles, scope).filter(({ permissions }) => needed.every((permission) => permissions.includes(permission)))
  const [narrowest] = roles.toSorted((one, other) => one.permissions.length - other.permissions.length)
  return narrowest ? [narrowest.name] : []
}
