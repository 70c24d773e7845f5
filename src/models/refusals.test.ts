import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError, type ModelRequest } from '../agent/model.ts'
import { collectReply, fail, say, ScriptedModel } from '../agent/scripted-model.ts'
import { withRefusals } from './retry.ts'

const request: ModelRequest = { system: '', messages: [], tools: [], responseSchema: { type: 'object' } }

async function ask(scripted: ScriptedModel, asked = request) {
  return (await collectReply(withRefusals(scripted), asked)).reply.text
}

test('a provider that refuses the schema is asked without it', async () => {
  const model = new ScriptedModel(fail(new ModelError('refused', 'no schemas')), say('{}'))
  assert.equal(await ask(model), '{}')
  assert.deepEqual(
    model.requests.map(({ responseSchema }) => responseSchema),
    [{ type: 'object' }, undefined],
  )
})

test('other failures, and those of a request without a schema, stay', async () => {
  await assert.rejects(ask(new ScriptedModel(fail(new ModelError('unavailable', 'down')))), { code: 'unavailable' })
  const { responseSchema: _, ...plain } = request
  await assert.rejects(ask(new ScriptedModel(fail(new ModelError('refused', 'too long'))), plain), { code: 'refused' })
})

test('a provider that cannot read its own reasoning any more is asked without it, then without the schema', async () => {
  const vendor = { provider: 'openai', model: 'm', data: [] }
  const messages: ModelRequest['messages'] = [{ role: 'assistant', text: 'Hi.', toolCalls: [], vendor }]
  const refusal = new ModelError('refused', 'openai m answered 400: The encrypted content gAAA...0Q== could not be verified.')
  const model = new ScriptedModel(fail(refusal), fail(new ModelError('refused', 'no schemas')), say('{}'))
  assert.equal(await ask(model, { ...request, messages }), '{}')
  const bare = [{ role: 'assistant', text: 'Hi.', toolCalls: [] }]
  assert.deepEqual(
    model.requests.map((sent) => [sent.messages, sent.responseSchema !== undefined]),
    [
      [messages, true],
      [bare, true],
      [bare, false],
    ],
  )
  await assert.rejects(ask(new ScriptedModel(fail(refusal), fail(refusal)), { system: '', messages, tools: [] }), { code: 'refused' })
})
