import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../agent/model.ts'
import { findQuirk } from './quirks.ts'
import { formOf } from './request.ts'

const { quirks } = formOf('openai-compatible')
const find = (message: string, sent = quirks) => findQuirk(sent, new ModelError('refused', `openai-compatible m answered 400: ${message}`))

test('a refusal shows what the server demands', () => {
  assert.equal(find('The `reasoning_content` in the thinking mode must be passed back to the API.'), 'needsReasoning')
  assert.equal(find('thinking is enabled but reasoning_content is missing in assistant tool call message at index 2'), 'needsReasoning')
  assert.equal(find('Function call `look` in the `2.` content block is missing a `thought_signature`.'), 'needsSignatures')
  assert.equal(find('Gemini models require OpenRouter reasoning details to be preserved in each request.'), 'needsDetails')
  assert.equal(find("'messages.1' : property 'reasoning_content' is unsupported"), 'refusesReasoning')
  assert.equal(find("Unknown parameter: 'messages[1].reasoning'."), 'refusesReasoning')
  assert.equal(find('Extra inputs are not permitted'), 'refusesReasoning')
  assert.equal(find('Thinking mode does not support this tool_choice'), 'refusesDemands')
  assert.equal(find("tool_choice 'required' is incompatible with thinking enabled"), 'refusesDemands')
  assert.equal(
    find("tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"),
    'needsPlainNames',
  )
  assert.equal(find("Invalid schema for function 'look': 'required' is required to be supplied"), 'refusesStrict')
})

test('a refusal for another reason shows nothing', () => {
  assert.equal(find("This model's maximum context length is 8192 tokens."), undefined)
  assert.equal(find("Unsupported value: 'reasoning_effort' does not support 'max' with this model."), undefined)
  assert.equal(find('Function tools with reasoning_effort are not supported for this model in /v1/chat/completions.'), undefined)
  assert.equal(find('`reasoning_content` must be passed back', { ...quirks, needsReasoning: true }), undefined)
  assert.equal(findQuirk(quirks, new ModelError('unavailable', 'reasoning_content is missing')), undefined)
  assert.equal(findQuirk(quirks, new ModelError('unavailable', 'Conversation roles must alternate user/assistant')), 'needsAlternation')
})

test('DeepSeek and Moonshot are known to demand the reasoning of every turn', () => {
  for (const host of ['api.deepseek.com', 'api.moonshot.ai', 'api.moonshot.cn']) {
    assert.equal(formOf('openai-compatible', host).quirks.needsReasoning, true)
  }
  for (const host of ['openrouter.ai', 'api.z.ai']) assert.equal(formOf('openai-compatible', host).quirks.needsReasoning, false)
})
