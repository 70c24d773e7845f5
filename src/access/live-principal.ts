import type { Identity } from './identity.ts'
import type { SigningKeys } from './keys/signing-keys.ts'
import { permissionsOf, type CustomRoles } from './permissions.ts'
import { ownIssuer, type Principal } from './principal.ts'

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
  const isAccepted = ({ issuer, keyId, signingKeyId }: Identity) => {
    if (issuer !== ownIssuer) return issuer === provider?.issuer
    return signingKeyId !== undefined && signing.find(signingKeyId) !== undefined && keyId !== undefined && !isRevoked(keyId)
  }
  const toPrincipal = (identity: Identity, roles: CustomRoles): Principal => {
    return { ...identity, permissions: permissionsOf(identity.roles, roles, { tenant: identity.tenant, adminTenant }) }
  }

  return (identity: Identity): LivePrincipal => {
    let roles = customRoles()
    let principal = toPrincipal(identity, roles)
    return () => {
      if (!isAccepted(identity)) return undefined
      const current = customRoles()
      if (current !== roles) {
        roles = current
        principal = toPrincipal(identity, roles)
      }
      return principal
    }
  }
}
