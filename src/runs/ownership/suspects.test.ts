import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LiveRun } from './live-run.ts'
import type { OrphanedRun } from '../run-store.ts'
import { createSuspects } from './adopt.ts'

test('suspects of which none can be taken are looked for again after a wait, not at once', async () => {
  let looks = 0
  const waits: (() => void)[] = []
  const suspects = createSuspects({
    takeOver: async () => undefined,
    // As a sweep does, which finds them again.
    next: async () => {
      looks++
      if (looks < 100) suspects.tryOne([{} as OrphanedRun])
    },
    sleep: () => new Promise((resolve) => waits.push(resolve)),
  })
  suspects.tryOne([{} as OrphanedRun, {} as OrphanedRun])
  await new Promise(setImmediate)
  assert.deepEqual({ looks, waitCount: waits.length }, { looks: 0, waitCount: 1 })
  waits[0]!()
  await new Promise(setImmediate)
  assert.deepEqual({ looks, waitCount: waits.length }, { looks: 1, waitCount: 2 })
})

test('the next suspect is taken when the one before has ended or made a checkpoint', async () => {
  const waiting = [{ requestId: 'a' }, { requestId: 'b' }, { requestId: 'c' }] as OrphanedRun[]
  const taken: { requestId: string; end: () => void; progress: () => void }[] = []
  const suspects = createSuspects({
    async takeOver({ requestId }) {
      const ended = Promise.withResolvers<void>()
      const progressed = Promise.withResolvers<void>()
      waiting.shift()
      taken.push({ requestId, end: ended.resolve, progress: progressed.resolve })
      return { ended: ended.promise, progressed: progressed.promise } as LiveRun
    },
    next: async () => suspects.tryOne([...waiting]),
    sleep: () => new Promise(() => undefined),
  })
  const takenNow = async () => {
    await new Promise(setImmediate)
    return taken.map(({ requestId }) => requestId).join()
  }
  suspects.tryOne([...waiting])
  assert.equal(await takenNow(), 'a')
  suspects.tryOne([...waiting])
  assert.equal(await takenNow(), 'a')
  taken[0]!.progress()
  assert.equal(await takenNow(), 'a,b')
  taken[1]!.end()
  assert.equal(await takenNow(), 'a,b,c')
})
