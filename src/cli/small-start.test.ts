import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { collectOnceIdle } from './small-start.ts'

test('the garbage of a start is collected in the first period without work, and not before', async () => {
  let collections = 0
  collectOnceIdle(50, () => (collections += 1))
  const busyUntil = performance.now() + 300
  while (performance.now() < busyUntil) await new Promise(setImmediate)
  assert.equal(collections, 0, 'a busy process is not stopped for a collection')
  const deadline = performance.now() + 20_000
  while (collections === 0 && performance.now() < deadline) await sleep(10)
  assert.equal(collections, 1)
})
