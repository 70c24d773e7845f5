/** The permissions of keys. The list is closed: a route declares one of the permissions, a role grants some. */
export const permissions = [
  'chat',
  'sessions.read',
  'sessions.write',
  'runs.read',
  'runs.write',
  'runs.approve',
  'tools.read',
  'tools.execute',
  'sub_agents.read',
  'sub_agents.write',
  'artifacts.read',
  'artifacts.share',
  'memories.read',
  'memories.write',
  'metadata.read',
  'knowledge.read',
  'knowledge.write',
  'observability.read',
  'config.read',
  'config.write',
  'keys.manage',
] as const

export type Permission = (typeof permissions)[number]

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

/** The built-in roles; `access.roles` of the agent configuration adds custom roles. */
const builtIn: ReadonlyMap<string, readonly Permission[]> = new Map<string, readonly Permission[]>([
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
