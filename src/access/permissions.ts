import { ServiceError } from '../errors.ts'

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
  /** Present for a request with the cookie of the console. */
  readonly via?: 'console'
}

/** Administrators read all sessions and runs of the tenant, and cancel runs. */
export function isAdmin({ roles }: Pick<Principal, 'roles'>): boolean {
  return roles.includes('admin')
}

/** Builds an `owner`; no other code does. */
export function ownerOf(issuer: string, sub: string): string {
  return `${issuer} ${sub}`
}

/** The permissions of keys, and what each allows. The list is closed: a route declares one of the permissions, a role grants some. */
export const permissionMeanings = {
  chat: 'Chat with the agent, also through OpenAI, MCP and A2A clients, and decide on calls of own runs.',
  'sessions.read': 'List and read own sessions.',
  'sessions.write': 'Delete and fork own sessions.',
  'runs.read': 'List, read and follow own runs, their traces, approvals and callbacks.',
  'runs.write': 'Cancel own runs, decide on their calls, rate them, and send their callbacks again.',
  'runs.approve': 'Read and decide on calls of other callers that wait for a role.',
  'tools.read': 'List the tools.',
  'tools.execute': 'Run a tool without a chat.',
  'schedules.read': 'List and read own schedules, and preview the times of a schedule.',
  'schedules.write': 'Create, change, pause, trigger and end own schedules.',
  'sub_agents.read': 'List and read own sub-agents.',
  'sub_agents.write': 'Create and delete own sub-agents.',
  'artifacts.read': 'List and download own files.',
  'artifacts.share': 'Copy own files to the shared folder.',
  'memories.read': 'List own memories.',
  'memories.write': 'Delete own memories.',
  'metadata.read': 'Read name, description and tools of the agent.',
  'knowledge.read': 'List and read documents of the tenant.',
  'knowledge.write': 'Add and delete documents of the tenant.',
  'observability.read': "Read runs, logs and metrics of the whole tenant; in the administrators' tenant also those of the service.",
  'evals.read': 'Read datasets and experiments of the tenant.',
  'evals.write': 'Change datasets of the tenant, and replay them in experiments.',
  'config.read': "Read the configuration, secrets masked. Only in the administrators' tenant.",
  'config.write': "Change the configuration. Only in the administrators' tenant.",
  'budgets.write': 'Raise and restore limits of budgets, and let runs go on that a budget has paused.',
  'keys.manage': 'List, create and revoke the access keys of the tenant.',
  'audit.read': 'Read and export who did what in the tenant.',
} as const

export type Permission = keyof typeof permissionMeanings

export const permissions = Object.keys(permissionMeanings) as Permission[]

const viewer = [
  'sessions.read',
  'runs.read',
  'tools.read',
  'schedules.read',
  'sub_agents.read',
  'artifacts.read',
  'memories.read',
  'metadata.read',
  'knowledge.read',
] as const satisfies Permission[]

/** What the built-in roles are for. */
export const roleMeanings = {
  viewer: 'Reads own data.',
  user: 'Chats and uses everything for callers. The default of `keys create`.',
  operator: 'Reads own data, metrics, logs and the configuration, and does not chat.',
  admin: 'Has every permission in its tenant, and reads every session and run of it.',
  auditor: 'Reads who did what in its tenant, and nothing else. A role of this name in `access.roles` replaces it.',
} as const

type BuiltInRole = keyof typeof roleMeanings

/** The built-in roles; `access.roles` of the agent configuration adds custom roles. */
const builtIn: ReadonlyMap<string, readonly Permission[]> = new Map<BuiltInRole, readonly Permission[]>([
  ['viewer', viewer],
  [
    'user',
    [
      ...viewer,
      'chat',
      'tools.execute',
      'sessions.write',
      'runs.write',
      'schedules.write',
      'sub_agents.write',
      'memories.write',
      'artifacts.share',
    ],
  ],
  ['operator', [...viewer, 'observability.read', 'evals.read', 'config.read']],
  ['admin', permissions],
  ['auditor', ['audit.read']],
])

/** Built-in roles that `access.roles` may replace: configurations had roles of these names before. */
const replaceable: ReadonlySet<string> = new Set<BuiltInRole>(['auditor'])

