import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localBus, type Bus } from '../../replicas/bus.ts'
import { createMemoryKeyStore } from './memory-key-store.ts'
import { createRevocations } from './issued-keys.ts'

const record = (jti: string) => ({ jti, tenant: 'default', sub: 'ada', roles: ['user'], createdAt: 1, expiresAt: 2 })
const never = 2 ** 30

function failOnError(error: unknown): void {
  throw error
}

test('keys revoked before and after the start are known, others are not revoked', async () => {
  const store = createMemoryKeyStore()
  for (const jti of ['a', 'b', 'c']) await store.insert(record(jti))
  await store.revoke('a', 1000)
  const revocations = await createRevocations(store, { now: () => 5000, bus: localBus, onError: failOnError, intervalMs: never })
  assert.deepEqual(['a', 'b', 'c'].map(revocations.isRevoked), [true, false, false])
  await store.revoke('b', 6000)
  await revocations.refresh()
  assert.deepEqual(['a', 'b', 'c'].map(revocations.isRevoked), [true, true, false])
  await revocations.close()
})

test('a later poll asks for changes only, looking back over different clocks', async () => {
  const store = createMemoryKeyStore()
  const asked: number[] = []
  const spied = { ...store, revokedSince: (ms: number) => (asked.push(ms), store.revokedSince(ms)) }
  let now = 10_000_000
  const revocations = await createRevocations(spied, { now: () => now, bus: localBus, onError: failOnError, intervalMs: never })
  now += 2000
  await store.insert(record('late'))
  await store.revoke('late', now - 5 * 60_000)
  await revocations.refresh()
  assert.deepEqual(asked, [0, 10_000_000 - 600_000])
  assert.ok(revocations.isRevoked('late'))
  await revocations.close()
})

test('polls repeat, and a failed one is reported and keeps the known revocations', async () => {
  const store = createMemoryKeyStore()
  await store.insert(record('a'))
  await store.revoke('a', 1)
  let broken = false
  const source = { ...store, revokedSince: async (ms: number) => (broken ? Promise.reject(new Error('gone')) : store.revokedSince(ms)) }
  const failed = Promise.withResolvers<unknown>()
  const revocations = await createRevocations(source, { now: () => 10, bus: localBus, onError: failed.resolve, intervalMs: 1 })
  broken = true
  // The timer is unref'ed; waiting for it needs something that keeps the process up.
  const alive = setTimeout(() => failed.reject(new Error('no look happened')), 5000)
  assert.match(String(await failed.promise), /gone/)
  clearTimeout(alive)
  assert.ok(revocations.isRevoked('a'))
  await revocations.close()
})

test('the revocations are stale 5 s after the last successful poll, and polled again when asked for', async () => {
  const store = createMemoryKeyStore()
  await store.insert(record('a'))
  let [now, isBroken] = [1_000_000, false]
  const source = { ...store, revokedSince: async (ms: number) => (isBroken ? Promise.reject(new Error('gone')) : store.revokedSince(ms)) }
  const revocations = await createRevocations(source, { now: () => now, bus: localBus, onError: failOnError, intervalMs: never })
  now += 5000
  assert.equal(revocations.isStale(), false)
  await store.revoke('a', now)
  now += 1
  assert.deepEqual([revocations.isStale(), revocations.isRevoked('a')], [true, false])
  isBroken = true
  await assert.rejects(revocations.freshen(), /gone/)
  isBroken = false
  await revocations.freshen()
  assert.deepEqual([revocations.isStale(), revocations.isRevoked('a')], [false, true])
  await revocations.close()
})

test('a poll from before a suspension of the process is not enough', async () => {
  const store = createMemoryKeyStore()
  let [now, polls] = [1_000_000, 0]
  const release = Promise.withResolvers<void>()
  const source = {
    ...store,
    async revokedSince(ms: number) {
      if (++polls === 2) await release.promise
      return store.revokedSince(ms)
    },
  }
  const revocations = await createRevocations(source, { now: () => now, bus: localBus, onError: failOnError, intervalMs: never })
  const suspended = revocations.refresh()
  now += 60_000
  const fresh = revocations.freshen()
  release.resolve()
  await Promise.all([suspended, fresh])
  assert.deepEqual([polls, revocations.isStale()], [3, false])
  await revocations.close()
})

test('a published revocation is in force at once, and a gap causes a poll', async () => {
  const store = createMemoryKeyStore()
  await store.insert(record('b'))
  const told: { revoked?: (data: { jti: string }) => void; gap?: () => void } = {}
  const bus: Bus = {
    publish: () => undefined,
    subscribe: (topic, listener) => {
      assert.equal(topic, 'revoked')
      told.revoked = listener as NonNullable<typeof told.revoked>
      return () => delete told.revoked
    },
    onGap: (listener) => {
      told.gap = listener
      return () => delete told.gap
    },
  }
  const revocations = await createRevocations(store, { now: () => 10, bus, onError: failOnError, intervalMs: never })
  told.revoked?.({ jti: 'a' })
  assert.ok(revocations.isRevoked('a'))
  await store.revoke('b', 10)
  told.gap?.()
  await revocations.refresh()
  assert.ok(revocations.isRevoked('b'))
  await revocations.close()
  assert.deepEqual(told, {})
})

test('opening the revocations fails when the first poll fails', async () => {
  const store = { ...createMemoryKeyStore(), revokedSince: () => Promise.reject(new Error('no store')) }
  await assert.rejects(createRevocations(store, { now: () => 0, bus: localBus, onError: failOnError }), /no store/)
})
