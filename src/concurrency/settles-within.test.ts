import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settlesWithin } from './settles-within.ts'

test('work that resolves or rejects in time has settled, and the timer ends with it', async () => {
  assert.equal(await settlesWithin(Promise.resolve(1), 60_000), true)
  assert.equal(await settlesWithin(Promise.reject(new Error('broken')), 60_000), true)
})

test('work that takes longer has not settled, and its later failure stays without effect', async () => {
  const work = Promise.withResolvers<void>()
  const asked: number[] = []
  const sleep = (ms: number) => Promise.resolve(asked.push(ms))
  assert.equal(await settlesWithin(work.promise, 50, sleep), false)
  assert.deepEqual(asked, [50])
  work.reject(new Error('too late'))
  await assert.rejects(work.promise, /too late/)
})
