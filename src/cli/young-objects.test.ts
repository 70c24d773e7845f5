import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { collectOnceIdle } from './young-objects.ts'

test('the garbage of a start is collected in the first period without work, and not before', async () => {
  const garbage = new WeakRef({})
  collectOnceIdle(50)
  const busyUntil = performance.now() + 300
  while (performance.now() < busyUntil) await new Promise(setImmediate)
  assert.ok(garbage.deref(), 'a busy process is not stopped for a collection')
  const deadline = performance.now() + 20_000
  while (garbage.deref() && performance.now() < deadline) await sleep(10)
  assert.equal(garbage.deref(), undefined)
})
