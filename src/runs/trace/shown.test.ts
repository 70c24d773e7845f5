import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeTool } from '../../agent/react-fixture.ts'
import { call, say, ScriptedModel, type ScriptedReply } from '../../agent/scripted-model.ts'
import { toRecalled } from '../../memory/recall.ts'
import type { Memory } from '../../memory/memory.ts'
import { execute } from '../execution/execute.ts'
import type { RunPorts } from '../execution/ports.ts'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { LiveRun } from '../ownership/live-run.ts'
import { agentOf, keyOf, newRun, portsOf, type AgentOptions } from '../process-fixture.ts'
import type { ChatRequest } from '../run.ts'
import type { Turn } from '../run-store.ts'
import type { ModelRecord, ShownRecord, TraceRecord } from './records.ts'

interface Asked extends Partial<AgentOptions> {
  replies?: ScriptedReply[]
  request?: Partial<ChatRequest>
  turn?: Partial<Turn>
  ports?: Partial<RunPorts>
}

/** Executes a run, and returns the stored records of its trace. */
async function recordsOf({ replies = [say('Good day.')], request, turn, ports, ...options }: Asked = {}): Promise<TraceRecord[]> {
  const store = new MemoryRunStore()
  const draft = newRun('r', { request: { ...newRun('r').request, ...request } })
  const begun = await store.begin(draft)
  if (begun.kind !== 'running') throw new Error(`The run is ${begun.kind}.`)
  const agent = agentOf({ ...options, model: new ScriptedModel(...replies) })
  const { sessionId, operation, bodyHash, onDisconnect } = draft
  const run = new LiveRun({ key: keyOf('r'), sessionId, operation, bodyHash, request: draft.request, onDisconnect, agent, fence: 1 })
  await execute(run, { ...begun.turn, ...turn }, { ...portsOf(store), ...ports })
  return (await store.find(keyOf('r')))!.log!.trace!
}

const shownIn = (records: readonly TraceRecord[]) => records.filter((record): record is ShownRecord => record.type === 'shown')
const modelsIn = (records: readonly TraceRecord[]) => records.filter((record): record is ModelRecord => record.type === 'model')

const memory: Memory = { id: 'm1', kind: 'fact', content: 'Ann likes tea.', origin: 'user', createdAt: 1, updatedAt: 1, vector: undefined }
const memories = toRecalled([memory])!
const summary = { text: 'Ann asked about tea.' }

test('the record of a plain run is a hash of the instructions', async () => {
  const [shown, ...others] = shownIn(await recordsOf({ config: { instructions: 'Be brief.' } }))
  assert.deepEqual([Object.keys(shown!), others], [['type', 'system'], []])
  assert.match(shown!.system, /^[0-9a-f]{16}$/)
  const [other] = shownIn(await recordsOf({ config: { instructions: 'Be long.' } }))
  assert.notEqual(other!.system, shown!.system)
})

test('memories, the summary and the fields of the request are kept as they were shown', async () => {
  const request = { instructions: 'In French.', responseSchema: { type: 'object' }, headers: { 'stix-token': 'secret' } }
  const records = await recordsOf({ replies: [say('{}')], request, turn: { summary }, ports: { recall: () => Promise.resolve(memories) } })
  const [shown] = shownIn(records)
  const { filters: _filters, ...asked } = shown!.request!
  assert.deepEqual(asked, { instructions: 'In French.', responseSchema: { type: 'object' } })
  assert.deepEqual([shown!.summary, shown!.memories], [summary, memories])
  assert.doesNotMatch(JSON.stringify(records), /secret/)
})

test('of a run with data filters, only the request is kept', async () => {
  const filters = [{ tool: 'sales', key: 'name', type: 'equals' as const, value: 'cup' }]
  const tools = [fakeTool('sales', { filters: true })]
  const recall = () => Promise.resolve(memories)
  const [shown] = shownIn(await recordsOf({ tools, request: { filters }, turn: { summary }, ports: { recall } }))
  assert.deepEqual(shown, { type: 'shown', system: shown!.system, request: { filters } })
})

test('a part beyond the limit is left out, and the record says so', async () => {
  const long = { text: 'x'.repeat(300_000) }
  const [shown] = shownIn(await recordsOf({ turn: { summary: long }, ports: { recall: () => Promise.resolve(memories) } }))
  assert.deepEqual([shown!.isCut, shown!.summary, shown!.memories], [true, undefined, memories])
})

test('a reply keeps its calls as the model wrote them, and the text of a plan', async () => {
  const replies = [say('["Look.", "Say so."]'), say('', call('look', { b: 1, a: 2 })), say('Seen.'), say('It is so.'), say('All done.')]
  const records = modelsIn(await recordsOf({ replies, tools: [fakeTool('look')], config: { workflow_type: 'plan_execute' } }))
  assert.deepEqual(
    records.map(({ reply }) => reply),
    [{ text: '["Look.", "Say so."]' }, { requested: [{ name: 'look', arguments: '{"b":1,"a":2}' }] }, undefined, undefined, undefined],
  )
})

test('replies beyond the characters of a run are not kept', async () => {
  const large = Array.from({ length: 6 }, (_, n) => say('', call('look', { n, text: 'x'.repeat(100_000) })))
  const records = modelsIn(await recordsOf({ replies: [...large, say('Done.')], tools: [fakeTool('look')] }))
  assert.deepEqual(
    records.map(({ reply }) => reply !== undefined),
    [true, true, true, true, true, false, false],
  )
})
