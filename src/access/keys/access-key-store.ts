import type { KeyClaims } from './keys.ts'

/** One of the service's own keys, as it is listed. Times in epoch milliseconds. */
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

/** Port: the register of own keys. It lists and revokes; a well-signed key that is not in it is valid. Adapters live in store/. */
export interface AccessKeyStore {
  /** What is registered already stays as it is. */
  insert(record: AccessKeyRecord): Promise<void>
  /** Newest first; of all tenants where none is given. */
  list(tenant?: string): Promise<AccessKeyRecord[]>
  /** False where there is no such key or it was revoked before. */
  revoke(jti: string, at: number): Promise<boolean>
  /** When the last of the keys ends that were not revoked; 0 where there is none. Epoch milliseconds. */
  latestExpiry(): Promise<number>
  /** Keys revoked at that time (epoch milliseconds) or later. */
  revokedSince(ms: number): Promise<RevokedKey[]>
}

/** How a key that was just made stands in the register. */
export function toRecord({ jti, tenant, sub, roles, iat, exp }: KeyClaims): AccessKeyRecord {
  return { jti, tenant, sub, roles, createdAt: iat * 1000, expiresAt: exp * 1000 }
}
