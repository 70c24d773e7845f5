import { test } from 'node:test'
import assert from 'node:assert/strict'
import { setTimeout as after } from 'node:timers/promises'
import type { Owner } from '../../access/owner.ts'
import { WorkerLost } from '../../processes/worker.ts'
import type { Interpreter } from './interpreter.ts'
import { Workspaces, type WorkspaceLease, type WorkspaceOptions, type WorkspaceRequest } from './workspaces.ts'

interface Fake extends Interpreter {
  readonly name: number
  die(): void
}

function prepare(options: Partial<WorkspaceOptions> = {}): { pool: Workspaces; started: Fake[]; alive(): number[] } {
  const started: Fake[] = []
  const start = async (): Promise<Interpreter> => {
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    let isAlive = true
    const die = () => {
      isAlive = false
      resolve()
    }
    const fake: Fake = {
      name: started.length,
      get isAlive() {
        return isAlive
      },
      gone,
      run: () => Promise.reject(new Error('not used here')),
      end: async () => die(),
      die,
    }
    started.push(fake)
    return fake
  }
  const pool = new Workspaces({ start, max: 2, keepMs: 60_000, spareDelayMs: 60_000, ...options })
  return { pool, started, alive: () => started.filter((one) => one.isAlive).map((one) => one.name) }
}

type RequestOptions = Partial<Pick<WorkspaceRequest, 'caller' | 'maxWaitMs' | 'signal' | 'mayReuse'>>

/** By default each conversation has a caller of its own. */
function use<T>(
  pool: Workspaces,
  conversation: string,
  work: (lease: WorkspaceLease) => Promise<T>,
  options: RequestOptions = {},
): Promise<T> {
  const caller = { tenant: 'default', owner: conversation }
  const { signal } = new AbortController()
  return pool.use({ conversation, caller, signal, maxWaitMs: 2_000, mayReuse: () => true, ...options }, work)
}

const nameOf = async ({ workspace }: WorkspaceLease) => (workspace.interpreter as Fake).name
const historyOf = async ({ isFresh, hasForgotten }: WorkspaceLease) => ({ isFresh, hasForgotten })

test('a conversation finds its process again, and no other conversation uses that process', async () => {
  const { pool } = prepare()
  assert.deepEqual([await use(pool, 'a', nameOf), await use(pool, 'b', nameOf), await use(pool, 'a', nameOf)], [0, 1, 0])
  assert.deepEqual(await use(pool, 'a', historyOf), { isFresh: false, hasForgotten: false })
  await pool.close()
})

test('calls of one conversation take turns', async () => {
  const { pool } = prepare()
  const log: string[] = []
  const call = (name: string, ms: number) =>
    use(pool, 'a', async () => {
      log.push(`${name} begins`)
      await after(ms)
      log.push(`${name} ends`)
    })
  await Promise.all([call('first', 20), call('second', 1)])
  assert.deepEqual(log, ['first begins', 'first ends', 'second begins', 'second ends'])
  await pool.close()
})

test('when all slots are taken, the slot that was used longest ago is evicted, and its conversation is told', async () => {
  const { pool, alive } = prepare()
  for (const conversation of ['a', 'b']) {
    await use(pool, conversation, nameOf)
    await after(2)
  }
  await use(pool, 'a', nameOf)
  assert.equal(await use(pool, 'c', nameOf), 2)
  assert.deepEqual(alive(), [0, 2])
  assert.deepEqual(await use(pool, 'b', historyOf), { isFresh: true, hasForgotten: true })
  assert.deepEqual(await use(pool, 'b', historyOf), { isFresh: false, hasForgotten: false })
  await pool.close()
  assert.deepEqual(alive(), [])
})

test('a call that finds every slot busy waits until its timeout', async () => {
  const { pool, started } = prepare({ max: 1 })
  const { promise: held, resolve: leave } = Promise.withResolvers<void>()
  const holding = use(pool, 'a', () => held)
  await assert.rejects(use(pool, 'b', nameOf, { maxWaitMs: 20 }), /^Error: All 1 places for Python are taken/)
  await assert.rejects(use(pool, 'a', nameOf, { maxWaitMs: 20 }), /still busy with an earlier call of this conversation/)
  const leaving = new AbortController()
  const rejected = assert.rejects(use(pool, 'c', nameOf, { signal: leaving.signal }), /gone away/)
  leaving.abort(new Error('gone away'))
  await rejected
  const waiting = use(pool, 'b', nameOf)
  leave()
  await holding
  assert.equal(await waiting, 1)
  assert.equal(started.length, 2)
  await pool.close()
})

test('a slot is not leased to a call that was aborted in the same turn', async () => {
  const { pool } = prepare({ max: 1 })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const leaving = new AbortController()
  const holding = use(pool, 'a', () => held)
  const aborted = assert.rejects(use(pool, 'b', nameOf, { signal: leaving.signal }), /gone away/)
  await after(1)
  release()
  leaving.abort(new Error('gone away'))
  await Promise.all([holding, aborted])
  assert.equal(await use(pool, 'b', nameOf), 1)
  await pool.close()
})

test('an idle process is kept for keepMs', async () => {
  const { pool, alive } = prepare({ keepMs: 0 })
  await use(pool, 'a', nameOf)
  assert.deepEqual(alive(), [])
  assert.deepEqual(await use(pool, 'a', historyOf), { isFresh: true, hasForgotten: true })
  await pool.close()
})

