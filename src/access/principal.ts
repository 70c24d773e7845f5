import type { Permission } from './permissions.ts'

/** The issuer of the service's own keys. No identity provider may bear this name. */
export const ownIssuer = 'agent-core'

/** Who asks, as a verified access key says it. */
export interface Principal {
  readonly tenant: string
  readonly issuer: string
  readonly sub: string
  /** `<issuer> <sub>`: whose things they are inside of the tenant. An issuer has no spaces, so two callers never share one. */
  readonly owner: string
  readonly roles: readonly string[]
  readonly permissions: ReadonlySet<Permission>
  /** The key's `jti`; a key of an identity provider may have none. */
  readonly keyId: string | undefined
}

/** Administrators read every session and run of their tenant, and cancel its runs. */
export function isAdmin({ roles }: Pick<Principal, 'roles'>): boolean {
  return roles.includes('admin')
}

/** The only place that builds an `owner`. */
export function ownerOf(issuer: string, sub: string): string {
  return `${issuer} ${sub}`
}
