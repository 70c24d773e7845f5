import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ServiceError } from '../../errors.ts'
import { localBus } from '../../replicas/bus.ts'
import { createSessionQueue, type SessionQueueDependencies } from './session-queue.ts'
import { LiveRun, type LiveRunOptions } from './live-run.ts'
import { FenceLost, type NewMessage, type NextRun, type Turn } from '../run-store.ts'
import { runKeyText } from './run-registry.ts'

const turn: Turn = { session: 's', messageIndex: 0, messageCount: 1, windowStart: 0 }
const messages = (): NewMessage[] => [{ role: 'human', content: 'Hi', createdAt: 0 }]

function runOf(requestId: string): LiveRun {
  const key = { tenant: 't', owner: 'o', requestId }
  const request = { messages: [{ role: 'user' as const, content: 'Hi' }], filters: [], headers: {} }
  return new LiveRun({ key, sessionId: 'session-1', request } as unknown as LiveRunOptions)
}

/** One session's line: the first of `queue` has the session; keeps what it was asked. */
function fakeStore(...queue: string[]) {
  const asked: string[] = []
  const keyOf = (requestId: string | undefined): NextRun | undefined => (requestId ? { ...runOf(requestId).key, holder: 'h' } : undefined)
  const store: SessionQueueDependencies['store'] = {
    async takeTurn({ requestId }) {
      asked.push(`${requestId} takes`)
      return queue[0] === requestId ? turn : undefined
    },
    async leaveQueue({ requestId }, _, cancelled) {
      asked.push(`${requestId} leaves${cancelled ? ' as cancelled' : ''}`)
      const wasFirst = queue[0] === requestId
      queue.splice(queue.indexOf(requestId), 1)
      return wasFirst ? keyOf(queue[0]) : undefined
    },
  }
  /** The run that has the session ends. */
  const endFirst = () => keyOf((queue.shift(), queue[0]))
  return { store, asked, endFirst }
}

function lineOf(store: SessionQueueDependencies['store'], now = () => 0) {
  return createSessionQueue({ store, now, jobs: { wake: () => undefined }, bus: localBus, newId: () => 'id' })
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
const isError = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

test('runs get their turn in order, each woken when the one before it ends', async () => {
  const { store, asked, endFirst } = fakeStore('a', 'b', 'c')
  const line = lineOf(store)
  const got: string[] = []
  const waits = ['c', 'b'].map((id) => line.wait(runOf(id), messages, 30_000).then(() => got.push(id)))
  await settled()
  assert.deepEqual(got, [])
  line.wake(endFirst())
  await settled()
  assert.deepEqual(got, ['b'])
  line.wake(endFirst())
  await Promise.all(waits)
  assert.deepEqual(got, ['b', 'c'])
  assert.deepEqual(asked, ['c takes', 'b takes', 'b takes', 'c takes'])
})

test('a wake that comes while the store is asked is not lost', async () => {
  const { store, endFirst } = fakeStore('a', 'b')
  const run = runOf('b')
  let isFirst = true
  const slow: typeof store = {
    ...store,
    async takeTurn(...args) {
      const answer = await store.takeTurn(...args)
      if (isFirst) line.wake(endFirst())
      isFirst = false
      return answer
    },
  }
  const line = lineOf(slow)
  const startedAt = performance.now()
  assert.equal(await line.wait(run, messages, 30_000), turn)
  assert.ok(performance.now() - startedAt < 900)
})

test('who waited long enough is told that the session is busy, and leaves the line as if never there', async () => {
  const { store, asked } = fakeStore('a', 'b')
  let time = 0
  const line = lineOf(store, () => (time += 10))
  await assert.rejects(line.wait(runOf('b'), messages, 5), isError('session_busy'))
  assert.deepEqual(asked, ['b takes', 'b leaves'])
})

test('a run that is cancelled leaves the line at once, and is kept as cancelled', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const waiting = lineOf(store).wait(run, messages, 30_000)
  await settled()
  run.stop('cancelled')
  await assert.rejects(waiting, isError('cancelled'))
  assert.deepEqual(asked, ['b takes', 'b takes', 'b leaves as cancelled'])
})

