import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWire } from './fixture.ts'
import { providers } from './providers/providers.ts'

/** A client that demands a call, also of a model that thinks. */

const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { at: { type: 'string' } } } } }
const choices = ['required', { type: 'function', function: { name: 'weather' } }]
const messages = [{ role: 'user', content: 'The weather?' }]

for (const { name } of providers) {
  test(`Wire of ${name}: a call that the client demands`, async (t) => {
    const { script, service, assertAccepted } = await startWire(t, name)
    for (const choice of choices) {
      script({ calls: [{ name: 'weather', input: { at: 'sea' } }] })
      const body = { model: 'agent-core', messages, tools: [weather], tool_choice: choice }
      const answer = await service.client.request('POST', '/v1/chat/completions', { body })
      assertAccepted()
      const [call] = answer.body.choices[0].message.tool_calls
      assert.equal(call.function.name, 'weather', answer.text)
    }
  })
}
