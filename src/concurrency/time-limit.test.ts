import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TimeLimit } from './time-limit.ts'

test('the signal is aborted with the other signal, with its reason, before and after the start', () => {
  const outer = new AbortController()
  const limit = new TimeLimit(outer.signal, 60_000)
  assert.equal(limit.signal.aborted, false)
  const reason = new Error('left')
  outer.abort(reason)
  assert.equal(limit.signal.reason, reason)
  assert.equal(new TimeLimit(outer.signal).signal.reason, reason)
  assert.equal(limit.isOver, false)
  limit.end()
})

test('the signal is aborted when the time is over', async () => {
  const limit = new TimeLimit(new AbortController().signal, 1)
  // The timer keeps no process alive, so the test does.
  const alive = setTimeout(() => undefined, 60_000)
  await new Promise((resolve) => limit.signal.addEventListener('abort', resolve))
  clearTimeout(alive)
  assert.equal((limit.signal.reason as Error).name, 'TimeoutError')
  assert.equal(limit.isOver, true)
})

test('the end aborts the rest of the work, and is no timeout', () => {
  const outer = new AbortController()
  const limit = new TimeLimit(outer.signal, 60_000)
  limit.end()
  const { reason } = limit.signal
  assert.equal(limit.signal.aborted, true)
  outer.abort()
  assert.equal(limit.signal.reason, reason)
  assert.equal(limit.isOver, false)
})

test('a race settles as its work does, and with the abort when the work ignores the signal', async () => {
  const outer = new AbortController()
  assert.equal(await new TimeLimit(outer.signal).race(Promise.resolve(7)), 7)
  await assert.rejects(new TimeLimit(outer.signal).race(Promise.reject(new Error('broken'))), /broken/)
  const work = Promise.withResolvers<number>()
  const racing = new TimeLimit(outer.signal).race(work.promise)
  outer.abort(new Error('left'))
  await assert.rejects(racing, /left/)
  await assert.rejects(new TimeLimit(outer.signal).race(work.promise), /left/)
  // A later failure is ignored.
  work.reject(new Error('late'))
})
