import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairPool, type FairPool } from './fair-pool.ts'

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
