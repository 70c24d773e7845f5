import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissions, permissionsOf } from '../../src/access/permissions.ts'
import { startService } from '../fixtures/service.ts'

test('Me: a caller sees its name, tenant, roles, permissions and the expiry of its key', async (t) => {
  const { key, as } = await startService(t, { script: {} })
  const who = { sub: 'bea', tenant: 'acme', roles: ['viewer', 'unknown'] }
  const client = await as(who)
  const { claims } = await key(who)
  const { status, body } = await client.request('GET', '/core/v1/me')
  assert.equal(status, 200)
  const { permissions: granted, expires_at: expiresAt, ...rest } = body
  assert.deepEqual(rest, { ...who, issuer: 'agent-core' })
  assert.deepEqual(granted.toSorted(), [...permissionsOf(['viewer'], {}, { tenant: 'acme', adminTenant: 'default' })].toSorted())
  assert.ok(Math.abs(Date.parse(expiresAt) - claims.exp * 1000) <= 1000)
})

test('Me: a key without any permission may ask who it is, and counts against its rate limit', async (t) => {
  const config = { access: { rate_limits: { default: { requests_per_minute: 1 } } } }
  const { as } = await startService(t, { script: {}, config })
  const powerless = await as({ roles: [] })
  assert.deepEqual((await powerless.request('GET', '/core/v1/me')).body.permissions, [])
  assert.equal((await powerless.request('GET', '/core/v1/me')).status, 429)
})

test('Roles: the list has the built-in and the configured roles with the permissions that they grant in the tenant', async (t) => {
  const config = { access: { roles: { setup: ['config.read', 'runs.read'] } } }
  const { as } = await startService(t, { script: {}, config })
  const rolesOf = async (tenant: string) => (await (await as({ tenant, roles: [] })).request('GET', '/core/v1/roles')).body.roles
  const home = await rolesOf('default')
  assert.deepEqual(
    home.map(({ name }: { name: string }) => name),
    ['viewer', 'user', 'operator', 'admin', 'auditor', 'setup'],
  )
  assert.deepEqual(home[3].permissions, permissions)
  assert.deepEqual(home[4].permissions, ['audit.read'])
  assert.deepEqual(home[5].permissions, ['runs.read', 'config.read'])
  assert.deepEqual((await rolesOf('acme'))[5].permissions, ['runs.read'])
})
