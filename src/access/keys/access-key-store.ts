import type { KeyClaims } from './keys.ts'

/** A key of this service, as listed. Times in epoch milliseconds. */
export interface AccessKeyRecord {
  jti: string
  tenant: string
  sub: string
  roles: readonly string[]
  createdAt: number
  expiresAt: number
  revokedAt?: number
}

export interface RevokedKey {
  jti: string
  /** Epoch milliseconds. */
  revokedAt: number
}

/**
 * Port: the register of keys that this service issued. The register lists and revokes; a well-signed key without an
 * entry is valid. Adapters live in store/.
 */
export interface AccessKeyStore {
  /** Adds a record; an existing record stays as it is. */
  insert(record: AccessKeyRecord): Promise<void>
  /** Lists records newest first; of all tenants without `tenant`. */
  list(tenant?: string): Promise<AccessKeyRecord[]>
  /** Revokes a key; false when there is no such key or the key was revoked before. */
  revoke(jti: string, at: number): Promise<boolean>
  /** The latest expiry of keys that are not revoked, in epoch milliseconds; 0 for none. */
  latestExpiry(): Promise<number>
  /** Keys revoked at `ms` (epoch milliseconds) or later. */
  revokedSince(ms: number): Promise<RevokedKey[]>
}

/** The record of a new key. */
export function toRecord({ jti, tenant, sub, roles, iat, exp }: KeyClaims): AccessKeyRecord {
  return { jti, tenant, sub, roles, createdAt: iat * 1000, expiresAt: exp * 1000 }
}
