import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissions } from '../../src/access/permissions.ts'
import { createClient } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

const path = '/core/v1/keys'

test('Keys: an administrator makes a key, which is shown once, works with its roles and ends when revoked', async (t) => {
  const { url, as, log } = await startService(t, { script: {} })
  const admin = await as({ sub: 'root', roles: ['admin'] })
  const made = await admin.request('POST', path, { body: { sub: 'bea', roles: ['viewer', 'viewer'], expires: '2h' } })
  assert.equal(made.status, 201)
  assert.equal(made.headers.get('cache-control'), 'no-store')
  const { key, ...record } = made.body
  assert.deepEqual(
    { ...record, jti: '', created_at: '', expires_at: '' },
    {
      jti: '',
      sub: 'bea',
      roles: ['viewer'],
      created_at: '',
      expires_at: '',
      revoked_at: null,
      last_used_at: null,
      created_by: 'agent-core root',
    },
  )
  assert.equal(Date.parse(record.expires_at) - Date.parse(record.created_at), 2 * 3_600_000)
  const bea = createClient(url, key)
  const { body: me } = await bea.request('GET', '/core/v1/me')
  assert.deepEqual({ sub: me.sub, tenant: me.tenant, roles: me.roles }, { sub: 'bea', tenant: 'default', roles: ['viewer'] })

  const listed = (await admin.request('GET', path)).body.keys.find(({ jti }: { jti: string }) => jti === record.jti)
  assert.ok(Math.abs(Date.parse(listed.last_used_at) - Date.now()) < 60_000, listed.last_used_at)
  assert.deepEqual({ ...listed, last_used_at: null }, record)

  const revoked = await admin.request('DELETE', `${path}/${record.jti}`)
  assert.deepEqual({ status: revoked.status, jti: revoked.body.jti }, { status: 200, jti: record.jti })
  assert.equal((await bea.request('GET', '/core/v1/me')).status, 401)
  assert.deepEqual((await admin.request('DELETE', `${path}/${record.jti}`)).body, revoked.body)
  const { keys } = (await admin.request('GET', path)).body
  assert.equal(keys.find(({ jti }: { jti: string }) => jti === record.jti).revoked_at, revoked.body.revoked_at)

  assert.ok(!log.join('').includes(key.split('.')[2]), 'no log line has the key')
  const created = log.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'An access key was created')
  assert.deepEqual({ by: created.by, jti: created.jti, sub: created.sub }, { by: 'agent-core root', jti: record.jti, sub: 'bea' })
  assert.ok(log.some((line) => line.includes('An access key was revoked')))
})

test('Keys: invalid fields are named and make no key', async (t) => {
  const { as } = await startService(t, { script: {} })
  const admin = await as({ roles: ['admin'] })
  const before = (await admin.request('GET', path)).body.keys.length
  const good = { sub: 'bea', roles: ['viewer'] }
  for (const [change, loc] of [
    [{ roles: ['viewer', 'nothing'] }, ['body', 'roles', 1]],
    [{ roles: ['constructor'] }, ['body', 'roles', 0]],
    [{ roles: [] }, ['body', 'roles']],
    [{ sub: '' }, ['body', 'sub']],
    [{ sub: 'a\nb' }, ['body', 'sub']],
    [{ expires: 'soon' }, ['body', 'expires']],
    [{ expires: '0d' }, ['body', 'expires']],
    [{ expires: '367d' }, ['body', 'expires']],
    [{ tenant: 'acme' }, ['body', 'tenant']],
  ] as const) {
    const { status, body, text } = await admin.request('POST', path, { body: { ...good, ...change } })
    assert.equal(status, 422, text)
    assert.deepEqual(body.detail[0].loc, loc)
  }
  assert.equal((await admin.request('GET', path)).body.keys.length, before)
  assert.equal((await admin.request('GET', `${path}?before=x`)).status, 422)
  assert.equal((await admin.request('GET', `${path}?limit=101`)).status, 422)
})

test('Keys: a role that permits more than the caller has is 403', async (t) => {
  const roles = { clerk: ['keys.manage', 'runs.read'], reader: ['runs.read'], talker: ['chat'], all: [] as string[] }
  const { as } = await startService(t, { script: {}, config: { access: { roles } } })
  const clerk = await as({ sub: 'clerk', roles: ['clerk'] })
  assert.equal((await clerk.request('POST', path, { body: { sub: 'x', roles: ['reader', 'all', 'clerk'] } })).status, 201)
  for (const role of ['talker', 'viewer', 'admin']) {
    const refused = await clerk.request('POST', path, { body: { sub: 'x', roles: ['reader', role] } })
    assert.equal(refused.status, 403, role)
    assert.match(refused.body.body, /cannot be given, because this key lacks /)
  }
  assert.equal((await clerk.request('GET', path)).body.keys[0].roles.length, 3)
})

test('Keys: only administrators give the role admin, however many permissions another role has', async (t) => {
  const { as } = await startService(t, { script: {}, config: { access: { roles: { everything: [...permissions] } } } })
  const almost = await as({ sub: 'almost', roles: ['everything'] })
  const refused = await almost.request('POST', path, { body: { sub: 'x', roles: ['admin'] } })
  assert.deepEqual({ status: refused.status, says: /does not have the role admin/.test(refused.body.body) }, { status: 403, says: true })
})

