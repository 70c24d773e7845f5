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
  /** Push notifications of own runs. */
  changeNotifications: ['runs.write'],
  /** Owners may decide on calls of their runs, approvers on calls of all callers. */
  decideCall: ['runs.write', 'runs.approve'],
  /** The owner of a run answers the calls of its client tools. */
  answerCall: ['chat'],
  /** A decision of either kind; the call says which permission is required. */
  decideOrAnswer: ['chat', 'runs.write', 'runs.approve'],
  /** Pending calls: a caller's own, and for approvers those of all callers. */
  listCalls: ['runs.read', 'runs.write', 'runs.approve'],
  executeTool: ['tools.execute'],
  /** Documents of the tenant. */
  readDocument: ['knowledge.read'],
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
export function lacking(access: readonly Permission[]): PermissionError {
  return new PermissionError(access)
}

/** `forbidden`, since the key has none of the permissions in `access`. */
export class PermissionError extends ServiceError {
  readonly access: readonly Permission[]

  constructor(access: readonly Permission[]) {
    super('forbidden', `RBAC: access denied: this key lacks the permission ${access.join(' or ')}.`)
    this.access = access
  }
}
