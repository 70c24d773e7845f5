import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createEngine } from './engine.ts'
import type { ReadSchedule } from './schedule.ts'

const config = () => ({ enabled: true, max_per_caller: 20, max_per_tenant: 200, min_interval: 60, offline_days: 30 })
const bus = { subscribe: () => () => undefined, publish: () => undefined, onGap: () => () => undefined }

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
  const engine = createEngine({ store, fire, config, bus, onFault: (error) => faults.push(error) })
  for (let seconds = 0; seconds < 60 && fired.length === 0; seconds++) {
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    t.mock.timers.tick(1000)
  }
  await engine.stop()
  assert.deepEqual(fired, ['free'])
  assert.equal(faults.length, 300)
  assert.equal(new Set(postponed).size, 300)
})
