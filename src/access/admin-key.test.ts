import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { decodeJwt } from 'jose'
import { ensureAdminKey } from './admin-key.ts'
import { createKey, openSigningKey } from './keys.ts'
import { createMemoryKeyStore } from './memory-key-store.ts'
import { createVerifier } from './verify.ts'

const day = 24 * 3600_000

async function start(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'admin-key-'))
  t.after(() => rm(folder, { recursive: true }))
  const clock = { now: 1_700_000_000_000 }
  const now = () => clock.now
  const signing = await newSigningKey()
  const store = createMemoryKeyStore()
  const revoked = new Set<string>()
  const verifier = createVerifier({ signing, adminTenant: 'default', customRoles: () => roles, isRevoked: (jti) => revoked.has(jti), now })
  const file = path.join(folder, 'admin.key')
  const options = { folder, tenant: 'default', signing, verifier, store, now }
  return { options, clock, revoked, store, verifier, signing, file, read: async () => (await readFile(file, 'utf8')).trim() }
}

const roles = {}

async function newSigningKey() {
  let kept: object | undefined
  return openSigningKey({ load: async () => kept, save: async (jwk) => void (kept = jwk) })
}

test('the first start makes a key of an administrator, listed, readable by its owner alone', async (t) => {
  const { options, verifier, store, file, read } = await start(t)
  assert.deepEqual(await ensureAdminKey(options), { file, renewed: true })
  const who = await verifier.verify(await read())
  assert.deepEqual([who.sub, who.tenant, who.roles], ['admin', 'default', ['admin']])
  assert.ok(who.permissions.has('config.write'))
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(options.folder), ['admin.key'])
  const listed = (await store.list('default')).map(({ jti, createdAt, expiresAt }) => ({ jti, days: (expiresAt - createdAt) / day }))
  assert.deepEqual(listed, [{ jti: who.keyId, days: 30 }])
})

test('a key with a third of its time left stays, one with less is renewed', async (t) => {
  const { options, clock, read } = await start(t)
  await ensureAdminKey(options)
  const first = await read()
  clock.now += 20 * day
  assert.equal((await ensureAdminKey(options)).renewed, false)
  assert.equal(await read(), first)
  clock.now += 1000
  assert.equal((await ensureAdminKey(options)).renewed, true)
  assert.equal(decodeJwt(await read()).exp, (clock.now + 30 * day) / 1000)
})

test('a key that was revoked, broken, expired, or signed by another signing key is renewed', async (t) => {
  const { options, clock, revoked, verifier, signing, file, read } = await start(t)
  await ensureAdminKey(options)
  revoked.add((await verifier.verify(await read())).keyId ?? '')
  assert.equal((await ensureAdminKey(options)).renewed, true)
  await writeFile(file, 'not a key')
  assert.equal((await ensureAdminKey(options)).renewed, true)
  clock.now += 31 * day
  assert.equal((await ensureAdminKey(options)).renewed, true)
  const request = { sub: 'admin', tenant: 'default', roles: ['admin'], expiresInSeconds: 30 * 86_400, now: clock.now }
  await writeFile(file, (await createKey(await newSigningKey(), request)).key)
  assert.equal((await ensureAdminKey(options)).renewed, true)
  await writeFile(file, (await createKey(signing, { ...request, roles: ['user'] })).key)
  assert.equal((await ensureAdminKey(options)).renewed, true)
  await verifier.verify(await read())
})

test('a new tenant of the administrators gets its own key', async (t) => {
  const { options, verifier, read } = await start(t)
  await ensureAdminKey(options)
  assert.equal((await ensureAdminKey({ ...options, tenant: 'acme' })).renewed, true)
  assert.equal((await verifier.verify(await read())).tenant, 'acme')
})
