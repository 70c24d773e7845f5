import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { localBus } from '../replicas/bus.ts'
import { createEngine } from './engine.ts'
import type { DueSchedules } from './schedule-store.ts'
import type { ReadSchedule } from './schedule.ts'

const config = () => ({ enabled: true, max_per_caller: 20, max_per_tenant: 200, min_interval: 60, offline_days: 30 })
const named = (id: string) => ({ id }) as ReadSchedule

function start(t: TestContext, { isEnabled = true }: { isEnabled?: boolean } = {}) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const state = { looks: 0, due: [] as ReadSchedule[], nextDueAt: undefined as number | undefined, isAway: false }
  const fired: string[] = []
  const faults: unknown[] = []
  const published: string[] = []
  const postponed: string[] = []
  let fire = async (schedule: ReadSchedule) => {
    fired.push(schedule.id)
    state.due = state.due.filter(({ id }) => id !== schedule.id)
    return true
  }
  const engine = createEngine({
    store: {
      async due(): Promise<DueSchedules> {
        state.looks++
        if (state.isAway) throw new Error('away')
        return { now: 1000, schedules: state.due, nextDueAt: state.nextDueAt, hasWaiting: false }
      },
      postpone: async ({ id }) => void postponed.push(id),
    },
    fire: { due: (schedule) => fire(schedule) },
    config: () => ({ ...config(), enabled: isEnabled }),
    bus: { ...localBus, publish: (topic) => void published.push(topic) },
    onFault: (error) => void faults.push(error),
  })
  t.after(() => engine.stop())
  /** Lets time pass, and what follows from it happen. */
  const pass = async (ms: number) => {
    await settle()
    t.mock.timers.tick(ms)
    await settle()
  }
  const onFire = (next: typeof fire) => void (fire = next)
  return { engine, state, fired, faults, published, postponed, pass, onFire }
}

async function settle(): Promise<void> {
  for (let n = 0; n < 5; n++) await setImmediate()
}

test('a service without schedules looks every 30 s, and at once when one changes', async (t) => {
  const { engine, state, published, pass } = start(t)
  await pass(29_999)
  assert.equal(state.looks, 1)
  await pass(1)
  assert.equal(state.looks, 2)
  engine.changed()
  await pass(0)
  assert.deepEqual([state.looks, published], [3, ['schedules']])
})

test('where schedules are switched off, the store is never asked', async (t) => {
  const { engine, state, pass } = start(t, { isEnabled: false })
  await pass(60_000)
  engine.changed()
  await pass(60_000)
  assert.equal(state.looks, 0)
})

test('the engine sleeps until the next schedule is due', async (t) => {
  const { state, fired, engine, pass } = start(t)
  await pass(0)
  state.nextDueAt = 1000 + 700
  engine.changed()
  await pass(699)
  state.due = [named('a'), named('b')]
  assert.equal(state.looks, 2)
  await pass(1)
  assert.deepEqual(fired, ['a', 'b'])
})

test('one schedule that takes long does not hold up the others, and is not fired twice', async (t) => {
  const { state, onFire, engine, pass } = start(t)
  const begun: string[] = []
  const end = Promise.withResolvers<boolean>()
  onFire((schedule) => {
    begun.push(schedule.id)
    return Promise.resolve(schedule.id === 'slow' && begun.indexOf('slow') === begun.length - 1 ? end.promise : false)
  })
  state.due = [named('slow'), named('fast')]
  engine.changed()
  await pass(1000)
  await pass(1000)
  assert.equal(begun.filter((id) => id === 'slow').length, 1)
  assert.ok(begun.filter((id) => id === 'fast').length >= 2)
  end.resolve(true)
  await pass(0)
  assert.equal(begun.filter((id) => id === 'slow').length, 2)
})

test('a store that is away, and a schedule that cannot be fired, are tried again after a second', async (t) => {
  const { state, fired, faults, postponed, onFire, engine, pass } = start(t)
  await pass(0)
  state.isAway = true
  engine.changed()
  await pass(999)
  assert.equal(faults.length, 1)
  state.isAway = false
  state.due = [named('a')]
  let tries = 0
  onFire(async ({ id }) => {
    if (++tries === 1) throw new Error('overloaded')
    fired.push(id)
    state.due = []
    return true
  })
  await pass(1)
  assert.deepEqual([faults.length, fired, postponed], [2, [], ['a']])
  await pass(1000)
  assert.deepEqual(fired, ['a'])
})

test('a stop waits for what is on its way, and fires nothing more', async (t) => {
  const { state, engine, onFire, pass } = start(t)
  await pass(0)
  const end = Promise.withResolvers<boolean>()
  onFire(() => end.promise)
  state.due = [named('a')]
  engine.changed()
  await settle()
  let isStopped = false
  const stopping = engine.stop().then(() => (isStopped = true))
  await settle()
  assert.equal(isStopped, false)
  end.resolve(true)
  await stopping
  const { looks } = state
  await pass(60_000)
  assert.equal(state.looks, looks)
})

/** A store of 300 schedules that cannot be fired, and of one that is due after them. */
function crowdedStore() {
  const dueAt = new Map([...Array.from({ length: 300 }, (_, n) => [`failing-${n}`, n] as [string, number]), ['free', 1000]])
  const postponed: string[] = []
  const store = {
    due: (limit: number) => {
      const ids = [...dueAt].filter(([, at]) => at <= 1000).toSorted(([, a], [, b]) => a - b)
      const schedules = ids.slice(0, limit).map(([id]) => ({ id }) as ReadSchedule)
      return Promise.resolve({ now: 1000, schedules, nextDueAt: undefined, hasWaiting: false })
    },
    postpone: ({ id }: { id: string }, waitMs: number) => {
      dueAt.set(id, 1000 + waitMs)
      postponed.push(id)
      return Promise.resolve()
    },
  }
  return { store, dueAt, postponed }
}

test('schedules that cannot be fired leave the others their turn', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { store, dueAt, postponed } = crowdedStore()
  const faults: unknown[] = []
  const fired: string[] = []
  const fire = {
    async due({ id }: ReadSchedule) {
      if (id !== 'free') throw new Error('The keys of the provider cannot be read.')
      fired.push(id)
      dueAt.delete(id)
      return true
    },
  }
  const engine = createEngine({ store, fire, config, bus: localBus, onFault: (error) => faults.push(error) })
  for (let seconds = 0; seconds < 60 && fired.length === 0; seconds++) {
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    t.mock.timers.tick(1000)
  }
  await engine.stop()
  assert.deepEqual(fired, ['free'])
  assert.equal(faults.length, 300)
  assert.equal(new Set(postponed).size, 300)
})
