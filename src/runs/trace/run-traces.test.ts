import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeTool, gate } from '../../agent/react-fixture.ts'
import { call, fail, providerCall, say, ScriptedModel, texts } from '../../agent/scripted-model.ts'
import { withRetry } from '../../models/retry.ts'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { ann, chatOf, connected, createProcess, keyOf, type ProcessOptions } from '../process-fixture.ts'
import { createRunTraces } from './run-traces.ts'
import type { Span } from './span.ts'

/** A process with the traces that it shows. */
function processWith(options: ProcessOptions & { store: MemoryRunStore }) {
  const { runs } = createProcess(options)
  const observed = { eventsOf: async (_run: unknown, events: any) => events }
  const approvals = { ofRun: async () => [] }
  const traces = createRunTraces({ store: options.store, approvals, observed, progressOf: runs.progressOf, historyTokens: () => 10_000 })
  return { runs, traces }
}

const describe = (spans: readonly Span[]) => spans.map(({ kind, name, status }) => `${kind} ${name}: ${status}`)

test('a run that is handed over in the middle of a tool goes on in the same turn, behind the change of its process', async () => {
  const store = new MemoryRunStore()
  const { opened, open } = gate()
  const entered = gate()
  const look = fakeTool('look', {
    execute: async () => {
      entered.open()
      await opened
      return 'seen'
    },
  })
  const first = processWith({ store, tools: [look], model: new ScriptedModel(say('', call('look', {}))) })
  await first.runs.open(ann, chatOf('r', { onDisconnect: 'continue' }), connected)
  await entered.opened
  const before = (await first.traces.find(keyOf('r'))).spans
  assert.deepEqual(describe(before), ['run chain: running', 'turn Turn 1: running', 'model scripted-1: success', 'tool look: running'])
  await first.runs.drain(0)
  open()
  store.alive.delete('p1')
  const second = processWith({ store, tools: [look], holder: 'p2', model: new ScriptedModel(say('Done.')) })
  assert.deepEqual(describe((await second.traces.find(keyOf('r'))).spans), [
    'run chain: running',
    'turn Turn 1: running',
    'model scripted-1: success',
  ])
  await second.runs.adopt(0)
  await (
    await second.runs.follow(keyOf('r'), connected)
  ).ended
  const { spans } = await second.traces.find(keyOf('r'))
  assert.deepEqual(describe(spans).toSorted(), [
    'model scripted-1: success',
    'model scripted-1: success',
    'move Handed over to another process: success',
    'run chain: success',
    'tool look: success',
    'turn Turn 1: success',
    'turn Turn 2: success',
  ])
  assert.equal(spans.find(({ kind }) => kind === 'tool')?.parent_id, 'turn:1')
  assert.deepEqual(spans.find(({ kind }) => kind === 'move')?.attributes, { from: 'p1', to: 'p2', cause: 'handed_over' })
})

test('a failed run that is repeated keeps its turns, with the failed one', async () => {
  const store = new MemoryRunStore()
  const model = withRetry([new ScriptedModel(say('', call('look', {})), fail(), say('Done.'))], { attempts: 1 })
  const { runs, traces } = processWith({ store, tools: [fakeTool('look')], model })
  await (
    await runs.open(ann, chatOf('r'), connected)
  ).ended
  assert.deepEqual(describe((await traces.find(keyOf('r'))).spans).slice(-2), ['turn Turn 2: error', 'model scripted-1: error'])
  await (
    await runs.open(ann, chatOf('r'), connected)
  ).ended
  assert.deepEqual(describe((await traces.find(keyOf('r'))).spans), [
    'run chain: success',
    'turn Turn 1: success',
    'model scripted-1: success',
    'tool look: success',
    'turn Turn 2: error',
    'model scripted-1: error',
    'turn Turn 3: success',
    'model scripted-1: success',
  ])
})

test('a trace of an unknown run, and an unknown span, are not found', async () => {
  const store = new MemoryRunStore()
  const { runs, traces } = processWith({ store, model: new ScriptedModel(say('Hello.')) })
  await assert.rejects(traces.find(keyOf('r')), { code: 'not_found' })
  await (
    await runs.open(ann, chatOf('r'), connected)
  ).ended
  await assert.rejects(traces.findSpan(keyOf('r'), 'model:2'), { code: 'not_found' })
  const [span] = (await traces.findSpan(keyOf('r'), 'model:1')).spans
  assert.deepEqual(span!.messages, [{ role: 'user', content: 'r' }])
})

test('a call of the provider is a tool of the turn whose model asked for it', async () => {
  const store = new MemoryRunStore()
  const searching = { events: [...texts('A. '), ...providerCall('web_search', { query: 'x' }, { hits: 1 }), ...texts('B.')] }
  const { runs, traces } = processWith({ store, model: new ScriptedModel(say('', call('look', {})), searching), tools: [fakeTool('look')] })
  const { log, ended } = await runs.open(ann, chatOf('r'), connected)
  await ended
  const { spans } = await traces.find(keyOf('r'))
  assert.deepEqual(describe(spans), [
    'run chain: success',
    'turn Turn 1: success',
    'model scripted-1: success',
    'tool look: success',
    'turn Turn 2: success',
    'model scripted-1: success',
    'tool web_search: success',
  ])
  const span = spans.find(({ name }) => name === 'web_search')
  assert.deepEqual([span?.parent_id, span?.attributes['output']], ['turn:2', { hits: 1 }])
  const end = log.events.at(-1)
  assert.ok(end?.type === 'end' && end.usage.some(({ costAttribute, unit }) => costAttribute === 'tool:web_search' && unit === 'seconds'))
  const [, answer] = await store.history('t', (await store.find(keyOf('r')))!.session!, 0)
  assert.equal(answer?.content, 'A. B.')
})
