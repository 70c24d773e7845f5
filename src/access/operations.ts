import { ServiceError } from '../errors.ts'
import type { Permission } from './permissions.ts'
import type { Principal } from './principal.ts'

/**
 * Operations that clients reach through more than one protocol, and the permissions that each needs: one of the list. REST routes
 * declare the entry as their access; `/a2a`, `/mcp` and `/v1` check the same entry for the message that comes to the operation.
 */
export const accessTo = {
  chat: ['chat'],
  readRun: ['runs.read'],
  cancelRun: ['runs.write'],
  /** Owners decide with what they may do to their runs, approvers decide calls of others. */
  decideCall: ['runs.write', 'runs.approve'],
  /** Calls that wait for approval: a caller's own, and for approvers those of others. */
  listCalls: ['runs.read', 'runs.write', 'runs.approve'],
  executeTool: ['tools.execute'],
  /** A download link works without a key, so every answer that holds one needs this permission too. */
  linkArtifact: ['artifacts.read'],
} as const satisfies Record<string, readonly Permission[]>

type Permitted = Pick<Principal, 'permissions'>

export function permits({ permissions }: Permitted, access: readonly Permission[]): boolean {
  return access.some((permission) => permissions.has(permission))
}

/** Throws `forbidden`, naming the permission that the key lacks. */
export function requireAccess(who: Permitted, access: readonly Permission[]): void {
  if (!permits(who, access)) throw lacking(access)
}

/** The refusal of a key that has none of these permissions. */
export function lacking(access: readonly Permission[]): ServiceError {
  return new ServiceError('forbidden', `RBAC: access denied: this key lacks the permission ${access.join(' or ')}.`)
}
