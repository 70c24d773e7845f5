import { listRoles, permissionMeanings, permissions, roleMeanings } from '../../src/access/permissions.ts'
import { listOperations } from './operations.ts'
import { toCode, toPage, toProse, toTable } from './markdown.ts'

/** The page of roles and permissions, with the routes that need each permission. */
export async function permissionsPage(): Promise<string> {
  const head = {
    title: 'Permissions',
    description: 'Roles of access keys, the permissions that they grant, and the routes that need each of them.',
  }
  return toPage(head, [introduction, rolesSection(), permissionsSection(), await routesSection()])
}

const introduction = `An access key has roles, a role grants permissions, and a route needs one. A key without it is answered with 403, which names the permission.
A key with several roles has the permissions of all of them. \`GET /core/v1/me\` shows the permissions of a key.`

const roles = listRoles({}, { tenant: 'default', adminTenant: 'default' })

function rolesSection(): string {
  const rows = Object.entries(roleMeanings).map(([name, meaning]) => [toCode(name), toProse(meaning)])
  return `## Roles

${toTable(['Role', 'For'], rows)}

\`access.roles\` in agent.yaml adds roles; \`GET /core/v1/roles\` lists all of them. No role grants \`config.read\` and \`config.write\` outside of the
administrators' tenant (\`ADMIN_TENANT\`), since the configuration serves all tenants.`
}

function permissionsSection(): string {
  const rows = permissions.map((permission) => [
    toCode(permission),
    ...roles.map(({ permissions: granted }) => (granted.includes(permission) ? 'yes' : '')),
    toProse(permissionMeanings[permission]),
  ])
  return `## Permissions\n\n${toTable(['Permission', ...roles.map(({ name }) => toCode(name)), 'Allows'], rows)}`
}

async function routesSection(): Promise<string> {
  const operations = await listOperations()
  const rows = permissions.flatMap((permission) => {
    const routes = operations.filter((operation) => operation.permissions.includes(permission))
    return routes.length === 0 ? [] : [[toCode(permission), routes.map(({ method, path }) => toCode(`${method} ${path}`)).join('<br>')]]
  })
  const isFree = operations.filter(({ isPublic }) => isPublic)
  return `## Routes by permission

Where several permissions are listed with the same route, one of them is enough.

${toTable(['Permission', 'Routes'], rows)}

These routes need no key: ${isFree.map(({ method, path }) => toCode(`${method} ${path}`)).join(', ')}.`
}
