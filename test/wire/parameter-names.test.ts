import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWire } from './fixture.ts'

/** Names of parameters such as `filter[id]`, which Claude refuses. */

const red = 'It is red.'

for (const [provider, sent] of Object.entries({ anthropic: 'filter_id_', bedrock: 'filter_id_', 'openai-responses': 'filter[id]' })) {
  test(`Wire of ${provider}: the tool gets its own names of parameters, which the provider knows as ${sent}`, async (t) => {
    const { script, service, wire, assertAccepted } = await startWire(t, provider)
    script({ calls: [{ name: 't_3d_odd', input: { id: 1, [sent]: 7 } }] }, { text: red })
    const { body, text } = await service.client.chat('Which colour?')
    assertAccepted()
    const [{ tool, tool_input: input, status }] = body.body.intermediate_steps
    assert.deepEqual({ tool, input, status }, { tool: '3d.odd', input: { id: 1, 'filter[id]': 7 }, status: 'success' }, text)
    assert.ok(JSON.stringify(wire.requests[1]!.body.messages ?? wire.requests[1]!.body.input).includes(sent))
  })
}
