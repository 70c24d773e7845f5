import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, jwtVerify } from 'jose'
import { createKey } from './keys.ts'
import { createMemorySecret } from './memory-key-store.ts'
import { openSigningKeys, rotateSigningKeys } from './signing-keys.ts'

const day = 24 * 3600_000

function start(latest = 0) {
  const kept = createMemorySecret()
  const state = { now: 1_700_000_000_000, latest }
  const now = () => state.now
  const open = () => openSigningKeys(kept, now)
  const rotate = (endNow = false) => rotateSigningKeys(kept, { now, latestExpiry: async () => state.latest, endNow })
  return { kept, state, open, rotate }
}

test('the signing key is made once and found again, also by processes that start together', async () => {
  const { kept, open } = start()
  const opened = await Promise.all(Array.from({ length: 8 }, open))
  assert.equal(new Set(opened.map((keys) => keys.newest().kid)).size, 1)
  assert.deepEqual(Object.keys(JSON.parse(kept.kept ?? '') as object), ['kty', 'crv', 'x', 'd'])
  const request = { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 3600, now: Date.now() }
  await jwtVerify((await createKey(opened[0]!.newest(), request)).key, (await open()).newest().publicKey)
})

test('a new key signs, and the previous one verifies until its last key expires', async () => {
  const { state, open, rotate } = start(1_700_000_000_000 + 90 * day)
  const first = (await open()).newest()
  assert.equal(await rotate(), state.now + 90 * day)
  const keys = await open()
  assert.notEqual(keys.newest().kid, first.kid)
  assert.equal(keys.find(first.kid)?.kid, first.kid)
  assert.deepEqual(
    keys.all().map(({ kid }) => kid),
    [keys.newest().kid, first.kid],
  )
  assert.deepEqual(keys.all()[1]?.derive('links'), first.derive('links'))
  state.now += 90 * day
  assert.deepEqual({ keys: keys.find(first.kid), allCount: keys.all().length }, { keys: undefined, allCount: 1 })
  assert.ok(keys.find(keys.newest().kid))
})

test('without known keys the previous signing key verifies for 30 days, the default lifetime', async () => {
  const { state, rotate } = start()
  assert.equal(await rotate(), state.now + 30 * day)
})

test('an ended key is dropped at the next rotation; the others keep their ends', async () => {
  const { kept, state, open, rotate } = start()
  await open()
  await rotate()
  state.now += 20 * day
  await rotate()
  assert.equal((await open()).all().length, 3)
  state.now += 15 * day
  assert.equal((await open()).all().length, 2)
  await rotate()
  assert.equal((JSON.parse(kept.kept ?? '') as { earlier: unknown[] }).earlier.length, 2)
})

test('a key made during the rotation counts', async () => {
  const { kept, state, open } = start()
  const first = (await open()).newest()
  const answers = [0, state.now + 200 * day]
  const until = await rotateSigningKeys(kept, { now: () => state.now, latestExpiry: async () => answers.shift()!, endNow: false })
  assert.equal(until, state.now + 200 * day)
  state.now += 199 * day
  assert.ok((await open()).find(first.kid))
})

test('an emergency rotation ends all earlier keys', async () => {
  const { open, rotate } = start(1_700_000_000_000 + 90 * day)
  const first = (await open()).newest()
  await rotate()
  assert.equal(await rotate(true), undefined)
  const keys = await open()
  assert.deepEqual({ allCount: keys.all().length, keys: keys.find(first.kid) }, { allCount: 1, keys: undefined })
})

test('two rotations at the same time run one after the other', async () => {
  const { open, rotate } = start()
  await open()
  await Promise.all([rotate(), rotate()])
  assert.equal((await open()).all().length, 3)
})

test('a text without an Ed25519 private key is an error that names its source, and is not replaced', async () => {
  const now = () => 0
  const rsa = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)
  const publicHalf = await exportJWK((await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })).publicKey)
  const good = JSON.parse((await keptKey()) ?? '') as object
  const bad = [rsa, publicHalf, [], null, 'x', { ...good, d: 'AA' }, { ...good, earlier: {} }, { ...good, earlier: [{ ...good }] }]
  for (const text of ['', 'not JSON', ...bad.map((one) => JSON.stringify(one))]) {
    const kept = createMemorySecret(text)
    await assert.rejects(openSigningKeys(kept, now), /^Error: memory does not hold a signing key\. Restore the key/, text)
    assert.equal(kept.kept, text)
  }
})

async function keptKey(): Promise<string | undefined> {
  const { kept, open } = start()
  await open()
  return kept.kept
}