test('a spare process is ready before the first call and ends when nobody uses Python', async () => {
  const { pool, started, alive } = prepare({ max: 3, spareDelayMs: 1, spareMs: 60 })
  pool.prepare()
  pool.prepare()
  assert.deepEqual(alive(), [0])
  assert.equal(await use(pool, 'a', nameOf), 0)
  await after(20)
  assert.equal(started.length, 2)
  assert.equal(await use(pool, 'b', nameOf), 1)
  await after(150)
  assert.deepEqual(alive(), [0, 1])
  await pool.close()
})

test('the spare process counts towards the maximum', async () => {
  const { pool, alive } = prepare({ max: 1, spareDelayMs: 1 })
  pool.prepare()
  await Promise.all(['a', 'b', 'c'].map((conversation) => use(pool, conversation, async () => assert.ok(alive().length <= 1))))
  await after(10)
  assert.equal(alive().length, 1)
  await pool.close()
})

test('a process that dies is replaced, and its conversation is told once', async () => {
  const { pool, started } = prepare()
  await use(pool, 'a', nameOf)
  started[0]?.die()
  await after(1)
  assert.deepEqual(await use(pool, 'a', historyOf), { isFresh: true, hasForgotten: true })
  const lost = use(pool, 'a', async ({ workspace }) => {
    ;(workspace.interpreter as Fake).die()
    throw new WorkerLost('exit', 'it has ended')
  })
  await assert.rejects(lost, WorkerLost)
  assert.deepEqual(await use(pool, 'a', historyOf), { isFresh: true, hasForgotten: false })
  await pool.close()
})

test('a conversation that may not reuse its process gets a new one', async () => {
  const { pool, alive } = prepare()
  await use(pool, 'a', nameOf)
  const history = await use(pool, 'a', historyOf, { mayReuse: ({ interpreter }) => (interpreter as Fake).name > 0 })
  assert.deepEqual(history, { isFresh: true, hasForgotten: true })
  assert.deepEqual(alive(), [1])
  await pool.close()
})

test('a call fails with a message when no process can be started, and the next call tries again', async () => {
  let fails = true
  const fake = prepare()
  await use(fake.pool, 'x', nameOf)
  const pool = new Workspaces({
    start: () => (fails ? Promise.reject(new Error('no')) : Promise.resolve(fake.started[0] as Interpreter)),
    max: 1,
    keepMs: 1_000,
  })
  await assert.rejects(use(pool, 'a', nameOf), /Python cannot be started at the moment/)
  fails = false
  assert.equal(await use(pool, 'a', nameOf), 0)
  await pool.close()
})

test('close ends all processes and rejects waiting calls', async () => {
  const { pool, alive } = prepare({ max: 1 })
  pool.prepare()
  const holding = use(pool, 'a', () => after(30))
  const waiting = assert.rejects(use(pool, 'b', nameOf), /closed/)
  await after(5)
  await pool.close()
  await waiting
  await holding
  assert.deepEqual(alive(), [])
  await assert.rejects(use(pool, 'a', nameOf), /closed/)
})

const ann: Owner = { tenant: 'one', owner: 'agent-core ann' }
const bob: Owner = { tenant: 'two', owner: 'agent-core bob' }

test('one caller uses at most half of the processes, and another caller finds a free one at once', async () => {
  const { pool } = prepare({ max: 4 })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const inside: string[] = []
  const hold = (conversation: string, caller: Owner) =>
    use(
      pool,
      conversation,
      async () => {
        inside.push(conversation)
        await held
      },
      { caller },
    )
  const calls = ['a1', 'a2', 'a3', 'a4'].map((conversation) => hold(conversation, ann))
  await after(1)
  assert.deepEqual(inside, ['a1', 'a2'])
  calls.push(hold('b1', bob))
  await after(1)
  assert.deepEqual(inside, ['a1', 'a2', 'b1'])
  const impatient = use(pool, 'a5', nameOf, { caller: ann, maxWaitMs: 20 })
  await assert.rejects(impatient, /^Error: Your other conversations have 2 calls of Python running; no more run for one caller at a time/)
  release()
  await Promise.all(calls)
  assert.deepEqual(inside, ['a1', 'a2', 'b1', 'a3', 'a4'])
  await pool.close()
})

test('callers take turns when conversations wait for one process', async () => {
  const { pool } = prepare({ max: 1 })
  const order: string[] = []
  const call = (conversation: string, caller: Owner) => use(pool, conversation, async () => void order.push(conversation), { caller })
  await Promise.all([call('a1', ann), call('a2', ann), call('a3', ann), call('b1', bob), call('b2', bob)])
  assert.deepEqual(order, ['a1', 'b1', 'a2', 'b2', 'a3'])
  await pool.close()
})

test('slots of the caller with the most slots are evicted first', async () => {
  const { pool } = prepare({ max: 4 })
  await use(pool, 'b1', nameOf, { caller: bob })
  await after(2)
  for (const conversation of ['a1', 'a2', 'a3', 'a4', 'a5']) await use(pool, conversation, nameOf, { caller: ann })
  assert.deepEqual(await use(pool, 'b1', historyOf, { caller: bob }), { isFresh: false, hasForgotten: false })
  await pool.close()
})
