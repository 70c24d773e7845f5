import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LostRun } from './run-store.ts'
import { createSuspects } from './suspects.ts'

test('suspects of which none can be taken are looked for again after a wait, not at once', async () => {
  let looks = 0
  const waits: (() => void)[] = []
  const suspects = createSuspects({
    takeOver: async () => undefined,
    // As a sweep does, which finds them again.
    next: async () => {
      looks++
      if (looks < 100) suspects.tryOne([{} as LostRun])
    },
    sleep: () => new Promise((resolve) => waits.push(resolve)),
  })
  suspects.tryOne([{} as LostRun, {} as LostRun])
  await new Promise(setImmediate)
  assert.deepEqual([looks, waits.length], [0, 1])
  waits[0]!()
  await new Promise(setImmediate)
  assert.deepEqual([looks, waits.length], [1, 2])
})
