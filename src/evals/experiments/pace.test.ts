import assert from 'node:assert/strict'
import { setImmediate as tick } from 'node:timers/promises'
import { test } from 'node:test'
import { createReplayPace, Overloaded, type PaceOptions } from './pace.ts'

const never = new AbortController().signal
const paceOf = (options: Partial<PaceOptions> = {}) =>
  createReplayPace({ concurrency: () => 1, overload: () => undefined, isBusy: () => false, ...options })

test('replays wait for a place in order; one that is given up leaves its place to the next', async () => {
  const pace = paceOf()
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const gone = new AbortController()
  const works = [
    pace.run(() => first.promise, never),
    pace.run(async () => void order.push('gone'), gone.signal).catch(() => order.push('given up')),
    pace.run(async () => void order.push('third'), never),
  ]
  await tick()
  first.resolve()
  gone.abort()
  await Promise.all(works)
  assert.deepEqual(order, ['given up', 'third'])
})

test('a place is free again after a failure', async () => {
  const pace = paceOf()
  await assert.rejects(
    pace.run(() => Promise.reject(new Error('no')), never),
    /no/,
  )
  assert.equal(await pace.run(async () => 1, never), 1)
})

test('nothing starts during an overload, and a long overload leaves the work to another process', async () => {
  let looks = 0
  const passing = paceOf({ overload: () => (++looks < 3 ? 'it is busy' : undefined), overloadMs: { poll: 1, giveUp: 100 } })
  assert.equal(await passing.run(async () => looks, never), 3)
  const busy = paceOf({ overload: () => 'it is busy', overloadMs: { poll: 1, giveUp: 3 } })
  await assert.rejects(
    busy.run(async () => 1, never),
    Overloaded,
  )
})

test('beside chats, a replay is followed by a rest in proportion to its work', async () => {
  const busyMs = 30
  const work = async () => {
    for (const until = performance.now() + busyMs; performance.now() < until;);
    await tick()
  }
  const timeOf = async (isBusy: boolean) => {
    const startedAt = performance.now()
    await paceOf({ isBusy: () => isBusy }).run(work, never)
    return performance.now() - startedAt
  }
  assert.ok((await timeOf(true)) >= 4 * busyMs)
})
