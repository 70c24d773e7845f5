import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairPool, FairQueue, shareOf, type FairPool, type PoolRequest } from './fair-pool.ts'

const ann = { tenant: 'one', owner: 'ann' }
const bob = { tenant: 'two', owner: 'bob' }
const settled = () => new Promise(setImmediate)

/** Work which records its start and runs until released. */
function createWork(pool: FairPool) {
  const started: string[] = []
  const gates = new Map<string, () => void>()
  const start = (name: string, caller: typeof ann, signal?: AbortSignal) =>
    pool.use({ caller, signal }, async () => {
      started.push(name)
      await new Promise<void>((resolve) => gates.set(name, resolve))
      return name
    })
  return { started, start, release: async (name: string) => (gates.get(name)!(), settled()) }
}

test('one caller holds at most half of the slots, even when nobody else waits', async () => {
  const { started, start, release } = createWork(createFairPool({ slots: 4 }))
  const calls = ['a1', 'a2', 'a3', 'a4'].map((name) => start(name, ann))
  await settled()
  assert.deepEqual(started, ['a1', 'a2'])
  calls.push(start('b1', bob))
  await settled()
  assert.deepEqual(started, ['a1', 'a2', 'b1'])
  await release('a2')
  assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3'])
  for (const name of ['a1', 'a3', 'a4', 'b1']) await release(name)
  assert.deepEqual(await Promise.all(calls), ['a1', 'a2', 'a3', 'a4', 'b1'])
})

test('callers that wait for one slot take turns, beginning with the first that waits', async () => {
  const pool = createFairPool({ slots: 1 })
  const order: string[] = []
  const call = (name: string, caller: typeof ann) => pool.use({ caller }, async () => void order.push(name))
  await Promise.all([call('a1', ann), call('a2', ann), call('a3', ann), call('b1', bob), call('b2', bob)])
  assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3', 'b2'])
})

test('failed work releases its slot', async () => {
  const pool = createFairPool({ slots: 1 })
  const broken = pool.use({ caller: ann }, () => Promise.reject(new Error('broken')))
  const next = pool.use({ caller: ann }, async () => 'next')
  await assert.rejects(broken, /broken/)
  assert.equal(await next, 'next')
})

test('a waiting call is cancelled by its signal and uses no slot', async () => {
  const { started, start, release } = createWork(createFairPool({ slots: 1 }))
  const first = start('first', ann)
  const leaving = new AbortController()
  const cancelled = assert.rejects(start('left', ann, leaving.signal), /gone away/)
  const last = start('last', ann)
  leaving.abort(new Error('gone away'))
  await cancelled
  await release('first')
  await release('last')
  assert.deepEqual(await Promise.all([first, last]), ['first', 'last'])
  assert.deepEqual(started, ['first', 'last'])
  await assert.rejects(start('late', ann, AbortSignal.abort(new Error('too late'))), /too late/)
})

test('a wait is limited in time and in the number of calls of one caller', async () => {
  const { start, release } = createWork(createFairPool({ slots: 1, maxWaiting: 1, maxWaitMs: 20 }))
  const first = start('first', ann)
  const timedOut = assert.rejects(start('late', ann), /^PoolBusy: No slot became free within 0\.02 s/)
  await assert.rejects(start('third', ann), /^PoolBusy: 1 of your calls are already waiting/)
  await timedOut
  await release('first')
  assert.equal(await first, 'first')
})

const callers = { a: { tenant: 'one', owner: 'a' }, b: { tenant: 'one', owner: 'b' }, c: { tenant: 'two', owner: 'a' } }

interface NamedRequest extends PoolRequest {
  name: string
}

/** Lets calls wait, whose names begin with the name of their caller. */
function wait(queue: FairQueue<NamedRequest, string>, ...names: string[]): Promise<string>[] {
  return names.map((name) => queue.wait({ name, caller: callers[name[0] as keyof typeof callers] }))
}

const namesOf = (queue: FairQueue<NamedRequest, string>) => [...queue].map(({ request }) => request.name)

function serveAll(queue: FairQueue<NamedRequest, string>): string[] {
  const served: string[] = []
  for (let [next] = queue; next; [next] = queue) {
    queue.grant(next, `slot of ${next.request.name}`)
    served.push(next.request.name)
  }
  return served
}

test('callers take turns, and the calls of one caller keep their order', async () => {
  const queue = new FairQueue<NamedRequest, string>()
  const waits = wait(queue, 'a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1')
  assert.deepEqual(namesOf(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  assert.deepEqual(serveAll(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  assert.deepEqual([...queue], [])
  assert.equal(await waits[6], 'slot of c1')
})

test('a caller that was just served comes after a new caller', () => {
  const queue = new FairQueue<NamedRequest, string>()
  void wait(queue, 'a1', 'a2', 'a3')
  const [first] = queue
  queue.grant(first!, '')
  void wait(queue, 'b1')
  assert.deepEqual(serveAll(queue), ['a2', 'b1', 'a3'])
})

test('a rejected call does not use up the turn of its caller', async () => {
  const queue = new FairQueue<NamedRequest, string>()
  const [rejected] = wait(queue, 'a1', 'a2', 'b1')
  const [first] = queue
  first!.reject(new Error('enough'))
  first!.reject(new Error('again'))
  await assert.rejects(rejected!, /enough/)
  assert.deepEqual(serveAll(queue), ['a2', 'b1'])
})

test('the number of waiting calls is limited per caller', async () => {
  const queue = new FairQueue<NamedRequest, string>(2)
  void wait(queue, 'a1', 'a2')
  await assert.rejects(wait(queue, 'a3')[0]!, /^PoolBusy: 2 of your calls are already waiting/)
  void wait(queue, 'c1')
  assert.deepEqual(namesOf(queue), ['a1', 'c1', 'a2'])
})

test('one caller may hold half of the slots, but at least one', () => {
  assert.deepEqual([1, 2, 3, 4, 8].map(shareOf), [1, 1, 1, 2, 4])
})
