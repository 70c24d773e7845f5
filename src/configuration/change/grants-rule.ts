import { isObject } from '../../json/shape.ts'
import { ownValue } from './merge.ts'

/**
 * Finds permissions that a change adds to a role although the caller lacks them, as `role: permission`. A caller with `config.write` could
 * otherwise give its own role every permission.
 */
export function findForeignGrants(before: unknown, after: unknown, permissions: ReadonlySet<string>): string[] {
  const rolesBefore = rolesOf(before)
  return Object.entries(rolesOf(after)).flatMap(([role, granted]) => {
    const earlier = new Set(listOf(ownValue(rolesBefore, role)))
    const added = listOf(granted).filter((permission) => !earlier.has(permission) && !permissions.has(String(permission)))
    return added.map((permission) => `access.roles.${role}: ${String(permission)}`)
  })
}

function rolesOf(data: unknown): Record<string, unknown> {
  const roles = ownValue(ownValue(data, 'access'), 'roles')
  return isObject(roles) ? roles : {}
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
