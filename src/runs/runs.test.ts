import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { say, ScriptedModel } from '../agent/scripted-model.ts'
import { ServiceError } from '../errors.ts'
import { collect } from './log/outcome.ts'
import { MemoryRunStore } from './memory-run-store-fixture.ts'
import type { OpenRun } from './open-run.ts'
import type { EndedRun } from './run-store.ts'
import { ann, chatOf, connected, createProcess, keyOf, newRun } from './process-fixture.ts'

async function outputOf(run: OpenRun): Promise<string> {
  await run.ended
  return collect(run.input, [...run.log.events]).answer.output
}

/** A model that answers when it is told to, and says when it was asked. */
function gatedModel(text = 'done') {
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const before = async (_request: unknown, signal: AbortSignal) => {
    asked.resolve()
    signal.addEventListener('abort', () => gate.reject(signal.reason))
    await gate.promise
  }
  return { model: new ScriptedModel({ ...say(text), before }, say('again')), asked: asked.promise, open: gate.resolve }
}

test('a chat runs once: a repeat joins the run while it lasts, and replays it when it has ended', async () => {
  const { model, asked, open } = gatedModel()
  const { runs } = createProcess({ model })
  const first = await runs.open(ann, chatOf('hello'), connected)
  await asked
  const joined = await runs.open(ann, chatOf('hello'), connected)
  open()
  assert.equal(await outputOf(first), 'done')
  assert.equal(joined.log, first.log)
  const replayed = await runs.open(ann, chatOf('hello'), connected)
  assert.deepEqual([...replayed.log.events], [...first.log.events])
  assert.equal(model.requests.length, 1)
})

test('two requests with one id that come together run once', async () => {
  const model = new ScriptedModel(say('done'))
  const { runs } = createProcess({ model })
  const both = await Promise.all([runs.open(ann, chatOf('hello'), connected), runs.open(ann, chatOf('hello'), connected)])
  assert.deepEqual(await Promise.all(both.map(outputOf)), ['done', 'done'])
  model.assertComplete()
})

test('a request id stands for one request', async () => {
  const { runs } = createProcess({ model: new ScriptedModel(say('done')) })
  await outputOf(await runs.open(ann, chatOf('hello'), connected))
  for (const change of [{ bodyHash: 'other' }, { operation: 'chain_streaming' as const }, { sessionId: 'other' }])
    await assert.rejects(runs.open(ann, chatOf('hello', change), connected), { code: 'request_id_reused' })
})

test('chats of a session run one after the other', async () => {
  const { model, asked, open } = gatedModel('first')
  const { runs } = createProcess({ model })
  const first = await runs.open(ann, chatOf('one'), connected)
  await asked
  const second = runs.open(ann, chatOf('two'), connected)
  while (runs.counts().pending === 0) await tick()
  assert.deepEqual(runs.counts(), { pending: 1, running: 1 })
  open()
  assert.deepEqual([await outputOf(first), await outputOf(await second)], ['first', 'again'])
})

test('a run that failed goes on when it is repeated', async () => {
  const model = new ScriptedModel({ events: [], error: new Error('broken') }, say('done'))
  const { runs } = createProcess({ model, change: { onFault: () => undefined } })
  const failed = await runs.open(ann, chatOf('hello'), connected)
  await failed.ended
  assert.equal(failed.log.events.at(-1)?.type === 'end', true)
  assert.equal(await outputOf(await runs.open(ann, chatOf('hello'), connected)), 'done')
})

test('a run is cancelled where it is: in memory, unclaimed, or held by a process that died', async () => {
  const { model, asked } = gatedModel()
  const { runs, store } = createProcess({ model })
  await runs.open(ann, chatOf('here'), connected)
  await asked
  await runs.cancel(keyOf('here'))
  const event = { key: 'e', id: 'e', callbackUrl: undefined }
  await store.begin(newRun('unclaimed', { sessionId: 'a', operation: 'chain_async', event }))
  await runs.cancel(keyOf('unclaimed'))
  await store.begin(newRun('lost', { sessionId: 'b', holder: 'dead' }))
  await runs.cancel(keyOf('lost'))
  const stored = await Promise.all(['here', 'unclaimed', 'lost'].map((id) => store.find(keyOf(id))))
  assert.deepEqual(
    stored.map((run) => run?.status),
    ['cancelled', 'cancelled', 'cancelled'],
  )
})

const interruption = {
  session: 'k',
  sessionId: 's',
  step: 1,
  data: { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } },
  log: { input: '', events: [] },
  calls: [],
  ranMs: 1,
  now: 1,
  expiresAt: 2,
  jobs: [],
}

