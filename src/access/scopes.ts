import type { AccessProvider } from './verify.ts'
import { listRoles, type CustomRoles, type Permission, type PermissionScope } from './permissions.ts'

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
