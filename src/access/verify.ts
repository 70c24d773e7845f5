import { hash } from 'node:crypto'
import { decodeJwt, jwtVerify, type FetchImplementation } from 'jose'
import { ServiceError } from '../errors.ts'
import { ClaimError, toOwnIdentity, toProviderIdentity, toReason, type Identity, type ProviderClaims } from './identity.ts'
import { ownIssuer, permissionsOf, type CustomRoles, type Principal } from './permissions.ts'
import { createProviderKeys } from './keys/provider-keys.ts'
import type { Revocations } from './keys/issued-keys.ts'
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
  /** Accepted values of a token's `aud`. */
  audience: readonly string[]
  /** OAuth scopes that clients request; empty for none configured. */
  scopes: readonly string[]
}

export interface VerifierOptions extends LivePrincipalOptions {
  signing: Pick<SigningKeys, 'find' | 'lookFor'>
  provider?: AccessProvider | undefined
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

  function store(token: string, identity: Identity): Principal | undefined {
    const oldest = cache.size >= maxCachedTokens ? cache.keys().next().value : undefined
    if (oldest !== undefined) cache.delete(oldest)
    const principal = toLivePrincipal(identity)
    const until = Math.min(now() + cacheMs, identity.expiresAt)
    cache.set(hash('sha256', token, 'base64'), { until, isOwn: identity.issuer === ownIssuer, principal })
    return principal()
  }

  function verifyCached(token: string): Principal | undefined {
    if (token.length > maxTokenLength) return undefined
    const digest = hash('sha256', token, 'base64')
    const entry = cache.get(digest)
    if (!entry || (entry.isOwn && revocations?.isStale())) return undefined
    const principal = now() < entry.until ? entry.principal() : undefined
    if (!principal) cache.delete(digest)
    return principal
  }

  async function verify(token: string): Promise<Principal> {
    if (token === '') throw refusal('no key was given')
    if (token.length > maxTokenLength) throw refusal('the key is too long')
    const cached = verifyCached(token)
    if (cached) return cached
    const identity = await check(token).catch((error: unknown) => {
      throw error instanceof ServiceError ? error : refusal(toReason(error), error)
    })
    const { issuer, keyId } = identity
    if (issuer === ownIssuer && revocations?.isStale()) {
      reachState('revocations-stale')
      await revocations.freshen().catch(cannotRead('revoked keys'))
    }
    // Only keys of this service can be revoked: the `jti` of a provider's token may equal a `jti` of this service.
    if (issuer === ownIssuer && keyId !== undefined && isRevoked(keyId)) throw refusal('the key was revoked')
    const principal = store(token, identity)
    if (!principal) throw refusal('the key was signed by another signing key')
    return principal
  }

  return { verify, verifyCached }
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
  const toPrincipal = (identity: Identity, roles: CustomRoles): Principal => {
    return { ...identity, permissions: permissionsOf(identity.roles, roles, { tenant: identity.tenant, adminTenant }) }
  }

  return (identity: Identity): LivePrincipal => {
    const { issuer, keyId, signingKeyId } = identity
    let roles = customRoles()
    let principal = toPrincipal(identity, roles)
    return () => {
      if (issuer === ownIssuer) {
        if (signingKeyId === undefined || !signing.find(signingKeyId) || keyId === undefined || isRevoked(keyId)) return undefined
      } else if (issuer !== provider?.issuer) return undefined
      const current = customRoles()
      if (current !== roles) {
        roles = current
        principal = toPrincipal(identity, roles)
      }
      return principal
    }
  }
}

/** The issuer alone decides which keys may have signed a token, so that neither issuer can speak for the other. */
function createCheck({ signing, provider, now, fetch }: VerifierOptions): (token: string) => Promise<Identity> {
  if (provider?.issuer === ownIssuer) throw new Error(`An identity provider cannot have the issuer ${ownIssuer}.`)
  const providerKeys = provider && createProviderKeys({ jwksUrl: provider.jwksUrl, now, fetch })
  const common = () => ({ requiredClaims: ['sub', 'exp'], currentDate: new Date(now()) })
  const ownKey = async ({ kid = '' }: { kid?: string | undefined }) => {
    const key = signing.find(kid) ?? (isThumbprint(kid) ? await signing.lookFor(kid).catch(cannotRead('signing keys')) : undefined)
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

function cannotRead(what: string): (cause: unknown) => never {
  return (cause) => {
    throw new ServiceError('overloaded', `The ${what} cannot be read; the key could not be verified.`, { cause, retryAfter: 2 })
  }
}

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('unauthorized', `JWT verification failed: ${reason}.`, { cause })
}
