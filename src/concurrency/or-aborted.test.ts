import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orAborted } from './or-aborted.ts'

test('settles as the work does while nothing is aborted', async () => {
  const { signal } = new AbortController()
  assert.equal(await orAborted(Promise.resolve(7), signal), 7)
  await assert.rejects(orAborted(Promise.reject(new Error('broken')), signal), /broken/)
})

test('rejects with the reason once the signal is aborted, before or during the work', async () => {
  const work = Promise.withResolvers<number>()
  const stopping = new AbortController()
  const waiting = orAborted(work.promise, stopping.signal)
  stopping.abort(new Error('stopped'))
  await assert.rejects(waiting, /stopped/)
  await assert.rejects(orAborted(work.promise, stopping.signal), /stopped/)
  work.reject(new Error('too late'))
  await assert.rejects(work.promise, /too late/)
})
