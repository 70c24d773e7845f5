import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError, type ModelRequest } from '../agent/model.ts'
import { fail, say, ScriptedModel } from '../agent/scripted-model.ts'
import { withSchemaRefusals } from './schema-refusals.ts'

const request: ModelRequest = { system: '', messages: [], tools: [], responseSchema: { type: 'object' } }

async function ask(scripted: ScriptedModel, asked = request) {
  const replying = withSchemaRefusals(scripted).reply(asked, new AbortController().signal)
  for (let next = await replying.next(); ; next = await replying.next()) if (next.done) return next.value.text
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
