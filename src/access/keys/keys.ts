import { randomUUIDv7 } from 'node:crypto'
import { SignJWT } from 'jose'
import type { Acting } from '../../audit/acts.ts'
import { ServiceError } from '../../errors.ts'
import { ownIssuer } from '../permissions.ts'
import type { SigningKey } from './signing-keys.ts'

export interface KeyRequest {
  sub: string
  tenant: string
  roles: readonly string[]
  expiresInSeconds: number
  /** Epoch milliseconds. */
  now: number
}

/** The claims of keys issued by this service; times in epoch seconds. */
export interface KeyClaims {
  iss: typeof ownIssuer
  sub: string
  tenant: string
  roles: string[]
  iat: number
  exp: number
  /** A UUIDv7. */
  jti: string
}

/**
 * Names in a key become columns and log fields, so they are bounded and free of control characters, which could forge a
 * log line. Unpaired surrogates are refused because they are stored as a replacement character, and two callers would
 * become one owner.
 */
const name = /^[^\p{Cc}]{1,256}$/u

export function isKeyName(text: unknown): text is string {
  return typeof text === 'string' && name.test(text) && text.trim() !== '' && text.isWellFormed()
}

/** The claims of a new access key. Throws `invalid_input` for an unusable name or lifetime. */
export function newClaims({ sub, tenant, roles, expiresInSeconds, now }: KeyRequest): KeyClaims {
  for (const text of [sub, tenant, ...roles]) {
    if (!isKeyName(text)) throw new ServiceError('invalid_input', 'Names in a key have 1 to 256 characters and no control characters.')
  }
  if (!Number.isSafeInteger(expiresInSeconds) || expiresInSeconds < 1) {
    throw new ServiceError('invalid_input', 'A key is valid for a whole number of seconds, at least 1.')
  }
  const iat = Math.floor(now / 1000)
  return { iss: ownIssuer, sub, tenant, roles: [...roles], iat, exp: iat + expiresInSeconds, jti: randomUUIDv7() }
}

export function signClaims({ kid, privateKey }: SigningKey, claims: KeyClaims): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'EdDSA', kid, typ: 'JWT' }).sign(privateKey)
}

/** Makes an access key. Throws `invalid_input` for an unusable name or lifetime. */
export async function createKey(signing: SigningKey, request: KeyRequest): Promise<{ key: string; claims: KeyClaims }> {
  const claims = newClaims(request)
  return { key: await signClaims(signing, claims), claims }
}

/** A key of this service, as listed. Times in epoch milliseconds. */
export interface AccessKeyRecord {
  jti: string
  tenant: string
  sub: string
  roles: readonly string[]
  createdAt: number
  expiresAt: number
  revokedAt?: number
  /** Exact to a minute. */
  lastUsedAt?: number
  /** Absent for keys of the service and of the command line, and for keys of versions that did not record the creator. */
  creator?: KeyCreator
}

/** Who created a key over HTTP. */
export interface KeyCreator {
  /** `<issuer> <sub>`. */
  owner: string
  /** The `jti` of the creator's key; tokens of identity providers may have none. */
  keyId?: string | undefined
}

export interface RevokedKey {
  jti: string
  /** Epoch milliseconds. */
  revokedAt: number
}

/** The end of a key. `isNew`: this call revoked the key, no earlier one. */
export interface Revocation extends RevokedKey {
  isNew: boolean
}

export interface RevocationBounds {
  /** Only keys of this tenant. Absent: keys of any tenant. */
  tenant?: string
  /** Throws when the keys may not be revoked; then none is. */
  check?(keys: readonly AccessKeyRecord[]): void
  /** Who revokes, for the ledger. */
  acting?: Acting | undefined
}

/** A page of keys. */
export interface KeyPage {
  limit: number
  /** The page begins after this key. */
  before?: Pick<AccessKeyRecord, 'createdAt' | 'jti'> | undefined
}

/**
 * Port: the register of keys that this service issued. The register lists and revokes; a well-signed key without an
 * entry is valid. Adapters live in store/.
 */
export interface AccessKeyStore {
  /** Adds a record; an existing record stays as it is. False, and nothing is added, when the key of the creator is revoked. */
  insert(record: AccessKeyRecord, acting?: Acting): Promise<boolean>
  /** Lists records newest first; of all tenants without `tenant`. */
  list(tenant?: string): Promise<AccessKeyRecord[]>
  /** A page of a tenant's records, newest first. */
  page(tenant: string, page: KeyPage): Promise<AccessKeyRecord[]>
  /** Revokes a key, and removes the console's sessions and codes of the key. Undefined when there is no such key. */
  revoke(jti: string, at: number, bounds?: RevocationBounds): Promise<Revocation | undefined>
  /**
   * Revokes the keys that the caller `<issuer> <sub>` created, the keys created with revoked keys, and so on, as `revoke` does. Returns
   * the ids of keys that were not revoked before.
   */
  revokeCreatedBy(owner: string, at: number, bounds?: RevocationBounds): Promise<string[]>
  /** Stores that the keys were used at `at`. Keys with a stored use after `staleBefore` stay as they are, and unknown ids have no effect. */
  markUsed(jtis: readonly string[], at: number, staleBefore: number): Promise<void>
  /** The latest expiry of keys that are not revoked, in epoch milliseconds; 0 for none. */
  latestExpiry(): Promise<number>
  /** Keys revoked at `ms` (epoch milliseconds) or later. */
  revokedSince(ms: number): Promise<RevokedKey[]>
}

/** The record of a new key. */
export function toRecord({ jti, tenant, sub, roles, iat, exp }: KeyClaims): AccessKeyRecord {
  return { jti, tenant, sub, roles, createdAt: iat * 1000, expiresAt: exp * 1000 }
}
