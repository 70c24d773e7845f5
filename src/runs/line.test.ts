import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ServiceError } from '../errors.ts'
import { createLine, textOf } from './line.ts'
import { LiveRun, type LiveRunOptions } from './live-run.ts'
import type { RunKey } from './run.ts'
import type { NewMessage, RunStore, Turn } from './run-store.ts'

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
  const store: Pick<RunStore, 'takeTurn' | 'leaveLine'> = {
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

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
const isError = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

test('runs get their turn in order, each woken when the one before it ends', async () => {
  const { store, asked, endFirst } = fakeStore('a', 'b', 'c')
  const line = createLine(store, () => 0)
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
  const line = createLine(slow, () => 0)
  const startedAt = performance.now()
  assert.equal(await line.wait(run, messages, 30_000), turn)
  assert.ok(performance.now() - startedAt < 500)
})

test('who waited long enough is told that the session is busy, and leaves the line as if never there', async () => {
  const { store, asked } = fakeStore('a', 'b')
  let time = 0
  const line = createLine(store, () => (time += 10))
  await assert.rejects(line.wait(runOf('b'), messages, 5), isError('session_busy'))
  assert.deepEqual(asked, ['b takes', 'b leaves'])
})

test('a run that is cancelled leaves the line at once, and is kept as cancelled', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const waiting = createLine(store, () => 0).wait(run, messages, 30_000)
  await settled()
  run.stop('cancelled')
  await assert.rejects(waiting, isError('cancelled'))
  assert.deepEqual(asked, ['b takes', 'b takes', 'b leaves as cancelled'])
})

test('a run whose client went away leaves the line as if never there', async () => {
  const { store, asked } = fakeStore('a', 'b')
  const run = runOf('b')
  const waiting = createLine(store, () => 0).wait(run, messages, 30_000)
  await settled()
  run.stop('left')
  await assert.rejects(waiting, isError('cancelled'))
  assert.deepEqual(asked.at(-1), 'b leaves')
})

test('who leaves when it was handed the session wakes the next', async () => {
  const { store, endFirst } = fakeStore('a', 'b', 'c')
  const run = runOf('b')
  // The session is handed over between the last look and the leaving.
  const late: typeof store = {
    takeTurn: async (key, ...rest) => (key.requestId === 'b' ? undefined : store.takeTurn(key, ...rest)),
    leaveLine: (...args) => (endFirst(), store.leaveLine(...args)),
  }
  const line = createLine(late, () => 0)
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
  await assert.rejects(createLine(broken, () => 0).wait(runOf('b'), messages, 30_000), /disk full/)
  assert.deepEqual(asked, ['b leaves'])
})

test('waking a run that is not in line, or nobody, does nothing', () => {
  const line = createLine(fakeStore().store, () => 0)
  line.wake(undefined)
  line.wake(runOf('x').key)
})

test('the same request id of two callers is two runs', () => {
  assert.notEqual(textOf({ tenant: 't', owner: 'o', requestId: 'r' }), textOf({ tenant: 't', owner: 'o2', requestId: 'r' }))
})
