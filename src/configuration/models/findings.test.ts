import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeOddities } from './findings.ts'
import { parseAgentConfig } from '../parse.ts'
import { ConfigError } from '../problems.ts'

const oddities = (yaml: string) => describeOddities(parseAgentConfig(yaml))

function problemsOf(yaml: string): string[] {
  try {
    parseAgentConfig(yaml)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems.map(({ path, message }) => `${path}: ${message}`)
  }
}

const primary = (fields: string) => `llms: { primary: { api_key: k, ${fields} } }\n`

const settings: readonly (readonly [fields: string, finding: string | undefined])[] = [
  ['provider: openai, model: gpt-5.5, reasoning_effort: xhigh', undefined],
  [
    'provider: openai, model: gpt-5.5, reasoning_effort: max',
    'reasoning_effort: "max" is no effort of gpt-5.5, which has none, low, medium, high, xhigh',
  ],
  ['provider: openai, model: gpt-4.1, reasoning_effort: low', 'reasoning_effort: gpt-4.1 has no reasoning effort'],
  ['provider: anthropic, model: claude-sonnet-4-5, reasoning_tokens: 9000', undefined],
  [
    'provider: anthropic, model: claude-opus-5, reasoning_tokens: 9000',
    'reasoning_tokens: claude-opus-5 has no limit of reasoning in tokens; use reasoning_effort',
  ],
  ['provider: openai, model: gpt-4.1, reasoning_summary: "on"', 'reasoning_summary: gpt-4.1 sends no reasoning'],
  ['provider: mistral, model: codestral-latest, images: true', 'images: codestral-latest accepts no images'],
  ['provider: mistral, model: codestral-latest, images: false', undefined],
  ['provider: anthropic, model: claude-opus-5, cache: "on"', undefined],
  ['provider: google, model: gemma-3-27b-it, cache: "on"', 'cache: gemma-3-27b-it has no prompt cache that the service knows of'],
  ['provider: google, model: gemma-3-27b-it, cache: "off"', undefined],
  [
    'provider: openai, base_url: "http://localhost:1", model: gpt-4.1',
    'base_url: this server is asked on the responses API; set wire: chat-completions if the server has chat completions only',
  ],
  ['provider: openai, base_url: "http://localhost:1", model: gpt-4.1, wire: chat-completions', undefined],
  ['provider: openai-compatible, base_url: "http://localhost:1", model: ours, reasoning_effort: minimal, images: true', undefined],
]

for (const [fields, finding] of settings) {
  test(`{ ${fields} } ${finding ? 'is a finding' : 'is no finding'}`, () => {
    assert.deepEqual(oddities(primary(fields)), finding === undefined ? [] : [`llms.primary.${finding}`])
  })
}

test('findings name the place of each model', () => {
  const yaml = `llms:
  primary: { provider: embedded, model: rules-1 }
  fallback: [{ provider: openai, model: gpt-4.1, api_key: k, reasoning_effort: low }]
  small: { provider: openai, model: gpt-4o, api_key: k, reasoning_tokens: 5 }
`
  assert.deepEqual(
    oddities(yaml).map((line) => line.split(': ')[0]),
    ['llms.fallback[0].reasoning_effort', 'llms.small.reasoning_tokens'],
  )
})

test('tools beside a model that calls none are a finding', () => {
  const yaml = `${primary('provider: openai, model: gpt-5-chat-latest')}tools: [{ name: calculator }]\n`
  assert.deepEqual(oddities(yaml), ['llms.primary.model: gpt-5-chat-latest calls no tools, but tools are configured'])
})

test('a tool that no configured model has, or that a fallback lacks, is a finding', () => {
  const of = (models: string, tool: string) =>
    oddities(`llms: { ${models} }\ntools: [{ name: web, type: provider, config: { tool: ${tool} } }]\n`)
  const claude = 'primary: { provider: anthropic, model: claude-opus-5, api_key: k }'
  assert.deepEqual(of(claude, 'web_search'), [])
  assert.deepEqual(of(claude, 'x_search'), ['tools[0].config.tool: "x_search" is no tool of a configured model (claude-opus-5)'])
  assert.deepEqual(of(`${claude}, fallback: [{ provider: openai, model: gpt-5.5, api_key: k, wire: chat-completions }]`, 'web_search'), [
    'tools[0].config.tool: "web_search" is no tool of gpt-5.5: a fallback changes what the agent can do',
  ])
})

test('a wire is refused for a provider with one API, and accepted for the others', () => {
  assert.deepEqual(problemsOf(primary('provider: anthropic, model: claude-opus-5, wire: responses')), [
    'llms.primary.wire: cannot be set: the provider anthropic has one API only; remove the field',
  ])
  assert.equal(problemsOf(primary('provider: mistral, model: m, wire: chat-completions')).length, 1)
  for (const provider of ['openai', 'azure', 'xai', 'openai-compatible']) {
    assert.deepEqual(problemsOf(primary(`provider: ${provider}, model: m, base_url: "http://localhost:1", wire: chat-completions`)), [])
  }
})

test('a field of extra_body that the service sets itself is refused with its path, on each wire', () => {
  const refusal = 'cannot be set here: the service sets this field itself; remove the field'
  const of = (provider: string, extra: string, more = '') =>
    problemsOf(primary(`provider: ${provider}, model: m, ${more} extra_body: { ${extra} }`))
  assert.deepEqual(of('openai', 'input: [], service_tier: flex'), [`llms.primary.extra_body.input: ${refusal}`])
  assert.deepEqual(of('openai', 'messages: [], top_k: 3', 'wire: chat-completions,'), [`llms.primary.extra_body.messages: ${refusal}`])
  assert.deepEqual(of('anthropic', 'thinking: { type: enabled }'), [`llms.primary.extra_body.thinking: ${refusal}`])
  assert.deepEqual(of('google', 'safetySettings: []'), [])
  assert.deepEqual(of('mistral', 'safe_prompt: true'), [])
  assert.equal(of('embedded', 'a: 1').length, 1)
})

test('extra_body is at most 16 KiB as JSON', () => {
  const of = (length: number) => problemsOf(primary(`provider: mistral, model: m, extra_body: { a: "${'é'.repeat(length)}" }`))
  assert.deepEqual(of(8188), [])
  assert.deepEqual(of(8189), ['llms.primary.extra_body: has 16,386 bytes as JSON; at most 16,384 are allowed'])
})
