import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { ensureAdminKey } from './admin-key.ts'
import { createKey } from './keys.ts'
import { createMemoryKeyStore, createMemorySecret } from './memory-key-store.ts'
import { openSigningKeys } from './signing-keys.ts'
import { createVerifier } from '../verify.ts'

const day = 24 * 3600_000

async function start() {
  const clock = { now: 1_700_000_000_000 }
  const now = () => clock.now
  const signing = await openSigningKeys(createMemorySecret(), now)
  const store = createMemoryKeyStore()
  const revoked = new Set<string>()
  const verifier = createVerifier({ signing, adminTenant: 'default', customRoles: () => roles, isRevoked: (jti) => revoked.has(jti), now })
  const file = createMemorySecret()
  const options = { file, tenant: 'default', signing, verifier, store, now }
  return { options, clock, revoked, store, verifier, signing, file, read: () => file.kept ?? '' }
}

const roles = {}

test("the first start makes an administrator's key, which is listed", async () => {
  const { options, verifier, store, read } = await start()
  assert.deepEqual(await ensureAdminKey(options), { renewed: true })
  const who = await verifier.verify(read())
  assert.deepEqual({ sub: who.sub, tenant: who.tenant, roles: who.roles }, { sub: 'admin', tenant: 'default', roles: ['admin'] })
  assert.ok(who.permissions.has('config.write'))
  const listed = (await store.list('default')).map(({ jti, createdAt, expiresAt }) => ({ jti, days: (expiresAt - createdAt) / day }))
  assert.deepEqual(listed, [{ jti: who.keyId, days: 30 }])
})

test('a key with a third of its lifetime left stays, one with less is renewed', async () => {
  const { options, clock, read } = await start()
  await ensureAdminKey(options)
  const first = read()
  clock.now += 20 * day
  assert.equal((await ensureAdminKey(options)).renewed, false)
  assert.equal(read(), first)
  clock.now += 1000
  assert.equal((await ensureAdminKey(options)).renewed, true)
  assert.equal(decodeJwt(read()).exp, (clock.now + 30 * day) / 1000)
})

test('a key that was revoked, broken, expired, or signed by another signing key is renewed', async () => {
  const { options, clock, revoked, verifier, signing, file, read } = await start()
  await ensureAdminKey(options)
  revoked.add((await verifier.verify(read())).keyId ?? '')
  assert.equal((await ensureAdminKey(options)).renewed, true)
  file.kept = 'not a key'
  assert.equal((await ensureAdminKey(options)).renewed, true)
  clock.now += 31 * day
  assert.equal((await ensureAdminKey(options)).renewed, true)
  const request = { sub: 'admin', tenant: 'default', roles: ['admin'], expiresInSeconds: 30 * 86_400, now: clock.now }
  const foreign = await openSigningKeys(createMemorySecret(), Date.now)
  file.kept = (await createKey(foreign.newest(), request)).key
  assert.equal((await ensureAdminKey(options)).renewed, true)
  file.kept = (await createKey(signing.newest(), { ...request, roles: ['user'] })).key
  assert.equal((await ensureAdminKey(options)).renewed, true)
  await verifier.verify(read())
})

test("a new administrators' tenant gets its own key", async () => {
  const { options, verifier, read } = await start()
  await ensureAdminKey(options)
  assert.equal((await ensureAdminKey({ ...options, tenant: 'acme' })).renewed, true)
  assert.equal((await verifier.verify(read())).tenant, 'acme')
})

test('processes that share a key write the same key, at any start order, and one key is listed', async () => {
  const { options, clock, store } = await start()
  const shared = createMemorySecret()
  const files = [createMemorySecret(), createMemorySecret(), createMemorySecret()]
  const ensure = (file: (typeof files)[number]) => ensureAdminKey({ ...options, file, shared })
  assert.deepEqual(await Promise.all(files.map(ensure)), Array(3).fill({ renewed: true }))
  const joined = createMemorySecret()
  await ensure(joined)
  assert.equal((await store.list()).length, 1)
  assert.deepEqual(new Set([...files, joined].map(({ kept }) => kept)), new Set([shared.kept]))

  clock.now += 21 * day
  for (const file of files) assert.deepEqual(await ensure(file), { renewed: true })
  assert.equal((await store.list()).length, 2)
  assert.deepEqual(new Set(files.map(({ kept }) => kept)), new Set([shared.kept]))
  assert.deepEqual(await ensure(files[0]!), { renewed: false })
})

test('no key is made when the existing one cannot be checked', async () => {
  const { options, read } = await start()
  await ensureAdminKey(options)
  const first = read()
  const away = new Error('no database')
  await assert.rejects(ensureAdminKey({ ...options, verifier: { verify: () => Promise.reject(away) } }), away)
  assert.equal(read(), first)
})
