import assert from 'node:assert/strict'
import { test } from 'node:test'
import { abilitiesOf, sourceOfAbilities, wireOf } from './abilities.ts'
import type { Provider } from '../providers.ts'

type Name = readonly [provider: Provider, model: string]

const effortRows: readonly (readonly [...Name, efforts: string])[] = [
  ['openai', 'gpt-6-astra', 'low medium high xhigh max'],
  ['openai', 'gpt-6.1-terra', 'none low medium high xhigh max'],
  ['openai', 'gpt-5.6-luna', 'none low medium high xhigh max'],
  ['openai', 'gpt-5.5-2026-04-23', 'none low medium high xhigh'],
  ['openai', 'gpt-5.4-pro', 'medium high xhigh'],
  ['openai', 'gpt-5.3-chat-latest', 'medium'],
  ['openai', 'gpt-5.1', 'none low medium high'],
  ['openai', 'gpt-5.1-codex-max', 'low medium high xhigh'],
  ['openai', 'gpt-5-codex', 'low medium high'],
  ['openai', 'gpt-5-mini', 'minimal low medium high'],
  ['openai', 'gpt-5-chat-latest', ''],
  ['openai', 'o4-mini', 'low medium high'],
  ['openai', 'gpt-4.1-mini', ''],
  ['openai', 'gpt-7', 'low medium high xhigh max'],
  ['azure', 'our-deployment', 'none minimal low medium high xhigh max'],
  ['azure', 'gpt-5-mini', 'minimal low medium high'],
  ['anthropic', 'claude-opus-5-5', 'low medium high xhigh max'],
  ['anthropic', 'claude-haiku-5-5', 'none low medium high xhigh max'],
  ['anthropic', 'claude-opus-5', 'none low medium high xhigh max'],
  ['anthropic', 'claude-fable-5-1', 'low medium high xhigh max'],
  ['anthropic', 'claude-opus-4-8', 'none low medium high xhigh max'],
  ['anthropic', 'claude-sonnet-4-6', 'none low medium high max'],
  ['anthropic', 'claude-sonnet-4-5-20250929', 'none minimal low medium high xhigh'],
  ['anthropic', 'claude-sonnet-4-0', 'none minimal low medium high xhigh'],
  ['anthropic', 'claude-opus-4-20250514', 'none minimal low medium high xhigh'],
  ['anthropic', 'claude-3-5-haiku-latest', ''],
  ['anthropic', 'claude-epic-6', 'none low medium high xhigh max'],
  ['amazon-bedrock', 'us.anthropic.claude-opus-4-7', 'none low medium high xhigh max'],
  ['amazon-bedrock', 'global.anthropic.claude-fable-5-1', 'low medium high xhigh max'],
  ['amazon-bedrock', 'us.amazon.nova-2-lite-v1:0', 'none low medium high'],
  ['amazon-bedrock', 'amazon.nova-pro-v1:0', ''],
  ['amazon-bedrock', 'openai.gpt-oss-120b-1:0', 'low medium high'],
  ['amazon-bedrock', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', ''],
  ['google', 'gemini-4-hydrogen', 'low medium high xhigh'],
  ['google', 'gemini-3.8-flash', 'low medium high'],
  ['google', 'gemini-3.5-flash-lite', 'minimal low medium high'],
  ['google', 'gemini-3.1-pro-preview', 'low medium high'],
  ['google', 'gemini-2.5-pro', 'minimal low medium high xhigh'],
  ['google', 'gemini-2.5-flash', 'none minimal low medium high xhigh'],
  ['google', 'gemini-2.0-flash', ''],
  ['google', 'gemma-3-27b-it', ''],
  ['mistral', 'mistral-medium-latest', 'none high'],
  ['mistral', 'mistral-small-2603', 'none high'],
  ['mistral', 'mistral-medium-2508', ''],
  ['mistral', 'magistral-small-latest', ''],
  ['xai', 'grok-4.3', 'none low medium high'],
  ['xai', 'grok-4.5', 'low medium high'],
  ['xai', 'grok-4.6', 'low medium high xhigh'],
  ['xai', 'grok-4.20-0309-reasoning', ''],
  ['openai-compatible', 'anthropic/claude-opus-4.7', 'none low medium high xhigh max'],
  ['openai-compatible', 'openai/gpt-5.6', 'none low medium high xhigh max'],
  ['openai-compatible', 'openai/gpt-oss-20b', 'low medium high'],
  ['openai-compatible', 'kimi-k3', 'low high max'],
  ['openai-compatible', 'glm-5.3', 'low high max'],
  ['openai-compatible', 'google/gemini-3-pro-preview', 'none minimal low medium high'],
  ['openai-compatible', 'meta-llama/Llama-3.3-70B-Instruct', ''],
  ['openai-compatible', 'a-model-of-ours', 'none minimal low medium high xhigh max'],
  ['embedded', 'demo', ''],
]

for (const [provider, model, efforts] of effortRows) {
  test(`${provider} ${model} takes the efforts "${efforts}"`, () => {
    assert.equal(abilitiesOf({ provider, model }).efforts.join(' '), efforts)
  })
}

const schemaRows: readonly (readonly [...Name, structuredOutput: string, isStrict: boolean])[] = [
  ['openai', 'gpt-5.5', 'with_tools', true],
  ['openai', 'gpt-3.5-turbo', 'none', false],
  ['anthropic', 'claude-haiku-4-5', 'with_tools', true],
  ['anthropic', 'claude-sonnet-4-20250514', 'without_tools', false],
  ['amazon-bedrock', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'with_tools', true],
  ['amazon-bedrock', 'anthropic.claude-sonnet-4-6-v1', 'without_tools', true],
  ['amazon-bedrock', 'anthropic.claude-opus-5', 'without_tools', false],
  ['google', 'gemini-3-flash-preview', 'with_tools', true],
  ['google', 'gemini-2.5-flash', 'without_tools', true],
  ['google', 'gemini-3.1-flash-image-preview', 'none', false],
  ['mistral', 'mistral-large-latest', 'with_tools', false],
  ['xai', 'grok-4.5', 'with_tools', false],
  ['openai-compatible', 'google/gemini-3-flash-preview', 'with_tools', false],
  ['openai-compatible', 'deepseek-chat', 'without_tools', false],
]

for (const [provider, model, structuredOutput, isStrict] of schemaRows) {
  test(`${provider} ${model} enforces schemas of answers "${structuredOutput}", those of tools: ${isStrict}`, () => {
    const abilities = abilitiesOf({ provider, model })
    assert.deepEqual([abilities.structuredOutput, abilities.strictTools], [structuredOutput, isStrict])
  })
}

const mediaRows: readonly (readonly [...Name, media: string])[] = [
  ['openai', 'gpt-5.5', 'images documents'],
  ['openai', 'gpt-4o-audio-preview', 'audio'],
  ['openai', 'o3-mini', ''],
  ['anthropic', 'claude-opus-5', 'images documents'],
  ['anthropic', 'claude-3-haiku-20240307', 'images'],
  ['google', 'gemini-2.5-flash', 'images documents audio video'],
  ['amazon-bedrock', 'amazon.nova-lite-v1:0', 'images documents video'],
  ['amazon-bedrock', 'us.amazon.nova-micro-v1:0', ''],
  ['amazon-bedrock', 'us.meta.llama4-scout-17b-instruct-v1:0', 'images documents'],
  ['mistral', 'mistral-small-latest', 'images'],
  ['mistral', 'codestral-latest', ''],
  ['xai', 'grok-4.5', 'images'],
  ['openai-compatible', 'deepseek-v4-pro', ''],
  ['openai-compatible', 'moonshotai/kimi-k2.5', 'images'],
  ['openai-compatible', 'moonshotai/kimi-k2-instruct', ''],
  ['openai-compatible', 'qwen/qwen3-vl-235b', 'images'],
  ['openai-compatible', 'Qwen/Qwen3-32B', ''],
  ['openai-compatible', 'glm-4.6v', 'images'],
  ['openai-compatible', 'glm-5.2', ''],
  ['openai-compatible', 'llama3.2-vision:11b', 'images'],
  ['openai-compatible', 'gemini-3-flash-preview', 'images audio'],
  ['embedded', 'demo', ''],
]

for (const [provider, model, media] of mediaRows) {
  test(`${provider} ${model} reads "${media}"`, () => {
    const abilities = abilitiesOf({ provider, model })
    const kinds = (['images', 'documents', 'audio', 'video'] as const).filter((kind) => abilities[kind])
    assert.equal(kinds.join(' '), media)
  })
}

const cacheRows: readonly (readonly [...Name, cache: string])[] = [
  ['anthropic', 'claude-opus-5', 'marks'],
  ['amazon-bedrock', 'us.anthropic.claude-opus-4-6-v1', 'marks'],
  ['amazon-bedrock', 'amazon.nova-lite-v1:0', 'marks'],
  ['amazon-bedrock', 'us.meta.llama3-3-70b-instruct-v1:0', 'none'],
  ['amazon-bedrock', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', 'none'],
  ['openai', 'gpt-5.5', 'automatic'],
  ['google', 'gemini-3-flash-preview', 'automatic'],
  ['openai-compatible', 'anthropic/claude-sonnet-4.5', 'marks'],
  ['openai-compatible', 'deepseek-chat', 'automatic'],
  ['embedded', 'demo', 'none'],
]

for (const [provider, model, cache] of cacheRows) {
  test(`the prompt cache of ${provider} ${model} is "${cache}"`, () => {
    assert.equal(abilitiesOf({ provider, model }).cache, cache)
  })
}

test('a model has the tools of its provider on the wire that has the tools', () => {
  const toolsOf = (provider: Provider, model: string, wire?: 'chat-completions' | 'responses') =>
    abilitiesOf({ provider, model, ...(wire && { wire }) }).providerTools.join(' ')
  assert.equal(toolsOf('openai', 'gpt-5.5'), 'web_search code file_search mcp image_generation')
  assert.equal(toolsOf('openai', 'gpt-5.5', 'chat-completions'), '')
  assert.equal(toolsOf('openai', 'gpt-4.1-nano'), 'code file_search mcp')
  assert.equal(toolsOf('azure', 'our-deployment'), 'web_search code file_search mcp image_generation')
  assert.equal(toolsOf('azure', 'our-deployment', 'chat-completions'), '')
  assert.equal(toolsOf('anthropic', 'claude-sonnet-4-5'), 'web_search fetch code mcp')
  assert.equal(toolsOf('amazon-bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0'), '')
  assert.equal(toolsOf('google', 'gemini-3-flash-preview'), 'web_search fetch code file_search')
  assert.equal(toolsOf('google', 'gemini-2.5-flash'), '')
  assert.equal(toolsOf('xai', 'grok-4.5'), 'web_search x_search code file_search mcp')
  assert.equal(toolsOf('xai', 'grok-4.5', 'chat-completions'), '')
  assert.equal(toolsOf('openai-compatible', 'openai/gpt-5.5', 'responses'), '')
})

test('chat completions of OpenAI take functions of current models without reasoning only', () => {
  assert.deepEqual(abilitiesOf({ provider: 'openai', model: 'gpt-5.6', wire: 'chat-completions' }).efforts, ['none'])
  assert.deepEqual(abilitiesOf({ provider: 'openai', model: 'gpt-5-mini', wire: 'chat-completions' }).efforts[0], 'minimal')
})

test('Azure reads PDF documents with the responses API only', () => {
  assert.equal(abilitiesOf({ provider: 'azure', model: 'gpt-5.5' }).documents, true)
  assert.equal(abilitiesOf({ provider: 'azure', model: 'gpt-5.5', wire: 'chat-completions' }).documents, false)
})

test('a limit of reasoning in tokens is known for the models that have the limit', () => {
  const hasLimit = (provider: Provider, model: string) => abilitiesOf({ provider, model }).reasoningTokens
  assert.equal(hasLimit('anthropic', 'claude-sonnet-4-5'), true)
  assert.equal(hasLimit('anthropic', 'claude-opus-4-7'), false)
  assert.equal(hasLimit('google', 'gemini-2.5-pro'), true)
  assert.equal(hasLimit('google', 'gemini-3-pro-preview'), false)
  assert.equal(hasLimit('openai', 'gpt-5.5'), false)
})

test('models that call no tools are known', () => {
  const names: Name[] = [
    ['openai', 'gpt-5-chat-latest'],
    ['google', 'gemini-3-pro-image-preview'],
    ['amazon-bedrock', 'us.deepseek.r1-v1:0'],
    ['amazon-bedrock', 'us.meta.llama3-2-3b-instruct-v1:0'],
  ]
  for (const [provider, model] of names) assert.equal(abilitiesOf({ provider, model }).tools, false, model)
})

test('the source of the knowledge says whether the table names the model', () => {
  assert.equal(sourceOfAbilities({ provider: 'openai', model: 'gpt-5.5' }), 'table')
  assert.equal(sourceOfAbilities({ provider: 'azure', model: 'our-deployment' }), 'default')
  assert.equal(sourceOfAbilities({ provider: 'openai-compatible', model: 'a-model-of-ours' }), 'default')
})

test('openai, azure and xai are called with the responses API, other servers where it is configured', () => {
  assert.equal(wireOf({ provider: 'openai' }), 'responses')
  assert.equal(wireOf({ provider: 'xai', wire: 'chat-completions' }), 'chat-completions')
  assert.equal(wireOf({ provider: 'openai-compatible' }), 'chat-completions')
  assert.equal(wireOf({ provider: 'openai-compatible', wire: 'responses' }), 'responses')
  assert.equal(wireOf({ provider: 'mistral', wire: 'responses' }), 'chat-completions')
  assert.equal(wireOf({ provider: 'anthropic' }), 'ai-sdk')
})
