import { invalid, ServiceError } from '../../errors.ts'
import { isKnownRole, permissionsOf, type CustomRoles, isAdmin, type Principal } from '../permissions.ts'
import {
  toRecord,
  type AccessKeyRecord,
  type AccessKeyStore,
  type KeyPage,
  type Revocation,
  type RevocationBounds,
  isKeyName,
  newClaims,
  signClaims,
} from './keys.ts'
import type { SigningKeys } from './signing-keys.ts'

export interface NewKey {
  sub: string
  roles: readonly string[]
  /** A lifetime such as `30d`, the default. */
  expires?: string | undefined
}

/** The keys of a tenant, managed by holders of `keys.manage`. */
export interface AccessKeys {
  /** A page of the keys of the caller's tenant, newest first. */
  list(caller: Principal, page: KeyPage): Promise<AccessKeyRecord[]>
  /**
   * Makes a key in the caller's tenant. Throws `validation` for an unknown role or an invalid lifetime, and `forbidden` for a role that permits
   * more than the caller's key. Throws `unauthorized` where the caller's key was revoked meanwhile.
   */
  create(caller: Principal, key: NewKey): Promise<AccessKeyRecord & { key: string }>
  /** Revokes a key of the caller's tenant, on this process at once. Throws `not_found`, and `forbidden` for a key that permits more than the caller's. */
  revoke(caller: Principal, jti: string): Promise<Revocation>
  /**
   * Revokes the keys that a caller (`<issuer> <sub>`) created, with all keys created by means of these keys, and returns the ids.
   * Throws `forbidden`, and revokes none, when a key permits more than the caller's key.
   */
  revokeCreatedBy(caller: Principal, owner: string): Promise<{ revoked: string[]; revokedAt: number }>
}

export interface AccessKeysDependencies {
  store: Pick<AccessKeyStore, 'insert' | 'page' | 'revoke' | 'revokeCreatedBy'>
  signing: Pick<SigningKeys, 'newest'>
  adminTenant: string
  /** The longest lifetime of new keys. */
  maxDays: number
  customRoles(): CustomRoles
  /** Stores the last uses that are still in memory. */
  flushUse(): Promise<void>
  /** Puts a stored revocation in force in all processes. */
  announceRevoked(jti: string): void
  /** Epoch milliseconds. */
  now(): number
}

export function createAccessKeys(deps: AccessKeysDependencies): AccessKeys {
  const { store, signing, now } = deps
  return {
    async list({ tenant }, page) {
      await deps.flushUse()
      return store.page(tenant, page)
    },

    async create(caller, { sub, roles, expires = defaultLifetime(deps.maxDays) }) {
      if (!isKeyName(sub)) throw invalid(['body', 'sub'], 'must have 1 to 256 characters and no control characters')
      const expiresInSeconds = parseLifetime(expires, deps.maxDays)
      if (expiresInSeconds === undefined) throw invalid(['body', 'expires'], `must be ${lifetimeRule(deps.maxDays)}`)
      requireGrantable(caller, roles, deps)
      const claims = newClaims({ sub, tenant: caller.tenant, roles: [...new Set(roles)], expiresInSeconds, now: now() })
      // Register the key before signing it: a working key that is not listed could not be revoked.
      const record = { ...toRecord(claims), creator: { owner: caller.owner, keyId: caller.keyId } }
      if (!(await store.insert(record, caller)))
        throw new ServiceError('unauthorized', 'JWT verification failed: the key has been revoked.')
      return { ...record, key: await signClaims(signing.newest(), claims) }
    },

    async revoke(caller, jti) {
      const revocation = await store.revoke(jti, now(), boundsOf(caller))
      if (!revocation) throw new ServiceError('not_found', `There is no key ${jti}.`)
      deps.announceRevoked(jti)
      return revocation
    },

    async revokeCreatedBy(caller, owner) {
      const revokedAt = now()
      const revoked = await store.revokeCreatedBy(owner, revokedAt, boundsOf(caller))
      for (const jti of revoked) deps.announceRevoked(jti)
      return { revoked, revokedAt }
    },
  }

  /** A caller ends only keys that permit no more than the caller's own. */
  function boundsOf(caller: Principal): RevocationBounds {
    const check = (keys: readonly AccessKeyRecord[]) => {
      for (const { jti, roles } of keys)
        requireRights(caller, roles, deps, (_role, reason) => `the key ${jti} cannot be revoked, because ${reason}`)
    }
    return { tenant: caller.tenant, check, acting: caller }
  }
}

type RoleRules = Pick<AccessKeysDependencies, 'customRoles' | 'adminTenant'>

function requireGrantable(caller: Principal, roles: readonly string[], rules: RoleRules): void {
  const custom = rules.customRoles()
  for (const [index, role] of roles.entries()) {
    if (!isKnownRole(role, custom)) throw invalid(['body', 'roles', index], `there is no role ${JSON.stringify(role)}`)
  }
  requireRights(caller, roles, rules, (role, reason) => `the role ${JSON.stringify(role)} cannot be given, because ${reason}`)
}

/**
 * A caller gives and takes no more than it has. The role `admin` permits more than its permissions name, so only administrators give and take
 * the role. Throws `forbidden` with the text of `describe`.
 */
function requireRights(
  caller: Principal,
  roles: readonly string[],
  { customRoles, adminTenant }: RoleRules,
  describe: (role: string, reason: string) => string,
): void {
  const custom = customRoles()
  for (const role of roles) {
    const granted = [...permissionsOf([role], custom, { tenant: caller.tenant, adminTenant })]
    const missing = granted.filter((permission) => !caller.permissions.has(permission))
    const isAbove = role === 'admin' && !isAdmin(caller)
    if (missing.length === 0 && !isAbove) continue
    const reason = missing.length > 0 ? `this key lacks ${missing.join(', ')}` : 'this key does not have the role admin'
    throw new ServiceError('forbidden', `RBAC: access denied: ${describe(role, reason)}.`)
  }
}

const daySeconds = 86_400
const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: daySeconds }

/** Lifetime of keys for which none is chosen. */
export function defaultLifetime(maxDays: number): string {
  return `${Math.min(30, maxDays)}d`
}

/** The rule for a lifetime, after "must be". */
export function lifetimeRule(maxDays: number): string {
  return `a number and a unit (s, m, h or d), such as 30d, up to ${maxDays}d (KEY_MAX_DAYS)`
}

/** Parses a lifetime such as `30d` to seconds; undefined for a text that breaks the rule. */
export function parseLifetime(text: string, maxDays: number): number | undefined {
  const [, digits, unit] = /^(\d{1,12})([smhd])$/.exec(text) ?? []
  const seconds = Number(digits) * (secondsPer[unit ?? ''] ?? Number.NaN)
  return seconds >= 1 && seconds <= maxDays * daySeconds ? seconds : undefined
}
