import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toExample } from '../example.ts'
import { exampleFromRun } from '../from-run.ts'
import { recordRun } from '../recorded-run-fixture.ts'
import { toTrace } from './trace.ts'

test('calls stand behind the reply that has asked for them, below the call in which their agent runs', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const { recorded } = await recordRun(seed)
    const { recording: calls, model_replies: replies } = exampleFromRun(recorded, { id: 'e', name: 'e', configVersion: '1' })
    const trace = toTrace({ calls, replies })
    assert.equal(trace.length, calls.length + replies.length)
    assert.deepEqual(
      trace.map(({ n }) => n),
      trace.map((_, index) => index + 1),
    )
    for (const { parent, n } of trace) {
      if (parent === null) continue
      const agent = trace[parent - 1]!
      assert.deepEqual([agent.kind, parent < n], ['call', true], `seed ${seed}`)
    }
    const nested = calls.filter(({ parent }) => parent !== null).length
    assert.equal(trace.filter(({ kind, parent }) => kind === 'call' && parent !== null).length, nested)
  }
})

test('calls of an example by hand, which no reply names, stand at the end', () => {
  const recording = [{ parent: null, tool: 'look', tool_input: { n: 1 }, output: 2, status: 'success' as const, effect: 'read' as const }]
  const draft = {
    name: 'e',
    input: { messages: [{ role: 'user' as const, content: 'Hello' }] },
    recording,
    model_replies: [{ text: 'Done.' }],
  }
  const { recording: calls, model_replies: replies } = toExample(draft, { id: 'e', time: 1 })
  assert.deepEqual(toTrace({ calls, replies }), [
    { n: 1, kind: 'reply', parent: null, text: 'Done.' },
    { n: 2, kind: 'call', parent: null, tool: 'look', toolInput: { n: 1 }, output: 2, status: 'success', effect: 'read' },
  ])
})
