import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ServiceError } from '../errors.ts'
import { noNews } from '../replicas/news.ts'
import { createLine, textOf, type LineDependencies } from './line.ts'
import { LiveRun, type LiveRunOptions } from './live-run.ts'
import type { RunKey } from './run.ts'
import { FenceLost, type NewMessage, type Turn } from './run-store.ts'
import { createWorkers, type Workers } from './workers.ts'

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
  const keyOf = (requestId: string | undefined): RunKey | undefined => (requestId ? { ...runOf(requestId).key } : undefined)
  const store: LineDependencies['store'] = {
    isNext: async ({ requestId }) => (asked.push(`${requestId} looks`), queue[0] === requestId),
    nextOf: async () => queue.slice(0, 1).map((requestId) => ({ ...runOf(requestId).key })),
    async takeTurn({ requestId }) {
      asked.push(`${requestId} takes`)
      return queue[0] === requestId ? turn : undefined
    },
    async leaveLine({ requestId }, _, cancelled) {
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

function lineOf(store: LineDependencies['store'], now = () => 0, workers: Workers = createWorkers(() => 1)) {
  const jobs = { wake: () => undefined }
  return createLine({ store, now, workers, jobs, news: noNews, holder: 'h', newId: () => 'id', onFault: () => undefined })
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
  run.stop('left')
  await assert.rejects(waiting, isError('cancelled'))
  assert.deepEqual(asked.at(-1), 'b leaves')
})

test('who joined a lost run that ends in its line is told that it was lost', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const waiting = lineOf(store).wait(run, messages, 30_000)
  await settled()
  run.stop('lost')
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
    leaveLine: (...args) => (endFirst(), store.leaveLine(...args)),
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
  line.wake(runOf('x').key)
})

test('the same request id of two callers is two runs', () => {
  assert.notEqual(textOf({ tenant: 't', owner: 'o', requestId: 'r' }), textOf({ tenant: 't', owner: 'o2', requestId: 'r' }))
})

test('who waits for a worker takes its turn only when there is one, and keeps it until it is released', async () => {
  const { store, asked, endFirst } = fakeStore('a', 'b')
  const workers = createWorkers(() => 1)
  const busy = (await workers.take('ann', new AbortController().signal))!
  const line = lineOf(store, () => 0, workers)
  const run = runOf('b')
  const waiting = line.waitForWorker(run, messages)
  await settled()
  line.wake(endFirst())
  await settled()
  assert.deepEqual(asked, ['b looks', 'b looks'])
  busy()
  assert.equal(await waiting, turn)
  assert.equal(asked.at(-1), 'b takes')
  const next = workers.take('ann', new AbortController().signal)
  run.release()
  assert.ok(await next)
})

test('who waits for its session keeps no worker from others', async () => {
  const { store } = fakeStore('a', 'b')
  const workers = createWorkers(() => 1)
  const line = lineOf(store, () => 0, workers)
  const run = runOf('b')
  const waiting = line.waitForWorker(run, messages)
  await settled()
  assert.ok(await workers.take('ann', new AbortController().signal))
  run.stop('cancelled')
  await assert.rejects(waiting, isError('cancelled'))
})

test('a session that another process has freed is found by one look for all, not by one of each', async () => {
  const { store, asked, endFirst } = fakeStore('a', 'b', 'c')
  const line = lineOf(store)
  const runs = ['b', 'c'].map(runOf)
  const waits = runs.map((run) => line.waitForWorker(run, messages))
  await settled()
  endFirst()
  assert.equal(await waits[0], turn)
  assert.deepEqual(asked, ['b looks', 'c looks', 'b looks', 'b takes'])
  runs[1]!.stop('given_up')
  await assert.rejects(waits[1]!)
  assert.equal(asked.length, 4)
})

test('a store that fails does not cost an accepted run its place; a lost one leaves without a word', async () => {
  const { store, asked } = fakeStore('b')
  let failures = 0
  const failing = { ...store, takeTurn: () => Promise.reject(failures++ === 0 ? new Error('disk full') : new FenceLost(runOf('b').key)) }
  const waiting = lineOf(failing).waitForWorker(runOf('b'), messages)
  await assert.rejects(waiting, FenceLost)
  assert.equal(failures, 2)
  assert.deepEqual(asked, ['b looks', 'b looks', 'b leaves'])
})

test('a cancelled run whose caller wants to be told leaves with the job that tells it', async () => {
  const { store } = fakeStore('a', 'b')
  const jobs: unknown[] = []
  const run = runOf('b')
  run.request.hasCallback = true
  const line = lineOf({ ...store, leaveLine: (key, now, end) => (jobs.push(...(end?.jobs ?? [])), store.leaveLine(key, now, end)) })
  const waiting = line.waitForWorker(run, messages)
  await settled()
  run.stop('cancelled')
  await assert.rejects(waiting, isError('cancelled'))
  assert.deepEqual(jobs, [{ id: 'id', kind: 'callback', tenant: 't', data: { owner: 'o', requestId: 'b', round: 0 }, dueAt: 0 }])
})
