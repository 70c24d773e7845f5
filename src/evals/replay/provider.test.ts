import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../agent/model.ts'
import { fakeTool } from '../../agent/react-fixture.ts'
import type { Tool } from '../../agent/tool.ts'
import { toAgentConfig } from '../../configuration/parse.ts'
import { agentOf } from '../../runs/process-fixture.ts'
import { FunctionModel } from '../recorded-parts-fixture.ts'
import { toSubject } from '../scorers/score.ts'
import { caseOf, modelOf, tryOut } from './case-fixture.ts'
import { toLiveReads } from './live.ts'

const ofProvider = (name: string, effect: Tool['effect']): Tool =>
  fakeTool(name, { effect, provider: { tool: name, config: { authorization: 'secret' } } })
const provided = [ofProvider('web_search', 'read'), ofProvider('remote', 'write')]

/** A model whose provider searches where the search is offered, and which keeps its requests. */
function searcher() {
  const requests: ModelRequest[] = []
  const model = new FunctionModel((request) => {
    requests.push(request)
    const call = { id: 'p1', name: 'web_search', input: { q: 'tea' } }
    const events = [
      { type: 'call_start' as const, call },
      { type: 'call_end' as const, call, output: 'found', isError: false },
    ]
    const isOffered = request.tools.some(({ name }) => name === 'web_search')
    return { events: [...(isOffered ? events : []), { type: 'text', text: 'Tea.' }] }
  })
  return { model, offered: () => requests.map(({ tools }) => tools.flatMap(({ name, provider }) => (provider ? [name] : []))) }
}

test('a tool that the provider of the model runs is not offered to a candidate, but for a read that the replay may make', async () => {
  const made = await caseOf(modelOf())
  const tools = [...made.tools, ...provided]
  const { model, offered } = searcher()
  await tryOut({ ...made, tools }, model)
  const live = toLiveReads(['web_search', 'remote'], {
    agent: agentOf({ model, tools }),
    inUse: toAgentConfig({}),
    writesInUse: () => false,
  })
  await tryOut({ ...made, tools }, model, { onMiss: 'live', live })
  assert.deepEqual(offered(), [[], ['web_search']])
})

test('an example whose provider has searched diverges where the search is not offered, and replays by its recording', async () => {
  const { model, offered } = searcher()
  const made = await caseOf(model, { tools: provided })
  assert.deepEqual(offered(), [['web_search', 'remote']])
  const failed = await tryOut(made, model)
  assert.deepEqual([failed.status, failed.divergence?.reason, failed.divergence?.call?.tool], ['diverged', 'tool_missing', 'web_search'])
  const proof = await tryOut(made, model, { isRecorded: true })
  assert.deepEqual([proof.isEqual, offered().length], [true, 1])
  const { calls, recordedCalls } = toSubject(made.example, proof)
  assert.deepEqual([calls, recordedCalls], [[], []])
})
