import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

const llms = {
  primary: { provider: 'anthropic', model: 'claude-sonnet-4-6', api_key: 'sk-secret', prices: { input: 3, output: 15, cached_input: 0.3 } },
  fallback: [
    { provider: 'openai', model: 'gpt-5.5', api_key: 'sk-secret', images: false },
    { provider: 'openai-compatible', model: 'ours', base_url: 'http://127.0.0.1:1' },
  ],
  small: { provider: 'embedded', model: 'rules-1' },
  embedding: { provider: 'openai', model: 'text-embedding-3-small', api_key: 'sk-secret' },
}

test('the configured models are listed with what each can do, its prices, and where the knowledge is from', async (t) => {
  const { client } = await startService(t, { config: { llms } })
  const { status, body, text } = await client.request('GET', '/core/v1/agent/models')
  assert.deepEqual([status, body.count], [200, 5])
  const { abilities, ...primary } = body.models[0]
  assert.deepEqual(primary, {
    name: 'primary',
    provider: 'anthropic',
    model: 'claude-sonnet-4-6',
    wire: 'ai-sdk',
    prices: { input: 3, output: 15, cached_input: 0.3 },
    source: 'table',
  })
  assert.deepEqual(abilities, {
    tools: true,
    parallel_tools: true,
    strict_tools: true,
    structured_output: 'with_tools',
    reasoning: { efforts: ['none', 'low', 'medium', 'high', 'max'], tokens: true, summary: true },
    images: true,
    documents: true,
    audio: false,
    video: false,
    cache: 'marks',
    provider_tools: ['web_search', 'fetch', 'code', 'mcp'],
  })
  const rows = body.models.map((model: any) =>
    [model.name, model.wire, model.source, model.abilities.tools, model.abilities.images, model.prices_date ?? '-'].join(' '),
  )
  assert.deepEqual(rows, [
    'primary ai-sdk table true true -',
    // `images` of agent.yaml is stronger than the table.
    'fallback responses table true false 2026-09-23',
    'fallback chat-completions default true true -',
    'small embedded default true false -',
    'embedding embeddings default false false 2026-09-23',
  ])
  assert.deepEqual(body.models[1].prices, { input: 5, output: 30, cached_input: 0.5 })
  assert.doesNotMatch(text, /sk-secret/)
})

test('a key without metadata.read does not see the models', async (t) => {
  const access = { roles: { writer: ['chat'] } }
  const { as } = await startService(t, { script: {}, config: { access } })
  const writer = await as({ roles: ['writer'] })
  assert.equal((await writer.request('GET', '/core/v1/agent/models')).status, 403)
})

test('a change to a setting that the model does not have succeeds with a warning', async (t) => {
  const { as } = await startService(t, { config: { llms: { primary: llms.primary } } })
  const admin = await as({ roles: ['admin'] })
  const configuration = { llms: { primary: { reasoning_effort: 'xhigh' } } }
  const warning = 'llms.primary.reasoning_effort: "xhigh" is no effort of claude-sonnet-4-6, which has none, low, medium, high, max'
  const { status, body } = await admin.request('PUT', '/core/v1/agent/config', { body: { configuration } })
  assert.deepEqual([status, body.warnings], [200, [warning]])
})

test('a change of further fields is shown whole in the differences and in the configuration', async (t) => {
  const { as } = await startService(t, { config: { llms: { primary: llms.primary } } })
  const admin = await as({ roles: ['admin'] })
  const change = (extra_body: object) =>
    admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { llms: { primary: { extra_body } } } } })
  assert.deepEqual((await change({ serviceTier: 'auto', metadata: { userId: 'u' } })).body.diff, ['llms.primary.extra_body'])
  assert.deepEqual((await change({ serviceTier: 'standard_only' })).body.diff, ['llms.primary.extra_body.serviceTier'])
  const shown = await admin.request('GET', '/core/v1/agent/config')
  assert.deepEqual(shown.body.configuration.llms.primary.extra_body, { serviceTier: 'standard_only', metadata: { userId: 'u' } })
})

test('a change to a wire or to a further field that cannot be set is refused with its path', async (t) => {
  const { as } = await startService(t, { config: { llms: { primary: llms.primary } } })
  const admin = await as({ roles: ['admin'] })
  const configuration = { llms: { primary: { wire: 'responses', extra_body: { cacheControl: {} } } } }
  const { status, body } = await admin.request('PUT', '/core/v1/agent/config', { body: { configuration } })
  assert.equal(status, 422)
  assert.deepEqual(
    body.detail.map(({ loc }: { loc: string[] }) => loc.join('.')),
    ['body.configuration.llms.primary.wire', 'body.configuration.llms.primary.extra_body.cacheControl'],
  )
})
