import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../errors.ts'
import type { CallbackAttempt, CallbackStatus, StoredCallback } from './callback-store.ts'
import { callbackJob, CallbackNotSent, createCallbacks, type OutgoingCallback } from './callbacks.ts'
import type { Job } from '../jobs.ts'
import type { StoredRun } from '../run-store.ts'

const key = { tenant: 't', owner: 'o', requestId: 'r' }
const ended = {
  ...key,
  sessionId: 's',
  status: 'success',
  createdAt: 0,
  endedAt: 1000,
  log: { input: 'hi', events: [{ type: 'end', reason: 'stop', usage: [], thoughts: [] }] },
} as unknown as StoredRun

/** A callback with a receiver that answers in turn with what it is told: a status, or why none comes. */
function setUp(...answers: (number | string)[]) {
  const callback: StoredCallback = { eventId: 'e', url: 'https://x', status: 'pending', attempts: [], round: 0, tries: 0 }
  const sent: OutgoingCallback[] = []
  const jobs: Job[] = []
  const record = async (_key: unknown, round: number, attempt: CallbackAttempt, status: CallbackStatus): Promise<void> => {
    callback.attempts.push(attempt)
    if (round !== callback.round) return
    callback.tries++
    callback.status = status
  }
  const world = { time: 5000, random: 0.5, run: ended as StoredRun | undefined, callback: callback as StoredCallback | undefined, record }
  const callbacks = createCallbacks({
    store: {
      find: async () => world.callback && { ...world.callback },
      record: (...args) => world.record(...args),
      async restart(_key, toJob) {
        if (callback.status === 'delivered') return false
        Object.assign(callback, { status: 'pending', tries: 0, round: callback.round + 1 })
        jobs.push({ ...toJob(callback.round), attempt: 1 })
        return true
      },
    },
    runs: { find: async () => world.run },
    jobs: { wake: () => void Promise.all(jobs.splice(0).map((job) => callbacks.deliver(job as Job<'callback'>, signal))) },
    async send(one) {
      sent.push(one)
      const answer = answers.shift() ?? 200
      if (answer === 'never') return new Promise(() => {})
      if (typeof answer === 'string') throw new CallbackNotSent(answer)
      return answer
    },
    source: () => 'https://agents',
    retryMs: [100, 1000],
    now: () => world.time,
    newId: () => 'id',
    random: () => world.random,
    sleep: async () => void (world.time += 200),
  })
  const deliver = (round = 0) =>
    callbacks.deliver({ ...callbackJob(key, { id: 'id', round, now: 0 }), attempt: 1 } as Job<'callback'>, signal)
  return { callbacks, callback, sent, deliver, world }
}

const signal = new AbortController().signal
const done = { kind: 'done' }
const isError = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

test('a callback that is not taken is sent again, each time after its delay and half of the jitter here, then it has failed', async () => {
  const { callback, sent, deliver } = setUp(500, 'No answer within 15 s.', 404)
  assert.deepEqual(await deliver(), { kind: 'again', at: 5113 })
  assert.deepEqual(await deliver(), { kind: 'again', at: 5000 + 1000 * 1.125 })
  assert.deepEqual(await deliver(), done)
  assert.equal(callback.status, 'failed')
  assert.deepEqual(callback.attempts, [
    { at: 5000, status: 500 },
    { at: 5000, status: null, error: 'No answer within 15 s.' },
    { at: 5000, status: 404 },
  ])
  // The same event each time, so that a receiver can drop what it has.
  assert.equal(new Set(sent.map((one) => JSON.stringify(one))).size, 1)
  assert.equal(sent[0]!.id, 'r')
})

test('the time of the next attempt is a whole number, as databases keep it', async () => {
  const { world, deliver } = setUp(500)
  world.random = 0.123456
  assert.deepEqual(await deliver(), { kind: 'again', at: 5103 })
})

test('a receiver that answers none of many gets no more at a time, and that is none of their attempts', async () => {
  const { callback, sent, deliver } = setUp(...Array<string>(100).fill('never'))
  for (let n = 0; n < 50; n++) void deliver()
  assert.deepEqual(await deliver(), { kind: 'again', at: 6500 })
  assert.equal(sent.length, 16)
  assert.deepEqual([callback.tries, callback.status], [0, 'pending'])
})

test('any 2xx delivers it, 410 ends it', async () => {
  for (const [status, becomes] of [
    [200, 'delivered'],
    [299, 'delivered'],
    [410, 'gone'],
  ] as const) {
    const { callback, deliver, sent } = setUp(status)
    assert.deepEqual(await deliver(), done)
    assert.deepEqual(await deliver(), done)
    assert.deepEqual([callback.status, sent.length], [becomes, 1])
  }
})

test('an attempt whose result could not be kept is made again: at least once, under the same id', async () => {
  const { callback, deliver, sent, world } = setUp()
  const { record } = world
  world.record = () => Promise.reject(new Error('disk full'))
  await assert.rejects(deliver(), /disk full/)
  world.record = record
  assert.deepEqual(await deliver(), done)
  assert.deepEqual([callback.status, sent.length, sent[0]!.id, sent[1]!.id], ['delivered', 2, 'r', 'r'])
})

test('what was deleted meanwhile is not sent', async () => {
  const { deliver, sent, world } = setUp()
  world.run = undefined
  assert.deepEqual(await deliver(), done)
  world.run = ended
  world.callback = undefined
  assert.deepEqual(await deliver(), done)
  assert.equal(sent.length, 0)
})

test('sent again by hand its delays begin anew, and the job of the round before has nothing to do', async () => {
  const { callbacks, callback, deliver, sent, world } = setUp(500, 500, 500)
  await deliver()
  await callbacks.resend(key, signal)
  assert.deepEqual([callback.round, callback.tries, callback.attempts.length], [1, 1, 2])
  assert.deepEqual(await deliver(0), done)
  assert.equal(sent.length, 2)
  assert.deepEqual(await deliver(1), { kind: 'again', at: world.time + 1000 * 1.125 })
})

test('what was delivered, has not ended, or is not there is not sent again', async () => {
  const { callbacks, callback, world, sent } = setUp()
  callback.status = 'delivered'
  await assert.rejects(callbacks.resend(key, signal), isError('callback_delivered'))
  const { endedAt: _endedAt, ...running } = ended
  world.run = { ...running, endedAt: undefined }
  await assert.rejects(callbacks.resend(key, signal), isError('run_not_ended'))
  world.callback = undefined
  await assert.rejects(callbacks.resend(key, signal), isError('not_found'))
  assert.equal(sent.length, 0)
})

test('who sends it again is told when it was tried, not before, and not for ever', async () => {
  const slow = setUp()
  slow.world.record = async () => undefined
  await slow.callbacks.resend(key, signal)
  assert.ok(slow.world.time > 5000 + 15_000)
  const left = setUp()
  left.world.record = async () => undefined
  await left.callbacks.resend(key, AbortSignal.abort())
  assert.equal(left.world.time, 5000)
})
