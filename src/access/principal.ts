import type { Permission } from './permissions.ts'

/** The issuer of keys made by this service. No identity provider may use the name. */
export const ownIssuer = 'agent-core'

/** The caller, as stated by a verified access key. */
export interface Principal {
  readonly tenant: string
  readonly issuer: string
  readonly sub: string
  /**
   * `<issuer> <sub>`: the owner of data inside of the tenant. An issuer has no spaces, so no two callers share an
   * owner.
   */
  readonly owner: string
  readonly roles: readonly string[]
  readonly permissions: ReadonlySet<Permission>
  /** The key's `jti`; keys of identity providers may have none. */
  readonly keyId: string | undefined
  /** The id of the signing key, for keys of this service. */
  readonly signingKeyId: string | undefined
  /** Expiry of the key, in epoch milliseconds. */
  readonly expiresAt: number
}

/** Administrators read all sessions and runs of the tenant, and cancel runs. */
export function isAdmin({ roles }: Pick<Principal, 'roles'>): boolean {
  return roles.includes('admin')
}

/** Builds an `owner`; no other code does. */
export function ownerOf(issuer: string, sub: string): string {
  return `${issuer} ${sub}`
}
