import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSums, measureStoreWaits, PhaseTimes, roundSums, sumsSince, waitForStore, type PhaseSums } from './phase-times.ts'

function start(queuedMs = 0) {
  let now = 1000
  const times = new PhaseTimes({ queuedMs, clock: () => now })
  /** Lets time pass. */
  const pass = (ms: number) => void (now += ms)
  return { times, pass }
}

const sumsOf = (sums: Partial<PhaseSums>): PhaseSums => ({ queue: 0, store: 0, model: 0, tools: 0, people: 0, own: 0, ...sums })

test('the time between phases is own time, and the sums contain the open phase', () => {
  const { times, pass } = start(3)
  pass(1)
  times.begin('store')
  pass(2)
  assert.deepEqual(times.read(), sumsOf({ queue: 3, own: 1, store: 2 }))
  times.end('store')
  pass(4)
  times.begin('model')
  pass(8)
  times.end('model')
  assert.deepEqual(times.read(), sumsOf({ queue: 3, own: 5, store: 2, model: 8 }))
})

test('overlapping tool calls count once, and a wait for the store next to a tool call counts as tools', () => {
  const { times, pass } = start()
  times.begin('tools')
  pass(10)
  times.begin('tools')
  times.begin('store')
  pass(10)
  times.end('tools')
  pass(10)
  times.end('tools')
  pass(5)
  times.end('store')
  assert.deepEqual(times.read(), sumsOf({ tools: 30, store: 5 }))
})

test('a wait for a reader or for a decision is in no other phase', () => {
  const { times, pass } = start()
  times.begin('model')
  pass(1)
  times.begin('people')
  pass(100)
  times.end('people')
  pass(1)
  times.endAll('model')
  assert.deepEqual(times.read(), sumsOf({ model: 2, people: 100 }))
})

test('a phase that is ended without a begin, or twice, changes nothing', () => {
  const { times, pass } = start()
  times.end('tools')
  times.begin('tools')
  times.begin('tools')
  times.endAll('tools')
  times.end('tools')
  pass(7)
  assert.deepEqual(times.read(), sumsOf({ own: 7 }))
})

test('a promise counts until it settles, also when it rejects or its work throws', async () => {
  const { times, pass } = start()
  const result = Promise.withResolvers<string>()
  const waiting = times.during('queue', () => result.promise)
  pass(5)
  result.resolve('turn')
  assert.equal(await waiting, 'turn')
  pass(1)
  await assert.rejects(times.during('store', () => Promise.reject(new Error('away'))))
  assert.throws(() =>
    times.during('store', () => {
      throw new Error('broken')
    }),
  )
  pass(1)
  assert.deepEqual(times.read(), sumsOf({ queue: 5, own: 2 }))
})

test('the sums of earlier attempts are added once, whatever their number', () => {
  const { times, pass } = start()
  times.restore(sumsOf({ model: 1 }))
  times.restore(sumsOf({ model: 10, own: 2 }))
  pass(3)
  assert.deepEqual(times.readAll(), sumsOf({ model: 10, own: 5 }))
  assert.deepEqual(times.read(), sumsOf({ own: 3 }))
})

test('sums are added, subtracted and rounded phase by phase', () => {
  const both = addSums(sumsOf({ queue: 1, own: 1 }), sumsOf({ queue: 2, tools: 4 }))
  assert.deepEqual(both, sumsOf({ queue: 3, own: 1, tools: 4 }))
  assert.deepEqual(sumsSince(both, sumsOf({ queue: 2 })), sumsOf({ queue: 1, own: 1, tools: 4 }))
  assert.deepEqual(roundSums(sumsOf({ store: 0.12666, own: 1.004 })), sumsOf({ store: 0.13, own: 1 }))
})

test('waits for the store count for the request in which they are made, and for no other', async () => {
  const [first, second] = [start(), start()]
  const query = async (): Promise<void> => {
    await Promise.resolve()
    await waitForStore(async () => first.pass(4))
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  measureStoreWaits(first.times, () => void query().then(resolve))
  measureStoreWaits(second.times, () => undefined)
  await promise
  await waitForStore(async () => first.pass(1))
  assert.deepEqual(first.times.read(), sumsOf({ store: 4, own: 1 }))
  assert.deepEqual(second.times.read(), sumsOf({}))
})