test('a run that waits for approval is cancelled also where another process takes it over before its end is stored', async () => {
  const store = new MemoryRunStore()
  const { runs } = createProcess({ model: new ScriptedModel(), store })
  await store.begin(newRun('r', { holder: 'p2' }))
  await store.interrupt(keyOf('r'), 1, interruption)
  const { finish } = store
  let isTaken = false
  store.finish = async (key, fence, ended) => {
    if (!isTaken) {
      isTaken = true
      await store.takeOver(key, { fence, status: 'running' }, { holder: 'p2', queueOrder: 1, now: 2, messages: [] })
      await store.interrupt(key, fence + 1, interruption)
    }
    return finish(key, fence, ended)
  }
  await runs.cancel(keyOf('r'))
  const { status, fence } = (await store.find(keyOf('r')))!
  assert.deepEqual({ status, fence }, { status: 'cancelled', fence: 4 })
})

for (const [where, operation] of [
  ['waits for approval', 'chain'],
  ['was handed over', 'chain_async'],
] as const)
  test(`a run that ${where} is cancelled when its cancellation is answered, also where the store failed on the way`, async () => {
    const store = new MemoryRunStore()
    const { runs } = createProcess({ model: new ScriptedModel(), store, change: { onFault: () => undefined } })
    await store.begin(newRun('r', { holder: 'p2', operation, onDisconnect: 'continue' }))
    if (operation === 'chain') await store.interrupt(keyOf('r'), 1, interruption)
    else await store.release(keyOf('r'), { fence: 1, status: 'running' })
    const { checkpoints } = store
    let hasFailed = false
    store.checkpoints = async (key) => {
      if (hasFailed) return checkpoints(key)
      hasFailed = true
      throw new ServiceError('store_unavailable', 'The database cannot be reached at the moment.')
    }
    await runs.cancel(keyOf('r'))
    assert.ok(hasFailed)
    assert.equal((await store.find(keyOf('r')))?.status, 'cancelled')
  })

test('a run of another process that has ended because its client left is not cancelled: a repeat may continue the run', async () => {
  const store = new MemoryRunStore()
  const { runs } = createProcess({ model: new ScriptedModel(), store })
  store.alive.add('p2')
  await store.begin(newRun('r', { holder: 'p2' }))
  const { takeOver } = store
  store.takeOver = async (...args) => {
    const ended = { status: 'cancelled', continuable: true, endedAt: 2, log: { input: '', events: [] }, jobs: [] }
    await store.finish(keyOf('r'), 1, ended as unknown as EndedRun)
    return takeOver(...args)
  }
  await assert.rejects(runs.cancel(keyOf('r')), { code: 'run_ended' })
})

test('neither an ended run can be cancelled, nor one that is not there', async () => {
  const { runs } = createProcess({ model: new ScriptedModel(say('done')) })
  await outputOf(await runs.open(ann, chatOf('hello'), connected))
  await assert.rejects(runs.cancel(keyOf('hello')), { code: 'run_ended' })
  await assert.rejects(runs.cancel(keyOf('unknown')), { code: 'not_found' })
  await assert.rejects(runs.follow(keyOf('unknown'), connected), { code: 'not_found' })
})

test('a run whose process died goes on in another process, once', async () => {
  const store = new MemoryRunStore()
  await store.begin(newRun('r', { holder: 'dead', onDisconnect: 'continue' }))
  const models = [new ScriptedModel(say('done')), new ScriptedModel(say('done'))]
  const processes = models.map((model, n) => createProcess({ model, store, holder: `p${n}` }).runs)
  await Promise.all(processes.map((runs) => runs.adopt(0)))
  const followed = await Promise.all(processes.map((runs) => runs.follow(keyOf('r'), connected)))
  await Promise.race(followed.map(({ ended }) => ended))
  assert.equal(models.flatMap(({ requests }) => requests).length, 1)
  assert.equal((await store.find(keyOf('r')))?.status, 'success')
  assert.equal((await store.find(keyOf('r')))?.fence, 2)
})

test('a process that stops takes nothing new, and hands over the run that does not end in time', async () => {
  const { model, asked } = gatedModel()
  const { runs, store } = createProcess({ model })
  const run = await runs.open(ann, chatOf('hello'), connected)
  await asked
  await runs.drain(0)
  await assert.rejects(runs.open(ann, chatOf('other'), connected), { code: 'overloaded' })
  await run.ended
  assert.equal((await store.find(keyOf('hello')))?.status, 'running')
})

test('a process that stops tells the readers of interrupted runs, and does not wait for the next poll', async () => {
  const store = new MemoryRunStore()
  const sleep = (_ms: number, signal?: AbortSignal) =>
    new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  const { runs } = createProcess({ model: new ScriptedModel(), store, change: { sleep } })
  await store.begin(newRun('r', { holder: 'p2' }))
  await store.interrupt(keyOf('r'), 1, interruption)
  const { whenResumed } = await runs.follow(keyOf('r'), connected)
  const waiting = assert.rejects(whenResumed!(connected), { code: 'overloaded' })
  await tick()
  void runs.drain(0)
  await waiting
})
