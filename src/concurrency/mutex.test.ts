import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyedMutex, createMutex } from './mutex.ts'

test('work runs one at a time in the order of the calls, also behind work that failed', async () => {
  const mutex = createMutex()
  const events: string[] = []
  const work = (name: string) => async () => {
    events.push(`${name} starts`)
    await Promise.resolve()
    events.push(`${name} ends`)
    if (name === 'a') throw new Error('a failed')
    return name
  }
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => mutex.run(work(name))))
  assert.deepEqual(events, ['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends'])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason))),
    ['Error: a failed', 'b', 'c'],
  )
})

test('idle resolves behind the work that was handed over', async () => {
  const mutex = createMutex()
  const gate = Promise.withResolvers<void>()
  let isDone = false
  void mutex.run(async () => {
    await gate.promise
    isDone = true
  })
  gate.resolve()
  await mutex.idle()
  assert.equal(isDone, true)
})

test('keys exclude only themselves', async () => {
  const mutex = createKeyedMutex()
  const gate = Promise.withResolvers<void>()
  const events: string[] = []
  const first = mutex.run('x', async () => {
    await gate.promise
    events.push('x first')
  })
  const second = mutex.run('x', async () => void events.push('x second'))
  await mutex.run('y', async () => void events.push('y'))
  gate.resolve()
  await Promise.all([first, second])
  assert.deepEqual(events, ['y', 'x first', 'x second'])
})
