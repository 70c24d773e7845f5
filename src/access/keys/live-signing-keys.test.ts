import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { localBus, type Bus } from '../../replicas/bus.ts'
import { openLiveSigningKeys } from './live-signing-keys.ts'
import { createMemorySecret } from './memory-key-store.ts'
import { openSigningKeys, rotateSigningKeys } from './signing-keys.ts'

const never = 2 ** 30
const now = () => 1_700_000_000_000

async function start(t: TestContext, { intervalMs = never, bus = localBus }: { intervalMs?: number; bus?: Bus } = {}) {
  const kept = createMemorySecret()
  const state = { loads: 0, isAway: false }
  const counted = {
    ...kept,
    load: async () => {
      state.loads++
      if (state.isAway) throw new Error('no database')
      return kept.kept
    },
    change: kept.change.bind(kept),
  }
  const errors: unknown[] = []
  const live = await openLiveSigningKeys(counted, { now, bus, intervalMs, onError: (error) => errors.push(error) })
  t.after(() => live.close())
  const rotate = async (endNow = false) => {
    await rotateSigningKeys(kept, { now, latestExpiry: async () => 0, endNow })
    return (await openSigningKeys(kept, now)).newest().kid
  }
  return { live, rotate, state, errors }
}

test('a key that another process has just made is found at its first use', async (t) => {
  const { live, rotate } = await start(t)
  const first = live.newest().kid
  const kid = await rotate()
  assert.equal(live.find(kid), undefined)
  assert.equal((await live.lookFor(kid))?.kid, kid)
  assert.deepEqual([live.newest().kid, live.find(first)?.kid], [kid, first])
})

test('the store is asked a few times a second for any number of unknown keys', async (t) => {
  const { live, state } = await start(t)
  state.loads = 0
  const started = performance.now()
  for (let round = 0; round < 20; round++) {
    const found = await Promise.all(Array.from({ length: 50 }, () => live.lookFor('k'.repeat(43))))
    assert.ok(found.every((key) => key === undefined))
    if (performance.now() - started > 500) break
  }
  assert.ok(state.loads <= 2 + (performance.now() - started) / 200, `${state.loads} loads`)
})

test('without the store lookups fail, known keys stay in force, and the error is reported once', async (t) => {
  const { live, state, errors } = await start(t, { intervalMs: 1 })
  const first = live.newest().kid
  state.isAway = true
  await assert.rejects(live.lookFor('k'.repeat(43)), /no database/)
  state.loads = 0
  while (state.loads < 5) await new Promise((resolve) => setTimeout(resolve, 1))
  assert.deepEqual({ kid: live.find(first)?.kid, errorCount: errors.length }, { kid: first, errorCount: 1 })
})

test('polls repeat, and listeners hear of a change', async (t) => {
  const { live, rotate } = await start(t, { intervalMs: 1 })
  const first = live.newest().kid
  const changed = new Promise<void>((resolve) => live.onChange(resolve))
  const kid = await rotate(true)
  // The timer is unref'ed; waiting for it needs something that keeps the process up.
  const alive = setInterval(() => undefined, 1000)
  await changed
  clearInterval(alive)
  assert.deepEqual({ kid: live.newest().kid, live: live.find(first) }, { kid, live: undefined })
})

test('a message on the bus, and a gap, cause a poll at once', async (t) => {
  const told = new Set<() => void>()
  const tell = () => [...told].forEach((listener) => listener())
  const listen = (listener: () => void) => {
    told.add(listener)
    return () => void told.delete(listener)
  }
  const bus: Bus = { ...localBus, subscribe: (_topic, listener) => listen(listener as () => void), onGap: listen }
  const { live, rotate } = await start(t, { bus })
  const kid = await rotate()
  const changed = new Promise<void>((resolve) => live.onChange(resolve))
  tell()
  await changed
  assert.equal(live.newest().kid, kid)
  await live.close()
  assert.equal(told.size, 0)
})