/** `access.roles` of the agent configuration. */
export type CustomRoles = Readonly<Record<string, readonly string[]>>

export interface PermissionScope {
  tenant: string
  /** The only tenant whose keys may get `config.*`: the configuration serves all tenants. */
  adminTenant: string
}

const permissionNames: ReadonlySet<string> = new Set(permissions)

function isPermission(text: string): text is Permission {
  return permissionNames.has(text)
}

export function isBuiltInRole(role: string): boolean {
  return builtIn.has(role)
}

export function isKnownRole(role: string, customRoles: CustomRoles): boolean {
  return isBuiltInRole(role) || Object.hasOwn(customRoles, role)
}

/**
 * The union of the grants of all roles in this tenant. An unknown role grants nothing, and no role removes a
 * permission.
 */
export function permissionsOf(roles: readonly string[], customRoles: CustomRoles, scope: PermissionScope): ReadonlySet<Permission> {
  const mayConfigure = scope.tenant === scope.adminTenant
  const granted = new Set<Permission>()
  for (const permission of roles.flatMap((role) => grantsOf(role, customRoles))) {
    if (!isPermission(permission)) continue
    if (mayConfigure || !permission.startsWith('config.')) granted.add(permission)
  }
  return granted
}

function grantsOf(role: string, customRoles: CustomRoles): readonly string[] {
  // `hasOwn`: a role called `constructor` must not find what every object inherits.
  const custom = Object.hasOwn(customRoles, role) ? customRoles[role] : undefined
  return (replaceable.has(role) ? (custom ?? builtIn.get(role)) : (builtIn.get(role) ?? custom)) ?? []
}

/** A role, and the permissions that it grants in a tenant. */
export interface Role {
  name: string
  permissions: Permission[]
}

/** The built-in roles, then the custom roles, each with the permissions of the role in the tenant. */
export function listRoles(customRoles: CustomRoles, scope: PermissionScope): Role[] {
  return [...new Set([...builtIn.keys(), ...Object.keys(customRoles)])].map((name) => {
    const granted = permissionsOf([name], customRoles, scope)
    return { name, permissions: permissions.filter((permission) => granted.has(permission)) }
  })
}

/** The faults of `access.roles`, each with its path below `roles`; empty for a valid configuration. */
export function checkCustomRoles(customRoles: CustomRoles): { at: (string | number)[]; message: string }[] {
  return Object.entries(customRoles).flatMap(([role, granted]) => [
    ...(isBuiltInRole(role) && !replaceable.has(role)
      ? [{ at: [role], message: `"${role}" is built in and cannot be changed; choose another name` }]
      : []),
    // `access.rate_limits.default` applies to every caller: as a role the word would have two meanings.
    ...(role === 'default' ? [{ at: [role], message: '"default" cannot be the name of a role; choose another name' }] : []),
    ...granted.flatMap((permission, index) =>
      isPermission(permission)
        ? []
        : [
            {
              at: [role, index],
              message: `${JSON.stringify(permission)} is not a permission; known are ${permissions.join(', ')}`,
            },
          ],
    ),
  ])
}

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
  /** Owners may refuse to raise the limit of a budget, or go on when it is whole again. `budgets.write` may raise the limit. */
  decideBudget: ['runs.write', 'budgets.write'],
  /** The owner of a run answers the calls of its client tools. */
  answerCall: ['chat'],
  /** A decision of either kind; the call says which permission is required. */
  decideOrAnswer: ['chat', 'runs.write', 'runs.approve', 'budgets.write'],
  /** Pending calls: a caller's own, and for approvers those of all callers. */
  listCalls: ['runs.read', 'runs.write', 'runs.approve', 'budgets.write'],
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
  if (!permits(principal, access)) throw new PermissionError(access)
}

/** `forbidden`, since the key has none of the permissions in `access`. */
export class PermissionError extends ServiceError {
  readonly access: readonly Permission[]

  constructor(access: readonly Permission[]) {
    super('forbidden', `RBAC: access denied: this key lacks the permission ${access.join(' or ')}.`)
    this.access = access
  }
}
