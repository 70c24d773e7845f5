import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../errors.ts'
import {
  type CallbackAttempt,
  type CallbackVerdict,
  type StoredCallback,
  CallbackNotSent,
  createReceivers,
  type OutgoingCallback,
} from './attempt.ts'
import { callbackJob, createCallbacks } from './callbacks.ts'
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

/** A callback whose receiver replies with the given answers in turn: a status, or the reason for no response. */
function setUp(...answers: (number | string)[]) {
  const callback: StoredCallback = { eventId: 'e', url: 'https://x', status: 'pending', attempts: [], round: 0, tries: 0 }
  const sent: OutgoingCallback[] = []
  const jobs: Job[] = []
  const record = async (_key: unknown, round: number, attempt: CallbackAttempt, { status }: CallbackVerdict): Promise<void> => {
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
      note: async (_key, attempt) => void callback.attempts.push(attempt),
      async restart(_key, toJob) {
        if (callback.status === 'delivered') return false
        Object.assign(callback, { status: 'pending', tries: 0, round: callback.round + 1 })
        jobs.push({ ...toJob(callback.round), attempt: 1 })
        return true
      },
    },
    runs: { find: async () => world.run },
    jobs: { wake: () => void Promise.all(jobs.splice(0).map((job) => callbacks.deliver(job as Job<'callback'>, signal))) },
    async send(outgoing) {
      sent.push(outgoing)
      const answer = answers.shift() ?? 200
      if (answer === 'never') return new Promise(() => {})
      if (typeof answer === 'string') throw new CallbackNotSent(answer)
      return { status: answer, body: `is ${answer}` }
    },
    toAnswerFiles: async () => [],
    source: () => 'https://agents',
    retryMs: [100, 1000],
    now: () => world.time,
    newId: () => 'id',
    random: () => world.random,
    receivers: createReceivers(() => world.time),
    sleep: async () => void (world.time += 200),
  })
  const deliver = (round = 0) =>
    callbacks.deliver({ ...callbackJob(key, { id: 'id', round, now: 0 }), attempt: 1 } as Job<'callback'>, signal)
  return { callbacks, callback, sent, deliver, world }
}

const signal = new AbortController().signal
const done = { kind: 'done' }
const isError = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

test('a rejected callback is retried after each delay plus jitter, and fails after the last delay', async () => {
  const { callback, sent, deliver } = setUp(500, 'No answer within 15 s.', 404)
  assert.deepEqual(await deliver(), { kind: 'again', at: 5113 })
  assert.deepEqual(await deliver(), { kind: 'again', at: 5000 + 1000 * 1.125 })
  assert.deepEqual(await deliver(), done)
  assert.equal(callback.status, 'failed')
  assert.deepEqual(callback.attempts, [
    { at: 5000, status: 500, responseBody: 'is 500' },
    { at: 5000, status: null, error: 'No answer within 15 s.' },
    { at: 5000, status: 404, responseBody: 'is 404' },
  ])
  // Each attempt sends an equal event, so that a receiver can drop duplicates.
  assert.equal(new Set(sent.map((outgoing) => JSON.stringify(outgoing))).size, 1)
  assert.equal(sent[0]!.id, 'r')
})

test('the time of the next attempt is a whole number of milliseconds', async () => {
  const { world, deliver } = setUp(500)
  world.random = 0.123456
  assert.deepEqual(await deliver(), { kind: 'again', at: 5103 })
})

test('a receiver that does not respond gets no further concurrent callbacks, and a postponement is not an attempt', async () => {
  const { callback, sent, deliver } = setUp(...Array<string>(100).fill('never'))
  for (let n = 0; n < 50; n++) void deliver()
  assert.deepEqual(await deliver(), { kind: 'again', at: 6500 })
  assert.equal(sent.length, 16)
  assert.deepEqual({ tries: callback.tries, status: callback.status }, { tries: 0, status: 'pending' })
})

test('a 2xx status delivers the callback, 410 ends its attempts', async () => {
  for (const [status, becomes] of [
    [200, 'delivered'],
    [299, 'delivered'],
    [410, 'gone'],
  ] as const) {
    const { callback, deliver, sent } = setUp(status)
    assert.deepEqual(await deliver(), done)
    assert.deepEqual(await deliver(), done)
    assert.deepEqual({ status: callback.status, sentCount: sent.length }, { status: becomes, sentCount: 1 })
  }
})

test('an attempt whose result could not be stored is repeated with the same id (at least once)', async () => {
  const { callback, deliver, sent, world } = setUp()
  const { record } = world
  world.record = () => Promise.reject(new Error('disk full'))
  await assert.rejects(deliver(), /disk full/)
  world.record = record
  assert.deepEqual(await deliver(), done)
  assert.deepEqual([callback.status, sent.length, sent[0]!.id, sent[1]!.id], ['delivered', 2, 'r', 'r'])
})

test('a callback is not sent when the run or the callback was deleted meanwhile', async () => {
  const { deliver, sent, world } = setUp()
  world.run = undefined
  assert.deepEqual(await deliver(), done)
  world.run = ended
  world.callback = undefined
  assert.deepEqual(await deliver(), done)
  assert.equal(sent.length, 0)
})

test('a manual resend restarts the delays, and the job of the earlier round does nothing', async () => {
  const { callbacks, callback, deliver, sent, world } = setUp(500, 500, 500)
  await deliver()
  await callbacks.resend(key, signal)
  assert.deepEqual(
    { round: callback.round, tries: callback.tries, attemptCount: callback.attempts.length },
    { round: 1, tries: 1, attemptCount: 2 },
  )
  assert.deepEqual(await deliver(0), done)
  assert.equal(sent.length, 2)
  assert.deepEqual(await deliver(1), { kind: 'again', at: world.time + 1000 * 1.125 })
})

test('a resend is refused when the callback was delivered, the run has not ended, or there is no callback', async () => {
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

test('a resend waits for an attempt, but not longer than the limit, and not after the caller has disconnected', async () => {
  const slow = setUp()
  slow.world.record = async () => undefined
  await slow.callbacks.resend(key, signal)
  assert.ok(slow.world.time > 5000 + 15_000)
  const aborted = setUp()
  aborted.world.record = async () => undefined
  await aborted.callbacks.resend(key, AbortSignal.abort())
  assert.equal(aborted.world.time, 5000)
})
