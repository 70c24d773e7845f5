import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Permission } from '../../access/permissions.ts'
import { say, ScriptedModel } from '../../agent/scripted-model.ts'
import { ServiceError } from '../../errors.ts'
import { ann, chatOf, createProcess, keyOf, type ProcessOptions } from '../process-fixture.ts'

const caller = { ...ann, permissions: new Set<Permission>() }
const event = { source: 'tests', id: 'e', callbackUrl: undefined }
const chat = (requestId = 'r') => chatOf('hello', { requestId, operation: 'chain_async' })

function start(change: ProcessOptions['change'] = {}) {
  const woken: string[] = []
  const jobs = { wake: (...kinds: string[]) => void woken.push(...kinds) }
  return { ...createProcess({ model: new ScriptedModel(say('done')), change: { jobs, ...change } }), woken }
}

test('an event is accepted as an unclaimed run with a job', async () => {
  const { runs, store, woken } = start()
  assert.deepEqual(await runs.accept(caller, event, chat), { requestId: 'r', sessionId: 's' })
  const stored = (await store.find(keyOf('r')))!
  assert.deepEqual(
    { status: stored.status, holder: stored.holder, onDisconnect: stored.onDisconnect },
    { status: 'pending', holder: '', onDisconnect: 'continue' },
  )
  assert.deepEqual(
    store.jobs.map(({ kind }) => kind),
    ['run'],
  )
  assert.deepEqual(woken, ['run'])
})

test('the job of an accepted run executes the run, once', async () => {
  const { runs, store } = start()
  await runs.accept(caller, event, chat)
  const job = {
    id: 'j',
    kind: 'run' as const,
    tenant: ann.tenant,
    data: { owner: ann.owner, requestId: 'r', fence: 1 },
    dueAt: 0,
    attempt: 1,
  }
  assert.deepEqual(await runs.work(job), { kind: 'done' })
  const { status, fence, log } = (await store.find(keyOf('r')))!
  assert.deepEqual({ status, fence }, { status: 'success', fence: 2 })
  assert.equal(log?.restoredAt, undefined, 'no reader knows events of an attempt before')
  assert.deepEqual(await runs.work(job), { kind: 'done' })
})

test('a repeated event has the ids of the first, and its data is not looked at', async () => {
  const { runs, store } = start()
  await runs.accept(caller, event, chat)
  assert.deepEqual(await runs.accept(caller, event, () => assert.fail()), { requestId: 'r', sessionId: 's' })
  assert.equal(store.jobs.length, 1)
})

test('another event with a request id that is taken is refused', async () => {
  const { runs } = start()
  await runs.accept(caller, event, chat)
  await assert.rejects(runs.accept(caller, { ...event, id: 'other' }, chat), { code: 'request_id_reused' })
})

test('nothing is accepted by a process that is overloaded or stops, but an event that was accepted is acknowledged', async () => {
  let refusal: ServiceError | undefined
  const { runs } = start({ admission: { refuseRun: () => undefined, refuseEvent: () => refusal } })
  await runs.accept(caller, event, chat)
  refusal = new ServiceError('overloaded', 'Too much.')
  await assert.rejects(
    runs.accept(caller, { ...event, id: 'other' }, () => chat('other')),
    refusal,
  )
  refusal = undefined
  await runs.drain(0)
  await assert.rejects(
    runs.accept(caller, { ...event, id: 'other' }, () => chat('other')),
    { code: 'overloaded' },
  )
  assert.deepEqual(await runs.accept(caller, event, chat), { requestId: 'r', sessionId: 's' })
})

test('a callback URL that must not be called is refused by its place in the request', async () => {
  const { runs, store } = start({ refusalOf: async () => 'is not public' })
  await assert.rejects(
    runs.accept(caller, { ...event, callbackUrl: 'http://10.0.0.1/' }, chat),
    (error: unknown) => error instanceof ServiceError && error.code === 'validation',
  )
  assert.equal(await store.find(keyOf('r')), undefined)
})
