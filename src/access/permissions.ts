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
  'config.read': "Read the configuration, secrets masked. Only in the administrators' tenant.",
  'config.write': "Change the configuration. Only in the administrators' tenant.",
  'keys.manage': 'List, create and revoke the access keys of the tenant.',
} as const

export type Permission = keyof typeof permissionMeanings

export const permissions = Object.keys(permissionMeanings) as Permission[]

const viewer = [
  'sessions.read',
  'runs.read',
  'tools.read',
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
} as const

type BuiltInRole = keyof typeof roleMeanings

/** The built-in roles; `access.roles` of the agent configuration adds custom roles. */
const builtIn: ReadonlyMap<string, readonly Permission[]> = new Map<BuiltInRole, readonly Permission[]>([
  ['viewer', viewer],
  ['user', [...viewer, 'chat', 'tools.execute', 'sessions.write', 'runs.write', 'sub_agents.write', 'memories.write', 'artifacts.share']],
  ['operator', [...viewer, 'observability.read', 'config.read']],
  ['admin', permissions],
])

/** `access.roles` of the agent configuration. */
export type CustomRoles = Readonly<Record<string, readonly string[]>>

export interface PermissionScope {
  tenant: string
  /** The only tenant whose keys may get `config.*`: the configuration serves all tenants. */
  adminTenant: string
}

const permissionNames: ReadonlySet<string> = new Set(permissions)

export function isPermission(text: string): text is Permission {
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
  return builtIn.get(role) ?? (Object.hasOwn(customRoles, role) ? (customRoles[role] ?? []) : [])
}

/** A role, and the permissions that it grants in a tenant. */
export interface Role {
  name: string
  permissions: Permission[]
}

/** The built-in roles, then the custom ones, each with its permissions in this tenant. */
export function listRoles(customRoles: CustomRoles, scope: PermissionScope): Role[] {
  return [...builtIn.keys(), ...Object.keys(customRoles)].map((name) => {
    const granted = permissionsOf([name], customRoles, scope)
    return { name, permissions: permissions.filter((permission) => granted.has(permission)) }
  })
}

/** The faults of `access.roles`, each with its path below `roles`; empty for a valid configuration. */
export function checkCustomRoles(customRoles: CustomRoles): { at: (string | number)[]; message: string }[] {
  return Object.entries(customRoles).flatMap(([role, granted]) => [
    ...(isBuiltInRole(role) ? [{ at: [role], message: `"${role}" is built in and cannot be changed; choose another name` }] : []),
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
