import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelConfig } from '../../configuration/schema.ts'
import { toRequestBody } from './request.ts'
import { toConfiguredOptions } from './settings.ts'

const config: ModelConfig = { provider: 'openai-compatible', model: 'm' }

test('the settings of agent.yaml reach the requests', () => {
  const options = toConfiguredOptions('openai-compatible', {
    ...config,
    images: false,
    reasoning_effort: 'xhigh',
    reasoning_tokens: 500,
    reasoning_summary: 'off',
    extra_body: { top_k: 40 },
  })
  const { seesImages, reasoningEffort, reasoningTokens, reasoningSummary, extraBody } = options
  assert.deepEqual(
    { seesImages, reasoningEffort, reasoningTokens, reasoningSummary, extraBody },
    { seesImages: false, reasoningEffort: 'xhigh', reasoningTokens: 500, reasoningSummary: false, extraBody: { top_k: 40 } },
  )
  assert.equal(toConfiguredOptions('openai-compatible', config).reasoningSummary, undefined)
})

test('OpenAI and Azure take a schema beside tools, an unknown server does not', () => {
  assert.equal(toConfiguredOptions('openai', { ...config, provider: 'openai' }).structuredOutput, 'with_tools')
  assert.equal(toConfiguredOptions('azure', { ...config, provider: 'azure' }).structuredOutput, 'with_tools')
  assert.equal(toConfiguredOptions('openai-compatible', config).structuredOutput, 'without_tools')
})

test('a server of unknown models reads no files', () => {
  const { readsFiles } = toConfiguredOptions('openai-compatible', config)
  for (const mediaType of ['application/pdf', 'audio/wav', 'video/mp4', 'text/plain'])
    assert.equal(readsFiles?.(mediaType), false, mediaType)
})

test('an effort is fitted to the model at Mistral and xAI, and left alone elsewhere', () => {
  const effortOf = (provider: 'mistral' | 'xai' | 'openai', model: string, reasoning_effort: ModelConfig['reasoning_effort']) => {
    const options = toConfiguredOptions(provider, { provider, model, reasoning_effort })
    return JSON.parse(toRequestBody(options, { system: '', messages: [], tools: [] })).reasoning_effort
  }
  assert.equal(effortOf('mistral', 'mistral-medium-latest', 'low'), 'high')
  assert.equal(effortOf('mistral', 'mistral-medium-latest', 'none'), 'none')
  assert.equal(effortOf('mistral', 'codestral-latest', 'high'), undefined)
  assert.equal(effortOf('xai', 'grok-4.6', 'max'), 'xhigh')
  assert.equal(effortOf('openai', 'gpt-5.4', 'max'), 'max')
})
