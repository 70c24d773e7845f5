import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../agent/model.ts'
import { toRecalled } from '../memory/recall.ts'
import type { ChatRequest } from '../runs/run.ts'
import type { Turn } from '../runs/run-store.ts'
import { agentOf, newRun } from '../runs/process-fixture.ts'
import type { Example } from './example.ts'
import { exampleFromRun } from './from-run.ts'
import { FunctionModel, Receiver, toolsOf } from './recorded-parts-fixture.ts'
import { ann, record, type Recorded } from './recorded-run-fixture.ts'
import { replay } from './replay/replay.ts'

const memories = toRecalled([
  { id: 'm1', kind: 'fact', content: 'Ann likes tea.', origin: 'user', createdAt: 1, updatedAt: 1, vector: undefined },
])!
const summary = { text: 'Ann asked about tea.', system: 'Be kind.' }

/** A run whose model keeps what it was sent. */
async function runOf(change: { request?: Partial<ChatRequest>; turn?: Partial<Turn>; memories?: typeof memories } = {}) {
  const requests: ModelRequest[] = []
  const model = new FunctionModel((request) => {
    requests.push(request)
    return { events: [{ type: 'text', text: '{"ok": true}' }] }
  })
  const receiver = new Receiver()
  const tools = toolsOf(receiver, () => 0).map((tool) => ({ ...tool, filters: true }))
  const agent = agentOf({ model, tools, config: { instructions: 'Be brief.' } })
  const { request, turn } = change
  const recorded = await record({
    agent,
    model,
    receiver,
    request: { ...newRun('r').request, ...request },
    ...(turn && { turn }),
    ...(change.memories && { memories: change.memories }),
  })
  return { recorded, requests, agent }
}

const toStored = ({ recorded }: Recorded): Example =>
  JSON.parse(JSON.stringify(exampleFromRun(recorded, { id: 'e', name: 'e', configVersion: '7', tags: ['a'] }))) as Example

const shownIn = ({ system, messages, responseSchema, options }: ModelRequest) =>
  JSON.stringify({ system, messages, responseSchema, options })

test('a replay shows the model what the run has shown, not what the session and the memories hold today', async () => {
  const request = {
    messages: [
      { role: 'user' as const, content: 'Hello.' },
      { role: 'assistant' as const, content: 'Hi.' },
      { role: 'user' as const, content: 'And now?' },
    ],
    instructions: 'In French.',
    responseSchema: { type: 'object' },
    modelOptions: { temperature: 0.5 },
  }
  const { recorded, requests, agent } = await runOf({ request, turn: { summary }, memories })
  const example = toStored(recorded)
  assert.deepEqual([example.reduced, example.source, example.tags], [undefined, { request_id: 'r', config_version: '7' }, ['a']])
  await replay({ example, agent, owner: ann, requestId: 'replay', signal: new AbortController().signal }, recorded.ports)
  assert.equal(requests.length, 2)
  assert.match(shownIn(requests[0]!), /Ann likes tea[^]*And now/)
  assert.match(requests[0]!.system, /Be brief[^]*In French[^]*Ann asked about tea/)
  assert.equal(shownIn(requests[1]!), shownIn(requests[0]!))
})

test('an example of a run with data filters has the question and its filters alone', async () => {
  const filters = [{ tool: 'look', key: 'n', type: 'equals' as const, value: '1' }]
  const { recorded } = await runOf({ request: { filters }, turn: { summary }, memories })
  const example = toStored(recorded)
  assert.deepEqual([example.before, example.input.data_filter_hints], [[], filters])
  assert.doesNotMatch(JSON.stringify(example), /tea/)
})

test('a run of an earlier version is reduced, and a long run is refused', async () => {
  const { recorded } = await runOf()
  const log = { ...recorded.recorded.run.log!, trace: [] }
  const options = { id: 'e', name: 'e', configVersion: '1' }
  assert.equal(exampleFromRun({ ...recorded.recorded, run: { ...recorded.recorded.run, log } }, options).reduced, true)
  const long = { ...recorded.recorded.run.log!, input: 'x'.repeat(5_000_000) }
  const isTooLarge = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'input_too_large'
  assert.throws(() => exampleFromRun({ ...recorded.recorded, run: { ...recorded.recorded.run, log: long } }, options), isTooLarge)
})
