import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { fail, say, ScriptedModel, type ScriptedReply } from '../agent/scripted-model.ts'
import { ServiceError } from '../errors.ts'
import { collect } from './log/outcome.ts'
import { MemoryRunStore } from './memory-run-store-fixture.ts'
import type { Begun, NewRun, Turn } from './run-store.ts'
import { ann, chatOf, connected, createProcess, keyOf } from './process-fixture.ts'

/** A store whose begins are committed at once, and durable when the test says so. */
class SlowDisk extends MemoryRunStore {
  durable = Promise.withResolvers<void>()

  constructor() {
    super()
    const { begin, history } = this
    this.history = async (...part) => {
      await this.durable.promise
      return history(...part)
    }
    this.begin = async (run: NewRun, onCommitted?: (turn: Turn) => void): Promise<Begun> => {
      const begun = await begin(run, onCommitted)
      await this.durable.promise
      return begun
    }
  }
}

const diskFailed = new ServiceError('store_unavailable', 'The disk of the database fails.')

/** A chat whose begin is committed but not durable, when its model has been asked. */
async function beginning(reply: ScriptedReply) {
  const asked = Promise.withResolvers<AbortSignal>()
  const before: ScriptedReply['before'] = async (request, signal) => {
    asked.resolve(signal)
    await reply.before?.(request, signal)
  }
  const model = new ScriptedModel({ ...reply, before })
  const store = new SlowDisk()
  const { runs } = createProcess({ model, store })
  const opening = runs.open(ann, chatOf('hello'), connected)
  const signal = await asked.promise
  /** Resolves when a model that does not wait has answered, and the run has taken what it may take. */
  const modelIsDone = async () => {
    for (let turns = 0; turns < 10; turns++) await tick()
  }
  return { store, runs, opening, signal, modelIsDone }
}

test('the model is asked while the begin of the run is written to the disk, and nothing is answered before', async () => {
  const { store, runs, opening, modelIsDone } = await beginning(say('done'))
  let isAnswered = false
  const repeat = runs.open(ann, chatOf('hello'), connected)
  for (const answer of [opening, repeat]) void answer.then(() => (isAnswered = true))
  await modelIsDone()
  assert.equal(isAnswered, false)
  assert.equal((await store.find(keyOf('hello')))?.status, 'running')
  store.durable.resolve()
  const [run, repeated] = await Promise.all([opening, repeat])
  assert.equal(repeated.log, run.log)
  await run.ended
  assert.equal(collect(run.input, [...run.log.events]).answer.output, 'done')
  assert.equal((await store.find(keyOf('hello')))?.status, 'success')
})

test('the model of a later turn is asked with the earlier messages while the begin is written to the disk', async () => {
  const asked = Promise.withResolvers<string[]>()
  const before: ScriptedReply['before'] = async ({ messages }) => {
    if (messages.length > 1) asked.resolve(messages.map(({ text }) => text))
  }
  const store = new SlowDisk()
  const { runs } = createProcess({ model: new ScriptedModel({ ...say('first') }, { ...say('second'), before }), store })
  store.durable.resolve()
  await (
    await runs.open(ann, chatOf('one'), connected)
  ).ended
  store.durable = Promise.withResolvers()
  const opening = runs.open(ann, chatOf('two'), connected)
  assert.deepEqual(await asked.promise, ['one', 'first', 'two'])
  store.durable.resolve()
  const run = await opening
  await run.ended
  assert.equal(collect(run.input, [...run.log.events]).answer.output, 'second')
})

test('a begin that does not become durable cancels the call of the model, and stores no end', async () => {
  const waiting = async (_request: unknown, signal: AbortSignal) => {
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  const { store, opening, signal, modelIsDone, runs } = await beginning({ ...say('never'), before: waiting })
  const repeat = runs.open(ann, chatOf('hello'), connected)
  store.durable.reject(diskFailed)
  await assert.rejects(opening, diskFailed)
  await assert.rejects(repeat, diskFailed)
  assert.equal(signal.aborted, true)
  await modelIsDone()
  assert.equal((await store.find(keyOf('hello')))?.status, 'running')
})

test('an answer that came before its begin failed is not sent, and a failure of the model is not stored', async () => {
  for (const reply of [say('early'), fail()]) {
    const { store, opening, modelIsDone } = await beginning(reply)
    await modelIsDone()
    store.durable.reject(diskFailed)
    await assert.rejects(opening, diskFailed)
    await modelIsDone()
    assert.equal((await store.find(keyOf('hello')))?.status, 'running')
  }
})

test('a run whose begin fails while it is being cancelled is cancelled in the store, without its answer', async () => {
  const { store, runs, opening, modelIsDone } = await beginning(say('early'))
  const cancelling = runs.cancel(keyOf('hello'))
  await modelIsDone()
  store.durable.reject(diskFailed)
  await assert.rejects(opening, diskFailed)
  await cancelling
  const stored = await store.find(keyOf('hello'))
  assert.equal(stored?.status, 'cancelled')
  assert.deepEqual(
    stored.log?.events.filter(({ type }) => type === 'texts'),
    [],
  )
})
