import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool, type PooledProcess, type PoolOptions } from './pool.ts'

interface Fake extends PooledProcess {
  readonly name: number
}

/** A pool of processes that exist in name only, numbered by their start. */
function prepare(options: Partial<PoolOptions<Fake>>) {
  const started: Fake[] = []
  const pool = new Pool<Fake>({
    async start() {
      const { promise: gone, resolve } = Promise.withResolvers<void>()
      const name = started.length
      const end = async () => {
        fake.isAlive = false
        resolve()
      }
      const fake = { name, isAlive: true, gone, end }
      started.push(fake)
      return fake
    },
    affinity: 'none',
    max: 1,
    closedText: 'closed',
    ...options,
  })
  return { pool, alive: () => started.filter(({ isAlive }) => isAlive).map(({ name }) => name) }
}

const settled = () => new Promise(setImmediate)
const requestOf = (tenant: string, owner = 'user') => ({ caller: { tenant, owner }, signal: new AbortController().signal })

/** Holds a process until released. */
async function hold(pool: Pool<Fake>, tenant: string) {
  const gate = Promise.withResolvers<void>()
  let retire = () => {}
  const name = Promise.withResolvers<number>()
  const done = pool.use(requestOf(tenant), async (lease) => {
    retire = () => lease.retire()
    name.resolve(lease.process.name)
    await gate.promise
  })
  return { name: await name.promise, retire: () => retire(), release: () => (gate.resolve(), done) }
}

test('without affinity all tenants share a process, and a retired process ends with its last call', async () => {
  const { pool, alive } = prepare({ callsAtOnce: 4 })
  const first = await hold(pool, 'a')
  const second = await hold(pool, 'b')
  assert.deepEqual([first.name, second.name], [0, 0])
  first.retire()
  const third = await hold(pool, 'c')
  assert.equal(third.name, 1)
  await first.release()
  assert.deepEqual(alive(), [0, 1])
  await second.release()
  assert.deepEqual(alive(), [1])
  await third.release()
  await pool.close()
  assert.deepEqual(alive(), [])
})

test('a caller holds at most half of the calls of a shared process', async () => {
  const { pool } = prepare({ callsAtOnce: 4 })
  const held = [await hold(pool, 'a'), await hold(pool, 'a')]
  let isServed = false
  const waiting = pool.use(requestOf('a'), async () => void (isServed = true))
  const other = await hold(pool, 'b')
  await settled()
  assert.equal(isServed, false)
  await held[0]!.release()
  await waiting
  await Promise.all([held[1]!.release(), other.release()])
  await pool.close()
})

test('tenants never share a process, and a change of tenants keeps one spare process ready', async () => {
  const { pool, alive } = prepare({ affinity: 'tenant', max: 2 })
  const nameOf = (tenant: string) => pool.use(requestOf(tenant), async ({ process }) => process.name)
  assert.deepEqual([await nameOf('a'), await nameOf('a')], [0, 0])
  assert.deepEqual(alive(), [0])
  assert.equal(await nameOf('b'), 1)
  await settled()
  assert.deepEqual(alive(), [0, 1, 2])
  // The place of the process that was used longest ago is given to the third tenant.
  assert.equal(await nameOf('c'), 2)
  await settled()
  assert.deepEqual(alive(), [1, 2, 3])
  assert.equal(await nameOf('b'), 1)
  await pool.close()
  assert.deepEqual(alive(), [])
})

test('a process is replaced after its number of calls, and at once when it dies', async () => {
  const { pool, alive } = prepare({ callsPerProcess: 2 })
  const nameOf = () => pool.use(requestOf('a'), async ({ process }) => process.name)
  assert.deepEqual([await nameOf(), await nameOf(), await nameOf()], [0, 0, 1])
  await pool.use(requestOf('a'), ({ process }) => process.end())
  assert.equal(await nameOf(), 2)
  await pool.clear()
  assert.deepEqual(alive(), [])
  assert.equal(await nameOf(), 3)
  await pool.close()
  await assert.rejects(nameOf(), /^Error: closed$/)
})

test('the error of a wait names what the call waited for', async () => {
  const { pool } = prepare({ affinity: 'conversation', max: 2, spareDelayMs: 60_000, timeoutError: (_, obstacle) => new Error(obstacle) })
  const request = (tenant: string, conversation: string) => ({ ...requestOf(tenant), conversation, maxWaitMs: 10 })
  const gate = Promise.withResolvers<void>()
  const held = pool.use(request('a', '1'), () => gate.promise)
  await settled()
  await assert.rejects(
    pool.use(request('a', '1'), async () => {}),
    /^Error: conversation$/,
  )
  await assert.rejects(
    pool.use(request('a', '2'), async () => {}),
    /^Error: share$/,
  )
  const other = pool.use(request('b', '3'), () => gate.promise)
  await settled()
  await assert.rejects(
    pool.use(request('c', '4'), async () => {}),
    /^Error: process$/,
  )
  gate.resolve()
  await Promise.all([held, other])
  await pool.close()
})
