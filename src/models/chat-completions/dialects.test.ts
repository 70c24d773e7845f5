import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDialect, type ReasoningWish } from './dialects.ts'

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