test('a run whose client went away leaves the line as if never there', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const waiting = lineOf(store).wait(run, messages, 30_000)
  await settled()
  run.stop('disconnected')
  await assert.rejects(waiting, isError('cancelled'))
  assert.deepEqual(asked.at(-1), 'b leaves')
})

test('a waiting run that another process has by now is left to that one', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const waiting = lineOf(store).wait(run, messages, 30_000)
  await settled()
  run.stop('superseded')
  await assert.rejects(waiting, FenceLost)
  assert.deepEqual(asked, ['b takes', 'b takes'])
})

test('a waiting run that the process hands over at its stop stays in line, and its caller may ask again', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const wait = lineOf(store).wait(run, messages, 30_000)
  await settled()
  run.stop('handed_over')
  await assert.rejects(wait, isError('overloaded'))
  assert.ok(!asked.some((call) => call.startsWith('b leaves')))
})

test('who joined a lost run that ends in its line is told that it was lost', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const waiting = lineOf(store).wait(run, messages, 30_000)
  await settled()
  run.stop('orphaned')
  await assert.rejects(waiting, isError('process_lost'))
  assert.deepEqual(asked.at(-1), 'b leaves as cancelled')
})

test('who leaves when it was handed the session wakes the next', async () => {
  const { store, endFirst } = fakeStore('a', 'b', 'c')
  const run = runOf('b')
  // The session is handed over between the last look and the leaving.
  const late: typeof store = {
    ...store,
    takeTurn: async (key, ...rest) => (key.requestId === 'b' ? undefined : store.takeTurn(key, ...rest)),
    leaveQueue: (...args) => (endFirst(), store.leaveQueue(...args)),
  }
  const line = lineOf(late)
  const next = line.wait(runOf('c'), messages, 30_000)
  const leaving = line.wait(run, messages, 30_000)
  await settled()
  run.stop('cancelled')
  await assert.rejects(leaving)
  assert.equal(await next, turn)
})

test('a store that fails is not hidden, and the run leaves the line', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const broken = { ...store, takeTurn: () => Promise.reject(new Error('disk full')) }
  await assert.rejects(lineOf(broken).wait(runOf('b'), messages, 30_000), /disk full/)
  assert.deepEqual(asked, ['b leaves'])
})

test('waking a run that is not in line, or nobody, does nothing', () => {
  const line = lineOf(fakeStore().store)
  line.wake(undefined)
  line.wake({ ...runOf('x').key, holder: 'h' })
})

test('the same request id of two callers is two runs', () => {
  assert.notEqual(runKeyText({ tenant: 't', owner: 'o', requestId: 'r' }), runKeyText({ tenant: 't', owner: 'o2', requestId: 'r' }))
})

test('a run that nobody has and whose turn it is is told to who works on such', () => {
  const woken: string[] = []
  const jobs = { wake: (...kinds: string[]) => void woken.push(...kinds) }
  const line = createSessionQueue({ store: fakeStore().store, now: () => 0, jobs, bus: localBus, newId: () => 'id' })
  line.wake({ ...runOf('x').key, holder: 'somebody' })
  assert.deepEqual(woken, [])
  line.wake({ ...runOf('x').key, holder: '' })
  assert.deepEqual(woken, ['run'])
})

test('a cancelled run whose caller wants to be told leaves with the job that tells it', async () => {
  const { store } = fakeStore('a', 'b')
  const jobs: unknown[] = []
  const run = runOf('b')
  run.request.hasCallback = true
  const line = lineOf({ ...store, leaveQueue: (key, now, end) => (jobs.push(...(end?.jobs ?? [])), store.leaveQueue(key, now, end)) })
  const waiting = line.wait(run, messages, 30_000)
  await settled()
  run.stop('cancelled')
  await assert.rejects(waiting, isError('cancelled'))
  assert.deepEqual(jobs, [{ id: 'id', kind: 'callback', tenant: 't', data: { owner: 'o', requestId: 'b', round: 0 }, dueAt: 0 }])
})
