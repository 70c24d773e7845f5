import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findExpired, prune, type ExpiredItems, type RetentionKind, type RetentionStore } from './retention.ts'

const day = 86_400_000
const forEver = { sessions: 0, runs: 0, memories: 0, deleted_sessions: 0, access_keys: 0, uploads: 0, metrics: 0, audit: 0 }
const now = () => 1000 * day

/** A store in memory: times of items by kind and tenant. */
function storeOf(things: Partial<Record<RetentionKind, Record<string, number[]>>>, onRemove = () => {}) {
  const log: string[] = []
  const old = (kind: RetentionKind, tenant: string, before: number) => (things[kind]?.[tenant] ?? []).filter((at) => at < before)
  const store: RetentionStore = {
    async *tenants(kind, before) {
      for (const tenant of Object.keys(things[kind] ?? {})) if (old(kind, tenant, before).length > 0) yield tenant
    },
    count: async (kind, tenant, before) => old(kind, tenant, before).length,
    async remove(kind, tenant, before, { limit }) {
      onRemove()
      const batch = old(kind, tenant, before).slice(0, limit)
      log.push(`${kind} ${tenant} ${batch.length}`)
      things[kind]![tenant] = things[kind]![tenant]!.filter((at) => !batch.includes(at))
      return batch.length
    },
  }
  return { store, log }
}

const times = (count: number, first: number) => Array.from({ length: count }, (_, n) => first + n)

test('expired items are removed in growing batches, by kind and tenant; a kind without a limit is kept', async () => {
  const { store, log } = storeOf({ sessions: { a: times(45, 0), b: times(3, 0) }, runs: { a: times(2, 0) }, metrics: { a: times(9, 0) } })
  const rests: number[] = []
  const removed: ExpiredItems[] = []
  const isDone = await prune({
    store,
    now,
    restFactor: 4,
    retention: { ...forEver, sessions: 10, runs: 1 },
    sleep: async (ms) => void rests.push(ms),
    onRemoved: (things) => void removed.push(things),
  })
  assert.equal(isDone, true)
  assert.deepEqual(log, [
    'sessions a 10',
    'sessions a 20',
    'sessions a 15',
    'sessions a 0',
    'sessions b 3',
    'sessions b 0',
    'runs a 2',
    'runs a 0',
  ])
  assert.deepEqual(removed, [
    { kind: 'sessions', tenant: 'a', count: 45 },
    { kind: 'sessions', tenant: 'b', count: 3 },
    { kind: 'runs', tenant: 'a', count: 2 },
  ])
  assert.equal(rests.length, 5)
})

test('a limit counts days and fractions of days', async () => {
  const { store } = storeOf({ sessions: { a: [now() - 1.5 * day - 1, now() - 1.5 * day, now()] } })
  const expired: ExpiredItems[] = []
  for await (const things of findExpired({ store, now, retention: { ...forEver, sessions: 1.5, runs: 1 } })) expired.push(things)
  assert.deepEqual(expired, [{ kind: 'sessions', tenant: 'a', count: 1 }])
})

test('a stopped removal resolves with false, reports what was removed, and the next call continues', async () => {
  const stopping = new AbortController()
  const { store } = storeOf({ sessions: { a: times(30, 0) } }, () => stopping.abort())
  const removed: ExpiredItems[] = []
  const onRemoved = (things: ExpiredItems) => void removed.push(things)
  const options = { store, now, restFactor: 0, retention: { ...forEver, sessions: 1 }, sleep: async () => {}, onRemoved }
  assert.equal(await prune({ ...options, signal: stopping.signal }), false)
  assert.deepEqual(removed, [{ kind: 'sessions', tenant: 'a', count: 10 }])
  assert.equal(await prune({ ...options, limitMs: 0 }), false)
  assert.equal(await prune(options), true)
  assert.equal(removed[1]?.count, 20)
})

test('a slow batch makes the following batches smaller', async () => {
  const { store, log } = storeOf({ sessions: { a: times(30, 0) } }, () => {
    const until = performance.now() + 60
    while (performance.now() < until);
  })
  await prune({ store, now, restFactor: 0, retention: { ...forEver, sessions: 1 }, sleep: async () => {}, onRemoved: () => {} })
  const sizes = log.map((line) => Number(line.split(' ')[2]))
  assert.equal(sizes[0], 10)
  assert.deepEqual(sizes, [10, 5, 5, 5, 5, 0])
})
