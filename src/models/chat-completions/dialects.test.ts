import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDialect, type ReasoningWish, findQuirk } from './dialects.ts'
import { ModelError } from '../../agent/model.ts'
import { formOf } from './chat-completions.ts'

const sent = (host: string, wish: ReasoningWish, provider: 'openai' | 'openai-compatible' = 'openai-compatible') =>
  JSON.parse(JSON.stringify(findDialect(provider, host).toReasoning(wish)))

test('nothing is sent where nothing is configured', () => {
  for (const host of ['openrouter.ai', 'api.deepseek.com', 'api.groq.com', 'api.mistral.ai', 'api.x.ai', 'api.moonshot.ai', 'localhost']) {
    assert.deepEqual(sent(host, {}), {}, host)
  }
})

test('a server that is not known gets the effort as configured', () => {
  for (const effort of ['none', 'minimal', 'max'] as const)
    assert.deepEqual(sent('localhost', { effort, tokens: 9 }), { reasoning_effort: effort })
  assert.deepEqual(sent('api.openai.com', { effort: 'xhigh' }, 'openai'), { reasoning_effort: 'xhigh' })
  assert.deepEqual(sent('notopenrouter.ai', { effort: 'low' }), { reasoning_effort: 'low' })
})

test('OpenRouter gets an effort or a number of tokens, and whether to send the reasoning', () => {
  assert.deepEqual(sent('openrouter.ai', { effort: 'max' }), { reasoning: { effort: 'xhigh' } })
  assert.deepEqual(sent('openrouter.ai', { effort: 'low', tokens: 2000, summary: false }), {
    reasoning: { max_tokens: 2000, exclude: true },
  })
  assert.deepEqual(sent('openrouter.ai', { tokens: 0 }), { reasoning: { effort: 'none' } })
  assert.deepEqual(sent('openrouter.ai', { summary: true }), {})
})

test('DeepSeek, Moonshot and Z.ai have a switch, DeepSeek an effort too', () => {
  assert.deepEqual(sent('api.deepseek.com', { effort: 'high' }), { thinking: { type: 'enabled' }, reasoning_effort: 'high' })
  assert.deepEqual(sent('api.deepseek.com', { effort: 'none' }), { thinking: { type: 'disabled' } })
  assert.deepEqual(sent('api.moonshot.ai', { effort: 'low' }), { thinking: { type: 'enabled' } })
  assert.deepEqual(sent('api.z.ai', { tokens: 0 }), { thinking: { type: 'disabled' } })
})

test('an effort that a server does not know becomes the next greater one', () => {
  assert.deepEqual(sent('api.mistral.ai', { effort: 'low' }), { reasoning_effort: 'high' })
  assert.deepEqual(sent('api.x.ai', { effort: 'max' }), { reasoning_effort: 'high' })
  assert.deepEqual(sent('api.groq.com', { effort: 'minimal', summary: false }), { reasoning_effort: 'low', include_reasoning: false })
})

test('Google and Alibaba take a number of tokens in fields of their own', () => {
  const config = { thinking_budget: 500, include_thoughts: true }
  assert.deepEqual(sent('generativelanguage.googleapis.com', { effort: 'low', tokens: 500, summary: true }), {
    extra_body: { google: { thinking_config: config } },
  })
  assert.deepEqual(sent('dashscope-intl.aliyuncs.com', { tokens: 500 }), { enable_thinking: true, thinking_budget: 500 })
})

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
