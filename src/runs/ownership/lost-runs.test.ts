import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { DataFilter } from '../../agent/tool.ts'
import { fakeTool, gate } from '../../agent/react-fixture.ts'
import { call, say, ScriptedModel, type ScriptedReply } from '../../agent/scripted-model.ts'
import { setImmediate as tick } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import type { EventBatch, EventLog } from '../log/event-log.ts'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { ann, chatOf, connected, createProcess, keyOf } from '../process-fixture.ts'

/** The end of a call that writes is a checkpoint. */
const note = fakeTool('note', { effect: 'write', execute: async () => 'noted' })

/** A process whose model first calls a tool, which makes a checkpoint, and then is silent until the process stops. `silent`: it has come so far. */
function dyingProcess(t: TestContext, store: MemoryRunStore, holder: string, tool = note) {
  const silent = gate()
  const silence: ScriptedReply = {
    ...say(''),
    before: (_request, signal) => {
      silent.open()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    },
  }
  const model = new ScriptedModel(say('', call('note', {})), silence)
  const { runs } = createProcess({ store, holder, model, tools: [tool] })
  t.after(() => runs.drain(0))
  return { runs, silent: silent.opened }
}

async function read(log: EventLog, after: number): Promise<string[]> {
  const batches: EventBatch[] = []
  for await (const batch of log.follow({ after, isValid: false }, connected)) batches.push(batch)
  return batches.map(({ first, events }) => `${first}: ${events.map(({ type }) => type).join(' ')}`)
}

test('a reader of the first of two lost attempts is told that the events after the first checkpoint were made again', async (t) => {
  const store = new MemoryRunStore()
  const first = dyingProcess(t, store, 'p1')
  await first.runs.open(ann, chatOf('r', { onDisconnect: 'continue' }), connected)
  await first.silent
  store.alive.delete('p1')
  const second = dyingProcess(t, store, 'p2')
  await second.runs.adopt(0)
  await second.silent
  store.alive.delete('p2')
  const last = createProcess({ store, holder: 'p3', model: new ScriptedModel(say('Done.')), tools: [note] })
  await last.runs.adopt(0)
  const { log, ended } = await last.runs.follow(keyOf('r'), connected)
  await ended
  assert.deepEqual(await read(log, 0), ['1: step_start step_end step_start step_end text end'])
  // The first attempt had its own event 3: the second attempt made it again, before the checkpoint from which the third went on.
  assert.deepEqual(await read(log, 3), ['2: retrying', '3: step_start step_end text end'])
  assert.deepEqual(await read(log, 2), ['3: step_start step_end text end'])
  assert.equal((await store.find(keyOf('r')))?.log?.restoredAt, 2)
})

test('a run whose progress cannot be read has no end, and goes on when the store answers', async (t) => {
  const store = new MemoryRunStore()
  const first = dyingProcess(t, store, 'p1')
  await first.runs.open(ann, chatOf('r', { onDisconnect: 'continue' }), connected)
  await first.silent
  store.alive.delete('p1')
  const { checkpoints } = store
  let reads = 0
  store.checkpoints = async (key) => {
    if (reads++ === 0) throw new ServiceError('store_unavailable', 'The database cannot be reached.')
    return checkpoints(key)
  }
  const second = createProcess({
    store,
    holder: 'p2',
    model: new ScriptedModel(say('Done.')),
    tools: [note],
    change: { onFault: () => undefined },
  })
  await second.runs.adopt(0)
  const following = second.runs.follow(keyOf('r'), connected)
  await tick()
  assert.deepEqual([reads, (await store.find(keyOf('r')))?.endedAt], [1, undefined])
  // A run that two sweeps find held but not in memory is taken over.
  await second.runs.adopt(0)
  await second.runs.adopt(0)
  const { log, ended } = await following
  await ended
  assert.deepEqual(await read(log, 0), ['1: step_start step_end text end'])
  assert.equal((await store.find(keyOf('r')))?.status, 'success')
})

test('a lost run that its data filters keep from going on ends with the events of the lost process', async (t) => {
  const store = new MemoryRunStore()
  const filters: DataFilter[] = [{ tool: 'note', key: 'customer', type: 'equals', value: 'c1' }]
  const first = dyingProcess(t, store, 'p1', { ...note, filters: { find: () => undefined } as never })
  const chat = chatOf('r', { onDisconnect: 'continue' })
  await first.runs.open(ann, { ...chat, request: { ...chat.request, filters } }, connected)
  await first.silent
  store.alive.delete('p1')
  const second = createProcess({ store, holder: 'p2', model: new ScriptedModel() })
  await second.runs.adopt(0)
  const { log, ended } = await second.runs.follow(keyOf('r'), connected)
  await ended
  assert.deepEqual(await read(log, 0), ['1: step_start step_end end'])
})
