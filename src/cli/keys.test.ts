import assert from 'node:assert/strict'
import { access, stat, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { openEventsIn } from '../../test/fixtures/audit-events.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

test('a key is created before the first start, printed alone, listed and revoked', async (t) => {
  const folder = await createFolder(t)
  const created = await runIn(folder, ['keys', 'create', '--sub', 'ada'])
  assert.deepEqual({ code: created.code, err: created.err }, { code: 0, err: '' })
  assert.match(created.out, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const { sub, tenant, roles, iat, exp, jti } = decodeJwt<{ tenant: string; roles: string[] }>(created.out.trim())
  assert.deepEqual([sub, tenant, roles, exp! - iat!], ['ada', 'default', ['user'], 30 * 86_400])
  assert.equal((await stat(path.join(folder, '.agent-core'))).mode & 0o777, 0o700)

  const [head, row, ...rest] = (await runIn(folder, ['keys', 'list'])).out.trimEnd().split('\n')
  assert.deepEqual(head?.split(/ +/), ['jti', 'tenant', 'sub', 'roles', 'created', 'expires', 'state', 'created', 'by'])
  assert.deepEqual(row?.split(/ +/).toSpliced(4, 2), [jti, 'default', 'ada', 'user', 'active'])
  assert.deepEqual(rest, [])

  assert.deepEqual(await runIn(folder, ['keys', 'revoke', jti!]), { code: 0, out: `Revoked ${jti}.\n`, err: '' })
  assert.deepEqual(await runIn(folder, ['keys', 'revoke', jti!]), { code: 0, out: `${jti} was already revoked.\n`, err: '' })
  assert.match((await runIn(folder, ['keys', 'list'])).out, / revoked\n$/)
})

test('the ledger of the tenant names the user of the system who creates and revokes a key', async (t) => {
  const folder = await createFolder(t)
  const created = await runIn(folder, ['keys', 'create', '--sub', 'ada', '--tenant', 'acme'])
  const { jti, exp } = decodeJwt(created.out.trim())
  for (const _ of [1, 2]) await runIn(folder, ['keys', 'revoke', jti!])
  const events = await (await openEventsIn(t, folder))()
  const actor = { issuer: 'os', sub: userInfo().username, jti: null, via: 'cli' }
  const data = { sub: 'ada', roles: ['user'], expires_at: new Date(exp! * 1000).toISOString() }
  assert.deepEqual(
    events.map(({ tenant, action, target, actor, data }) => ({ tenant, action, target, actor, data })),
    ['key.created', 'key.revoked'].map((action) => ({ tenant: 'acme', action, target: `key:${jti}`, actor, data })),
  )
})

test('a ledger that agent.yaml switches off has no event of a command', async (t) => {
  const folder = await createFolder(t)
  const llms = { primary: { provider: 'embedded', model: 'rules-1' } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms, audit: { enabled: false } }))
  assert.equal((await runIn(folder, ['keys', 'create', '--sub', 'ada'])).code, 0)
  assert.deepEqual(await (await openEventsIn(t, folder))(), [])
})

test('tenant, roles and expiry are as given; a list can be limited to a tenant', async (t) => {
  const folder = await createFolder(t)
  const args = ['keys', 'create', '--sub', 'bo', '--tenant', 'acme', '--roles', 'viewer, operator,viewer', '--expires', '90m']
  const claims = decodeJwt((await runIn(folder, args)).out.trim())
  assert.deepEqual([claims['tenant'], claims['roles'], claims.exp! - claims.iat!], ['acme', ['viewer', 'operator'], 5400])
  await runIn(folder, ['keys', 'create', '--sub', 'cy'])
  assert.deepEqual((await runIn(folder, ['keys', 'list', '--tenant', 'acme'])).out.match(/\b(bo|cy)\b/g), ['bo'])
})

test('an unknown role is reported, and the key is created anyway', async (t) => {
  const { code, out, err } = await runIn(await createFolder(t), ['keys', 'create', '--sub', 'ada', '--roles', 'reviewer'])
  assert.deepEqual({ code, err }, { code: 0, err: 'There is no role "reviewer" in the configuration: it grants nothing.\n' })
  assert.deepEqual(decodeJwt(out.trim())['roles'], ['reviewer'])
})

test('wrong usage exits with status 2 and a line, and creates nothing', async (t) => {
  const folder = await createFolder(t)
  const wrong = [
    ['keys', 'create'],
    ['keys', 'create', '--sub', ''],
    ['keys', 'create', '--sub', 'a\nb'],
    ['keys', 'create', '--sub', 'ada', '--roles', ','],
    ...['30', '3w', '0d', '-1d', '36501d', '999999999999d'].map((time) => ['keys', 'create', '--sub', 'ada', '--expires', time]),
    ['keys', 'revoke'],
    ['keys', 'list', 'more'],
  ]
  for (const args of wrong) {
    const { code, out, err } = await runIn(folder, args)
    assert.deepEqual({ code, out }, { code: 2, out: '' }, args.join(' '))
    assert.match(err, /^error: .+\n$/s, args.join(' '))
  }
  await assert.rejects(access(path.join(folder, '.agent-core')))
})

test('an unknown key cannot be revoked', async (t) => {
  const { code, out, err } = await runIn(await createFolder(t), ['keys', 'revoke', 'nobody'])
  assert.deepEqual({ code, out, err }, { code: 1, out: '', err: 'There is no key "nobody"; "agent-core keys list" lists the keys.\n' })
})

test('the secret of callbacks is created before the first start, printed alone, and different for each tenant', async (t) => {
  const folder = await createFolder(t)
  const printed = await runIn(folder, ['keys', 'callback-secret'])
  assert.match(printed.out, /^whsec_[A-Za-z0-9+/]{43}=\n$/)
  assert.deepEqual(await runIn(folder, ['keys', 'callback-secret', '--tenant', 'default']), { code: 0, out: printed.out, err: '' })
  assert.equal((await stat(path.join(folder, '.agent-core', 'callback-secret'))).mode & 0o777, 0o600)
  const otherTenant = await runIn(folder, ['keys', 'callback-secret', '--tenant', 'acme'])
  assert.match(otherTenant.out, /^whsec_/)
  assert.notEqual(otherTenant.out, printed.out)
})
