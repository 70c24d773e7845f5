import assert from 'node:assert/strict'
import { test } from 'node:test'
import { say, ScriptedModel } from '../../agent/scripted-model.ts'
import { localBus } from '../../replicas/bus.ts'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { agentOf, keyOf, newRun } from '../process-fixture.ts'
import type { EndedRun } from '../run-store.ts'
import { LiveRun } from './live-run.ts'
import { createLocate } from './locate.ts'
import { createRunMutex, createRunRegistry } from './run-registry.ts'

const key = keyOf('r')

function setUp() {
  const store = new MemoryRunStore()
  const mutex = createRunMutex()
  const registry = createRunRegistry({ bus: localBus, sleep: async () => undefined })
  const locate = createLocate({ store, registry, mutex, holder: 'p1' })
  const liveRun = () => {
    const { sessionId, operation, bodyHash, request, onDisconnect } = newRun('r')
    const agent = agentOf({ model: new ScriptedModel(say('Hi')) })
    return new LiveRun({ key, sessionId, operation, bodyHash, request, onDisconnect, agent, fence: 1 })
  }
  const kind = async () => (await locate(key))?.kind
  return { store, mutex, registry, locate, liveRun, kind }
}

const ended: EndedRun = {
  session: 'k',
  status: 'success',
  finishReason: 'stop',
  continuable: false,
  request: newRun('r').request,
  model: 'm',
  promptTokens: 1,
  completionTokens: 1,
  latencyMs: 1,
  endedAt: 2,
  error: undefined,
  log: { input: 'hello', events: [] },
  message: undefined,
  messageCount: 1,
  checkpointId: 'c',
  hadCheckpoints: false,
  dropsResultImages: false,
  jobs: [],
  configVersion: '1',
  cost: undefined,
  tools: [],
}

test('a run that nobody began has no location', async () => {
  const { locate } = setUp()
  assert.equal(await locate(key), undefined)
})

test('a run in the memory of this process is here, and the store is not asked', async () => {
  const { registry, liveRun, locate } = setUp()
  const run = liveRun()
  registry.add(run)
  assert.deepEqual(await locate(key), { kind: 'here', run })
})

test('a run that another process holds is remote, also while it waits for its session', async () => {
  const { store, locate, kind } = setUp()
  await store.begin(newRun('r', { holder: 'p2' }))
  assert.deepEqual(await locate(key), { kind: 'remote', run: await store.find(key) })
  const queued = newRun('queued', { holder: 'p2' })
  await store.begin(queued)
  assert.equal((await locate(keyOf('queued')))?.kind, 'remote')
  assert.equal(await kind(), 'remote')
})

test('a run that this process holds in the store, but not in memory, is dropped', async () => {
  const { store, kind } = setUp()
  await store.begin(newRun('r'))
  assert.equal(await kind(), 'dropped')
})

test('an accepted run that no process has taken up is unclaimed, and remote or dropped once a process has', async () => {
  const { store, kind } = setUp()
  const event = { key: 'e', id: 'e', callbackUrl: undefined }
  await store.begin(newRun('r', { operation: 'chain_async', event }))
  assert.equal(await kind(), 'unclaimed')
  await store.claim({ ...key, fence: 1 }, () => ({ holder: 'p2', queueOrder: 1, now: 1, messages: newRun('r').messages }))
  assert.equal(await kind(), 'remote')
})

test('a run that waits for approval is interrupted, whoever held the run before', async () => {
  const { store, kind } = setUp()
  await store.begin(newRun('r'))
  const data = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
  const log = { input: 'hello', events: [] }
  await store.interrupt(key, 1, { session: 'k', sessionId: 's', step: 1, data, log, calls: [], ranMs: 1, now: 1, expiresAt: 2, jobs: [] })
  assert.equal(await kind(), 'interrupted')
})

test('a run with an end is ended, also where it may be continued', async () => {
  for (const continuable of [false, true]) {
    const { store, locate } = setUp()
    await store.begin(newRun('r'))
    await store.finish(key, 1, { ...ended, continuable })
    const location = await locate(key)
    assert.equal(location?.kind, 'ended')
    assert.equal(location.kind === 'ended' && location.run.continuable, continuable)
  }
})

test('the run of a deleted session is gone', async () => {
  const { store, locate } = setUp()
  await store.begin(newRun('r'))
  store.markGone(key)
  await assert.rejects(locate(key), { code: 'gone' })
})

test('a tool execution is no run', async () => {
  const { store, locate } = setUp()
  await store.begin(newRun('r', { operation: 'tool_execute' }))
  assert.equal(await locate(key), undefined)
})

test('a run that this process is claiming is located when it has been claimed', async () => {
  const { store, mutex, registry, liveRun, locate } = setUp()
  await store.begin(newRun('r', { holder: 'p2' }))
  const claimed = Promise.withResolvers<void>()
  const run = liveRun()
  const claiming = mutex.run(key, async () => {
    await claimed.promise
    registry.add(run)
  })
  const located = locate(key)
  claimed.resolve()
  await claiming
  assert.deepEqual(await located, { kind: 'here', run })
})

test('a claim that fails leaves the run where it was', async () => {
  const { store, mutex, kind } = setUp()
  await store.begin(newRun('r', { holder: 'p2' }))
  const claiming = mutex.run(key, () => Promise.reject(new Error('no')))
  assert.equal(await kind(), 'remote')
  await assert.rejects(claiming, /no/)
})
