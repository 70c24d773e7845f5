import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWorkers } from './workers.ts'

const open = () => new AbortController().signal
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

test('no more than the most work at a time, the others in the order in which they came', async () => {
  const workers = createWorkers(() => 2)
  const began: number[] = []
  const releases: (() => void)[] = []
  for (const n of [1, 2, 3, 4]) {
    void workers.take(open()).then((release) => {
      began.push(n)
      releases.push(release!)
    })
  }
  await settled()
  assert.deepEqual(began, [1, 2])
  releases[1]!()
  releases[1]!()
  await settled()
  assert.deepEqual(began, [1, 2, 3])
  releases[0]!()
  await settled()
  assert.deepEqual(began, [1, 2, 3, 4])
})

test('who is stopped while waiting takes no place', async () => {
  const workers = createWorkers(() => 1)
  const release = (await workers.take(open()))!
  const stopping = new AbortController()
  const stopped = workers.take(stopping.signal)
  const next = workers.take(open())
  stopping.abort()
  assert.equal(await stopped, undefined)
  assert.equal(await workers.take(AbortSignal.abort()), undefined)
  release()
  assert.ok(await next)
})

test('a higher limit counts from the next look on', async () => {
  let most = 1
  const workers = createWorkers(() => most)
  await workers.take(open())
  const second = workers.take(open())
  most = 3
  const third = workers.take(open())
  assert.ok((await second) && (await third))
})
