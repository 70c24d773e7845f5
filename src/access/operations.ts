import { ServiceError } from '../errors.ts'
import type { Permission } from './permissions.ts'
import type { Principal } from './principal.ts'

/**
 * Operations with more than one protocol, and their permissions: a key needs any of the listed ones. REST routes
 * declare the entry as their access; `/a2a`, `/mcp` and `/v1` check the entry when a message reaches the operation.
 */
export const accessTo = {
  chat: ['chat'],
  readRun: ['runs.read'],
  cancelRun: ['runs.write'],
  /** Owners may decide on calls of their runs, approvers on calls of all callers. */
  decideCall: ['runs.write', 'runs.approve'],
  /** Pending calls: a caller's own, and for approvers those of all callers. */
  listCalls: ['runs.read', 'runs.write', 'runs.approve'],
  executeTool: ['tools.execute'],
  /** A download link works without a key, so every answer with a link needs this permission too. */
  linkArtifact: ['artifacts.read'],
} as const satisfies Record<string, readonly Permission[]>

type Permitted = Pick<Principal, 'permissions'>

export function permits({ permissions }: Permitted, access: readonly Permission[]): boolean {
  return access.some((permission) => permissions.has(permission))
}

/** Throws `forbidden`, naming the permission that the key lacks. */
export function requireAccess(principal: Permitted, access: readonly Permission[]): void {
  if (!permits(principal, access)) throw lacking(access)
}

/** The error for a key without any of the permissions. */
export function lacking(access: readonly Permission[]): ServiceError {
  return new ServiceError('forbidden', `RBAC: access denied: this key lacks the permission ${access.join(' or ')}.`)
}
