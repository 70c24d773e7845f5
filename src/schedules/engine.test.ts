import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngine } from './engine.ts'
import type { ReadSchedule } from './schedule.ts'

test('other work of the process goes on between the firings of a look', async () => {
  const schedules = Array.from({ length: 5 }, (_, n) => ({ id: `s${n}` }) as ReadSchedule)
  let looks = 0
  let turns = 0
  const turnsAtFiring: number[] = []
  const all = Promise.withResolvers<void>()
  const countTurns = () => {
    turns++
    if (turnsAtFiring.length < schedules.length) setImmediate(countTurns)
  }
  setImmediate(countTurns)
  const engine = createEngine({
    store: {
      due: async () => ({ now: 0, schedules: looks++ === 0 ? schedules : [], nextDueAt: undefined, hasWaiting: false }),
      postpone: async () => assert.fail('nothing fails'),
    },
    fire: {
      due: async () => {
        if (turnsAtFiring.push(turns) === schedules.length) all.resolve()
        return false
      },
    },
    config: () => ({ enabled: true }) as never,
    bus: { subscribe: () => () => undefined, publish: () => undefined, onGap: () => () => undefined },
    onFault: (error) => assert.fail(String(error)),
  })
  await all.promise
  await engine.stop()
  assert.equal(new Set(turnsAtFiring).size, schedules.length, turnsAtFiring.join())
})
