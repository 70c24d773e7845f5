import { hash } from 'node:crypto'
import { decodeJwt, jwtVerify, type FetchImplementation } from 'jose'
import { ServiceError } from '../errors.ts'
import { ClaimError, toOwnIdentity, toProviderIdentity, type Identity, type ProviderClaims } from './identity.ts'
import { permissionsOf, type CustomRoles } from './permissions.ts'
import { ownIssuer, type Principal } from './principal.ts'
import { createProviderKeys } from './keys/provider-keys.ts'
import { toReason } from './refusal.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/** An Ed25519 check costs 0.2 ms, a hash 1 µs: a verified token is kept by its hash, this long at most and never past its end. */
const keptMs = 60_000
const defaultKeptTokens = 10_000
/** No HTTP header that Node accepts is longer. */
const maxTokenLength = 16_384
const leewaySeconds = 60

export interface AccessProvider extends ProviderClaims {
  jwksUrl: string
  audience: string
}

export interface VerifierOptions {
  signing: Pick<SigningKeys, 'find' | 'lookFor'>
  provider?: AccessProvider | undefined
  adminTenant: string
  /** The configuration's roles as they are now; the same object as long as they do not change. */
  customRoles(): CustomRoles
  isRevoked(jti: string): boolean
  /** Epoch milliseconds. */
  now(): number
  /** How the provider's keys are fetched. */
  fetch?: FetchImplementation
  maxCachedTokens?: number
}

export interface Verifier {
  /** Throws `unauthorized` with the reason, or `overloaded` where the identity provider can't be reached. */
  verify(token: string): Promise<Principal>
  /** The principal of a token that was verified a moment ago; undefined says nothing about the token: ask `verify`. */
  verifyCached(token: string): Principal | undefined
}

/** What a good token says, and for an own key which signing key has signed it. */
interface Checked {
  identity: Identity
  kid?: string | undefined
}

interface Kept extends Checked {
  until: number
  customRoles: CustomRoles
  principal: Principal
}

export function createVerifier(options: VerifierOptions): Verifier {
  const { adminTenant, customRoles, isRevoked, now, signing, maxCachedTokens = defaultKeptTokens } = options
  const check = createCheck(options)
  const kept = new Map<string, Kept>()

  function keep(digest: string, { identity, kid }: Checked): Principal {
    const oldest = kept.size >= maxCachedTokens ? kept.keys().next().value : undefined
    if (oldest !== undefined) kept.delete(oldest)
    const roles = customRoles()
    const principal = toPrincipal(identity, roles, adminTenant)
    kept.set(digest, { identity, kid, until: Math.min(now() + keptMs, identity.expiresAt), customRoles: roles, principal })
    return principal
  }

  function find(digest: string): Principal | undefined {
    const entry = kept.get(digest)
    if (!entry) return undefined
    const isOver = now() >= entry.until || (entry.kid !== undefined && !signing.find(entry.kid))
    if (isOver || isRevokedKey(entry.identity, isRevoked)) {
      kept.delete(digest)
      return undefined
    }
    const roles = customRoles()
    if (roles !== entry.customRoles) {
      entry.customRoles = roles
      entry.principal = toPrincipal(entry.identity, roles, adminTenant)
    }
    return entry.principal
  }

  async function verify(token: string): Promise<Principal> {
    if (token === '') throw refusal('no key was given')
    if (token.length > maxTokenLength) throw refusal('the key is too long')
    const digest = digestOf(token)
    const found = find(digest)
    if (found) return found
    const checked = await check(token).catch((error: unknown) => {
      throw error instanceof ServiceError ? error : refusal(toReason(error), error)
    })
    if (isRevokedKey(checked.identity, isRevoked)) throw refusal('the key was revoked')
    return keep(digest, checked)
  }

  return { verify, verifyCached: (token) => (token.length > maxTokenLength ? undefined : find(digestOf(token))) }
}

/** Which keys may have signed a token follows from its issuer alone, so that neither side can speak in the other's name. */
function createCheck({ signing, provider, now, fetch }: VerifierOptions): (token: string) => Promise<Checked> {
  if (provider?.issuer === ownIssuer) throw new Error(`An identity provider can't have the issuer ${ownIssuer}.`)
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
      return { identity: toOwnIdentity(payload), kid: protectedHeader.kid }
    }
    if (!provider || !providerKeys || iss !== provider.issuer) throw refusal('its issuer is not one that is accepted here')
    const { issuer, audience } = provider
    const rules = { ...common(), algorithms: ['RS256', 'ES256', 'EdDSA'], issuer, audience, clockTolerance: leewaySeconds }
    return { identity: toProviderIdentity((await jwtVerify(token, providerKeys, rules)).payload, provider) }
  }
}

/** Of SHA-256; nobody is asked for what can't be a key of ours. */
function isThumbprint(kid: unknown): kid is string {
  return typeof kid === 'string' && /^[\w-]{43}$/.test(kid)
}

function cannotLook(cause: unknown): never {
  throw new ServiceError('overloaded', 'The signing keys can not be read; the key could not be verified.', { cause, retryAfter: 2 })
}

function toPrincipal(identity: Identity, customRoles: CustomRoles, adminTenant: string): Principal {
  const { tenant, issuer, sub, owner, roles, keyId } = identity
  const permissions = permissionsOf(roles, customRoles, { tenant, adminTenant })
  return { tenant, issuer, sub, owner, roles, permissions, keyId }
}

/** Only own keys can be revoked here: the `jti` of an identity provider is not ours, and may repeat one of ours. */
function isRevokedKey(identity: Identity, isRevoked: (jti: string) => boolean): boolean {
  return identity.issuer === ownIssuer && identity.keyId !== undefined && isRevoked(identity.keyId)
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64')
}

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('unauthorized', `JWT verification failed: ${reason}.`, { cause })
}
