import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyUse } from './issued-keys.ts'
import { createMemoryKeyStore } from './memory-key-store.ts'

const never = 2 ** 30

function setUp(intervalMs = never) {
  const store = createMemoryKeyStore()
  const state = { now: 1_000_000, isAway: false, writes: 0 }
  const errors: unknown[] = []
  const markUsed: typeof store.markUsed = async (...call) => {
    state.writes += 1
    if (state.isAway) throw new Error('no database')
    return store.markUsed(...call)
  }
  const use = createKeyUse({ store: { markUsed }, now: () => state.now, onError: (error) => errors.push(error), intervalMs })
  const lastUse = async (jti: string) => (await store.list()).find((record) => record.jti === jti)?.lastUsedAt
  const add = (jti: string) => store.insert({ jti, tenant: 't', sub: 's', roles: [], createdAt: 1, expiresAt: 2 })
  return { ...use, state, errors, lastUse, add }
}

test('uses are stored together, and many uses of a key cost one write', async () => {
  const { record, flush, lastUse, add, state, close } = setUp()
  await add('a')
  await add('b')
  for (let n = 0; n < 1000; n += 1) record('a')
  assert.equal(await lastUse('a'), undefined)
  await flush()
  assert.deepEqual([await lastUse('a'), await lastUse('b'), state.writes], [1_000_000, undefined, 1])
  record('b')
  await close()
  assert.equal(await lastUse('b'), 1_000_000)
})

test('a store that is away loses no use, and the failure is reported', async () => {
  const { record, flush, lastUse, add, state, errors, close } = setUp()
  await add('a')
  state.isAway = true
  record('a')
  await flush()
  assert.match(String(errors[0]), /no database/)
  state.isAway = false
  state.now += 30_000
  await flush()
  assert.equal(await lastUse('a'), 1_030_000)
  await close()
})

test('thousands of keys are stored in batches', async () => {
  const { record, flush, state, close } = setUp()
  for (let n = 0; n < 1200; n += 1) record(`key ${n}`)
  await flush()
  assert.equal(state.writes, 3)
  await close()
})
