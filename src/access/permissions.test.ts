import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkCustomRoles, listRoles, permissions, permissionsOf } from './permissions.ts'

const home = { tenant: 'default', adminTenant: 'default' }
const sorted = (roles: string[], custom = {}, scope = home) => [...permissionsOf(roles, custom, scope)].sort()

test('a viewer reads everything but observability, evals, the ledger and configuration', () => {
  const expected = permissions.filter((name) => name.endsWith('.read') && !/^(observability|config|audit|evals)\./.test(name))
  assert.deepEqual(sorted(['viewer']), [...expected].sort())
})

test('a user chats, runs tools, shares artifacts and writes everything but configuration, and decides no approvals', () => {
  const added = sorted(['user']).filter((name) => !sorted(['viewer']).includes(name))
  const writes = ['memories', 'runs', 'schedules', 'sessions', 'sub_agents'].map((noun) => `${noun}.write`)
  assert.deepEqual(added, ['artifacts.share', 'chat', ...writes, 'tools.execute'])
  assert.ok(sorted(['viewer']).every((name) => sorted(['user']).includes(name)))
})

test('an operator reads observability, evals and configuration in addition to a viewer', () => {
  assert.deepEqual(sorted(['operator']), [...sorted(['viewer']), 'config.read', 'evals.read', 'observability.read'].sort())
})

test("an admin has all permissions in the administrators' tenant", () => {
  assert.deepEqual(sorted(['admin']), [...permissions].sort())
})

test("configuration permissions are granted in the administrators' tenant only, whatever the role", () => {
  const away = { tenant: 'acme', adminTenant: 'default' }
  const custom = { setup: ['config.read', 'config.write', 'chat'] }
  assert.deepEqual(sorted(['setup'], custom, away), ['chat'])
  assert.ok(!sorted(['admin', 'operator'], {}, away).some((name) => name.startsWith('config.')))
})

test('an auditor reads the ledger alone, unless the configuration has a role of this name', () => {
  assert.deepEqual(sorted(['auditor']), ['audit.read'])
  const custom = { auditor: ['runs.read'] }
  assert.deepEqual(sorted(['auditor'], custom), ['runs.read'])
  assert.deepEqual(checkCustomRoles(custom), [])
  assert.deepEqual(
    listRoles(custom, home).filter(({ name }) => name === 'auditor'),
    [{ name: 'auditor', permissions: ['runs.read'] }],
  )
})

test('several roles add up, and a custom role grants its configured permissions', () => {
  assert.deepEqual(sorted(['auditor', 'talker'], { auditor: ['runs.read'], talker: ['chat', 'runs.read'] }), ['chat', 'runs.read'])
})

test('an unknown role grants nothing, also one named like an inherited property', () => {
  assert.deepEqual(sorted(['root', 'constructor', '__proto__', 'toString']), [])
})

test('a custom role can neither change a built-in one nor grant an unknown permission', () => {
  assert.deepEqual(sorted(['viewer'], { viewer: ['chat'] }), sorted(['viewer']))
  assert.deepEqual(sorted(['x'], { x: ['everything', 'chat'] }), ['chat'])
})

test('faults of custom roles are reported with their path', () => {
  const faults = checkCustomRoles({ auditor: ['runs.read', 'run.read'], admin: ['chat'], default: [] })
  assert.deepEqual(
    faults.map((fault) => fault.at),
    [['auditor', 1], ['admin'], ['default']],
  )
  assert.match(faults[0]?.message ?? '', /"run\.read" is not a permission; known are chat, sessions\.read/)
  assert.deepEqual(checkCustomRoles({ auditor: ['runs.read'] }), [])
})

test('the list of roles has the built-in ones, then the custom ones, with what each grants in the tenant', () => {
  const custom = { reviewer: ['runs.read', 'chat', 'config.read'] }
  const names = listRoles(custom, home).map(({ name }) => name)
  assert.deepEqual(names, ['viewer', 'user', 'operator', 'admin', 'auditor', 'reviewer'])
  const permissionsOfReviewer = (tenant: string) => listRoles(custom, { ...home, tenant }).at(-1)?.permissions
  assert.deepEqual(permissionsOfReviewer('default'), ['chat', 'runs.read', 'config.read'])
  assert.deepEqual(permissionsOfReviewer('acme'), ['chat', 'runs.read'])
})
