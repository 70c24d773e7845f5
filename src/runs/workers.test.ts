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
    void workers.take('ann', open()).then((release) => {
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
  const release = (await workers.take('ann', open()))!
  const stopping = new AbortController()
  const stopped = workers.take('ann', stopping.signal)
  const next = workers.take('ann', open())
  stopping.abort()
  assert.equal(await stopped, undefined)
  assert.equal(await workers.take('ann', AbortSignal.abort()), undefined)
  release()
  assert.ok(await next)
})

test('a higher limit counts from the next look on', async () => {
  let most = 1
  const workers = createWorkers(() => most)
  await workers.take('ann', open())
  const second = workers.take('ann', open())
  most = 3
  const third = workers.take('ann', open())
  assert.ok((await second) && (await third))
})

test('a burst of one caller does not hold up the others', async () => {
  const workers = createWorkers(() => 2)
  const began: string[] = []
  const releases: (() => void)[] = []
  const take = (caller: string) =>
    void workers.take(caller, open()).then((release) => {
      began.push(caller)
      releases.push(release!)
    })
  for (const caller of ['ann', 'ann', 'ann', 'ann', 'bob', 'bob', 'eve']) take(caller)
  await settled()
  for (let at = 0; at < 5; at++) {
    releases[at]!()
    await settled()
  }
  assert.deepEqual(began, ['ann', 'ann', 'bob', 'ann', 'eve', 'bob', 'ann'])
})