test('Keys: a key that permits more than the caller has is not revoked, alone or by creator', async (t) => {
  const roles = { clerk: ['keys.manage'], gone: [] as string[], everything: permissions.filter((name) => name !== 'config.write') }
  const { as, url } = await startService(t, { script: {}, config: { access: { roles } } })
  const admin = await as({ sub: 'root', roles: ['admin'] })
  const create = async (sub: string, role: string, client = admin) =>
    (await client.request('POST', path, { body: { sub, roles: [role] } })).body as { jti: string; key: string }
  const clerk = await create('clerk', 'clerk')
  const asClerk = createClient(url, clerk.key)
  const stateOf = async (jti: string) =>
    (await admin.request('GET', path)).body.keys.find((key: { jti: string }) => key.jti === jti).revoked_at !== null
  for (const role of ['admin', 'user', 'everything']) {
    const { jti } = await create('boss', role)
    const { status, body } = await asClerk.request('DELETE', `${path}/${jti}`)
    assert.equal(status, 403, role)
    assert.match(body.body, new RegExp(`the key ${jti} cannot be revoked, because this key `))
    assert.equal(await stateOf(jti), false)
  }
  const almost = await as({ sub: 'almost', roles: ['everything', 'operator'] })
  const { jti: adminJti } = await create('boss', 'admin')
  assert.equal((await almost.request('DELETE', `${path}/${adminJti}`)).status, 403)

  const own = await create('own', 'clerk', asClerk)
  const empty = await create('empty', 'gone', asClerk)
  const byCreator = (client: typeof admin, owner: string) => client.request('DELETE', `${path}?created_by=${encodeURIComponent(owner)}`)
  const root = (await admin.request('GET', '/core/v1/me')).body
  assert.equal((await byCreator(asClerk, `${root.issuer} ${root.sub}`)).status, 403)
  assert.equal(await stateOf(adminJti), false)
  assert.equal((await asClerk.request('DELETE', `${path}/${empty.jti}`)).status, 200)
  const grandchild = await create('grandchild', 'clerk', createClient(url, own.key))
  const { status, body } = await byCreator(admin, 'agent-core clerk')
  assert.equal(status, 200)
  assert.deepEqual(body.revoked.toSorted(), [own.jti, grandchild.jti].toSorted())
  for (const { key } of [own, grandchild]) assert.equal((await createClient(url, key).request('GET', '/core/v1/me')).status, 401)
  assert.equal((await asClerk.request('GET', path)).status, 200)
  assert.equal((await admin.request('DELETE', path)).status, 422)
})

test('Keys: a lifetime above KEY_MAX_DAYS is refused, and the default fits the limit', async (t) => {
  const { as } = await startService(t, { script: {}, environment: { KEY_MAX_DAYS: '7' } })
  const admin = await as({ roles: ['admin'] })
  const create = (expires?: string) => admin.request('POST', path, { body: { sub: 'bea', roles: ['viewer'], ...(expires && { expires }) } })
  const refused = await create('8d')
  assert.equal(refused.status, 422)
  assert.deepEqual(refused.body.detail[0].loc, ['body', 'expires'])
  assert.match(refused.body.detail[0].msg, /up to 7d \(KEY_MAX_DAYS\)/)
  for (const expires of ['7d', undefined]) {
    const { created_at: from, expires_at: until } = (await create(expires)).body
    assert.equal(Date.parse(until) - Date.parse(from), 7 * 86_400_000)
  }
})

test("Keys: another tenant's keys are neither listed nor revoked", async (t) => {
  const { as } = await startService(t, { script: {} })
  const admin = await as({ roles: ['admin'] })
  const foreign = await as({ tenant: 'acme', roles: ['admin'] })
  const { body: made } = await admin.request('POST', path, { body: { sub: 'bea', roles: ['viewer'] } })
  assert.deepEqual((await foreign.request('GET', path)).body, { keys: [], offset: '', has_more: false })
  assert.equal((await foreign.request('DELETE', `${path}/${made.jti}`)).status, 404)
  assert.equal((await foreign.request('DELETE', `${path}/none`)).status, 404)
  const { body: other } = await foreign.request('POST', path, { body: { sub: 'cyd', roles: ['viewer'] } })
  assert.deepEqual(
    (await foreign.request('GET', path)).body.keys.map(({ jti }: { jti: string }) => jti),
    [other.jti],
  )
  assert.equal((await admin.request('GET', path)).body.keys.find(({ jti }: { jti: string }) => jti === made.jti).revoked_at, null)
})

test('Keys: pages follow each other without gaps, newest first', async (t) => {
  const { as } = await startService(t, { script: {} })
  const admin = await as({ tenant: 'acme', roles: ['admin'] })
  const made: string[] = []
  for (let n = 0; n < 7; n += 1) made.push((await admin.request('POST', path, { body: { sub: `s${n}`, roles: ['user'] } })).body.jti)
  const listed: string[] = []
  for (let before = '', hasMore = true; hasMore;) {
    const { body } = await admin.request('GET', `${path}?limit=3${before && `&before=${before}`}`)
    listed.push(...body.keys.map(({ jti }: { jti: string }) => jti))
    before = body.offset
    hasMore = body.has_more
  }
  assert.deepEqual(listed, made.toReversed())
})
