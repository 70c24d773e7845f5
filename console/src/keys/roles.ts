/** Descriptions of permissions, in the order of the list of roles. */
export const permissionTexts: Readonly<Record<string, string>> = {
  chat: 'Ask the agent',
  'sessions.read': 'Read conversations',
  'sessions.write': 'Change and delete conversations',
  'runs.read': 'See runs and their traces',
  'runs.write': 'Cancel runs, rate answers, decide on own calls',
  'runs.approve': "Decide on other callers' calls",
  'tools.read': 'See tools',
  'tools.execute': 'Run tools without a chat',
  'schedules.read': 'See schedules',
  'schedules.write': 'Create, change and end schedules',
  'sub_agents.read': 'See sub-agents',
  'sub_agents.write': 'Create and delete sub-agents',
  'artifacts.read': 'Download files of the agent',
  'artifacts.share': 'Make links to files',
  'memories.read': 'See memories',
  'memories.write': 'Delete memories',
  'metadata.read': 'See name and abilities of the agent',
  'knowledge.read': 'See documents',
  'knowledge.write': 'Add and delete documents',
  'observability.read': 'See metrics, logs and all runs',
  'config.read': 'See the configuration',
  'config.write': 'Change the configuration',
  'budgets.write': 'Raise limits of budgets, and let paused runs go on',
  'keys.manage': 'Create and revoke keys',
  'audit.read': 'See and export who did what',
}

/** Purposes of the built-in roles. */
export const roleTexts: Readonly<Record<string, string>> = {
  viewer: 'Sees own conversations, runs and files, and does not chat.',
  user: 'Chats, and uses everything that belongs to a chat.',
  operator: 'Sees how the service does: metrics, logs, all runs, the configuration. Does not chat.',
  admin: 'May do everything, in this tenant.',
  auditor: 'Sees who did what in this tenant, and nothing else.',
}

/** All permissions of all roles: described permissions in order, then undescribed permissions by name. */
export function permissionsOf(roles: readonly { permissions: readonly string[] }[]): string[] {
  const granted = new Set(roles.flatMap(({ permissions }) => permissions))
  const described = Object.keys(permissionTexts).filter((permission) => granted.has(permission))
  const undescribed = [...granted].filter((permission) => !Object.hasOwn(permissionTexts, permission))
  return [...described, ...undescribed.toSorted()]
}

/** Permissions of a role that the caller lacks: the caller cannot create a key with this role. */
export function lackedBy(caller: readonly string[], role: { permissions: readonly string[] }): string[] {
  return role.permissions.filter((permission) => !caller.includes(permission))
}
