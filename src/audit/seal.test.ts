import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createMemorySecret } from '../access/keys/memory-key-store.ts'
import { openSigningKeys } from '../access/keys/signing-keys.ts'
import { chainMac, type SignedHead, type StoredEnd } from './heads.ts'
import { createSealer, type Sealing, type SealStore } from './seal.ts'

async function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const keys = await openSigningKeys(createMemorySecret(), Date.now)
  const state = {
    /** Unsealed events by tenant. */
    waiting: new Map<string, number>(),
    statements: 0,
    unsigned: [] as StoredEnd[],
    heads: [] as SignedHead[],
    problems: [] as unknown[],
    sealing: {} as Partial<Sealing>,
    failure: undefined as Error | undefined,
  }
  const store: SealStore = {
    async unsealed() {
      state.statements += 1
      if (state.failure) throw state.failure
      return [...state.waiting.keys()]
    },
    async seal(tenant, { limit }) {
      state.statements += 1
      const count = Math.min(limit, state.waiting.get(tenant) ?? 0)
      state.waiting.set(tenant, (state.waiting.get(tenant) ?? 0) - count)
      if (state.waiting.get(tenant) === 0) state.waiting.delete(tenant)
      return { count, ...state.sealing }
    },
    async unsigned() {
      state.statements += 1
      return state.unsigned
    },
    async addHead(head) {
      state.heads.push(head)
      return true
    },
  }
  const sealer = createSealer({ store, now: () => 1000, onHead: () => undefined, report: (problem) => state.problems.push(problem) })
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms)
    for (let n = 0; n < 20; n++) await setImmediate()
  }
  return { state, sealer, keys, pass }
}

test('events are sealed a second after they are recorded, and then nothing is asked until the sweep of the minute', async (t) => {
  const { state, sealer, keys, pass } = await start(t)
  sealer.wake()
  await pass(1000)
  assert.equal(state.statements, 0)
  sealer.start(keys)
  state.waiting.set('acme', 450)
  await pass(999)
  assert.equal(state.statements, 0)
  await pass(1)
  assert.deepEqual([state.waiting.size, state.statements], [0, 4])
  await pass(1000)
  const idle = state.statements
  for (let second = 0; second < 50; second++) await pass(1000)
  assert.equal(state.statements, idle)
  state.waiting.set('of a dead process', 1)
  for (let second = 0; second < 10; second++) await pass(1000)
  assert.equal(state.waiting.size, 0)
  await sealer.close()
})

test('a commit that comes late is sealed by the next pass', async (t) => {
  const { state, sealer, keys, pass } = await start(t)
  sealer.start(keys)
  sealer.wake()
  await pass(1000)
  state.waiting.set('acme', 1)
  await pass(1000)
  assert.equal(state.waiting.size, 0)
  await sealer.close()
})

test('a failed pass is reported, and tried again', async (t) => {
  const { state, sealer, keys, pass } = await start(t)
  sealer.start(keys)
  state.waiting.set('acme', 1)
  sealer.wake()
  state.failure = new Error('away')
  await pass(1000)
  assert.deepEqual(state.problems, [{ error: state.failure }])
  state.failure = undefined
  await pass(1000)
  assert.equal(state.waiting.size, 0)
  await sealer.close()
})

test('a stop seals what was recorded', async (t) => {
  const { state, sealer, keys } = await start(t)
  sealer.start(keys)
  state.waiting.set('acme', 1)
  sealer.wake()
  await sealer.close()
  assert.equal(state.waiting.size, 0)
})

test('a head is signed where it is due, and never for an end that another program has written', async (t) => {
  const { state, sealer, keys, pass } = await start(t)
  sealer.start(keys)
  const { kid } = keys.newest()
  const end = { tenant: 'acme', seq: 7, hash: 'ab', kid }
  state.unsigned = [
    { ...end, mac: chainMac(end, keys.chainKey(kid)!) },
    { ...end, tenant: 'beta', mac: 'cd' },
  ]
  await pass(60_000)
  await pass(1000)
  // The signature is made by a thread.
  for (let turn = 0; turn < 1e6 && (state.heads.length === 0 || state.problems.length === 0); turn++) await setImmediate()
  assert.deepEqual(
    state.heads.map(({ tenant, seq, hash, at }) => ({ tenant, seq, hash, at })),
    [{ tenant: 'acme', seq: 7, hash: 'ab', at: '1970-01-01T00:00:01.000Z' }],
  )
  assert.deepEqual(state.problems, [
    { tenant: 'beta', fault: 'The end of the chain was changed by another program, or its signing key is gone.' },
  ])
  await sealer.close()
})
