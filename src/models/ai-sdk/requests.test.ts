import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer, type ModelServer } from '../../../test/fixtures/model-server.ts'
import type { JsonObject, Message } from '../../agent/messages.ts'
import type { ModelReply, ModelRequest, ToolOffer } from '../../agent/model.ts'
import { collectReply } from '../../agent/scripted-model.ts'
import type { ModelConfig } from '../../configuration/schema.ts'
import { createConnections } from '../connections.ts'
import { createModel } from '../create-model.ts'

const connections = createConnections()
const servers: ModelServer[] = []
after(async () => {
  await connections.close()
  await Promise.all(servers.map((server) => server.close()))
})

const claude: ModelConfig = { provider: 'anthropic', model: 'claude-sonnet-4-5', api_key: 'k', max_output_tokens: 4000 }
const gemini: ModelConfig = { provider: 'google', model: 'gemini-2.5-flash', api_key: 'k' }
const openai: ModelConfig = { provider: 'openai', model: 'gpt-5.6', api_key: 'k' }
const grok: ModelConfig = { provider: 'xai', model: 'grok-4.3', api_key: 'k' }
const nova: ModelConfig = {
  ...{ provider: 'amazon-bedrock', model: 'amazon.nova-lite-v1:0', region: 'eu-west-1' },
  ...{ access_key_id: 'a', secret_access_key: 'b' },
}

/** The body of the request of a model whose server refuses everything. */
async function bodyOf(config: ModelConfig, change: Partial<ModelRequest> = {}): Promise<{ body: any; headers: Record<string, unknown> }> {
  const server = await startModelServer({ status: 401, body: {} })
  servers.push(server)
  const model = createModel({ ...config, base_url: server.url }, { environment: {}, connections })
  const request = { system: 'Be brief.', messages: [{ role: 'user', text: 'Hi.' }] as Message[], tools: [], ...change }
  await assert.rejects(collectReply(model, request))
  const { body, headers } = server.requests[0]!
  return { body, headers }
}

async function replyOf(config: ModelConfig, events: string[]): Promise<ModelReply> {
  const server = await startModelServer({ raw: events })
  servers.push(server)
  const model = createModel({ ...config, base_url: server.url }, { environment: {}, connections })
  return (await collectReply(model, { system: '', messages: [{ role: 'user', text: 'Hi.' }], tools: [] })).reply
}

test('Claude and Nova get marks at the end of the system prompt and of the prompt, unless the cache is off', async () => {
  const ephemeral = { type: 'ephemeral' }
  const { body } = await bodyOf(claude)
  assert.deepEqual(body.system, [{ type: 'text', text: 'Be brief.', cache_control: ephemeral }])
  assert.deepEqual(body.messages[0].content, [{ type: 'text', text: 'Hi.', cache_control: ephemeral }])
  const onBedrock = await bodyOf(nova)
  assert.deepEqual(onBedrock.body.system.at(-1), { cachePoint: { type: 'default' } })
  assert.deepEqual(onBedrock.body.messages[0].content.at(-1), { cachePoint: { type: 'default' } })
  for (const config of [claude, nova]) {
    const off = await bodyOf({ ...config, cache: 'off' })
    assert.doesNotMatch(JSON.stringify(off.body), /cache_control|cachePoint/)
  }
  assert.doesNotMatch(JSON.stringify((await bodyOf(gemini)).body), /cache/)
})

test('only the last of several results has a mark', async () => {
  const messages: Message[] = [
    { role: 'user', text: 'Add.' },
    { role: 'assistant', text: '', toolCalls: ['1', '2'].map((id) => ({ id, name: 'add', arguments: '{}' })) },
    ...['1', '2'].map((callId): Message => ({ role: 'tool', callId, name: 'add', text: 'two', isError: false })),
  ]
  const { body } = await bodyOf(claude, { messages })
  assert.deepEqual(
    body.messages.at(-1).content.map(({ cache_control: mark }: any) => mark?.type),
    [undefined, 'ephemeral'],
  )
  assert.equal(JSON.stringify(body).split('cache_control').length, 3)
})

test('a budget of reasoning is sent in the form of each provider, and is not below that of Claude', async () => {
  const { body, headers } = await bodyOf({ ...claude, reasoning_tokens: 100 })
  assert.deepEqual(body.thinking, { type: 'enabled', budget_tokens: 1024 })
  assert.match(String(headers['anthropic-beta']), /interleaved-thinking/)
  const ofGemini = await bodyOf({ ...gemini, reasoning_tokens: 100 })
  assert.deepEqual(ofGemini.body.generationConfig.thinkingConfig, { thinkingBudget: 100, includeThoughts: true })
  const hidden = await bodyOf({ ...gemini, reasoning_tokens: 100, reasoning_summary: 'off' })
  assert.deepEqual(hidden.body.generationConfig.thinkingConfig, { thinkingBudget: 100 })
})

test('the effort of a request replaces that of the configuration, and becomes an effort of the model', async () => {
  const options = { reasoningEffort: 'minimal' as const }
  const { body } = await bodyOf({ ...openai, reasoning_effort: 'high' }, { options })
  assert.deepEqual(body.reasoning, { effort: 'low', summary: 'auto' })
  const configured = await bodyOf({ ...openai, reasoning_effort: 'max', reasoning_summary: 'off' })
  assert.deepEqual(configured.body.reasoning, { effort: 'max' })
  const budget = await bodyOf({ ...claude, reasoning_tokens: 2000 }, { options: { reasoningEffort: 'none' } })
  assert.notEqual(budget.body.thinking?.type, 'enabled')
})

test('documents go to the model as they are', async () => {
  const files = [{ name: 'a.pdf', mediaType: 'application/pdf', data: 'JVBERi0=' }]
  const messages: Message[] = [{ role: 'user', text: 'Read.', files }]
  for (const config of [claude, gemini, openai, { ...nova, cache: 'off' as const }]) {
    const { body } = await bodyOf(config, { messages })
    assert.equal(JSON.stringify(body).split('JVBERi0=').length, 2, config.provider)
  }
})

const offer = (tool: string, config: JsonObject = {}, name = tool): ToolOffer => ({
  ...{ name, description: '', schema: { type: 'object' }, effect: 'read', provider: { tool, config } },
})

test('each provider gets its own form of the tools that the provider runs', async () => {
  const place = { user_location: { city: 'Bonn' } }
  const search = offer('web_search', { allowed_domains: ['a.example'], ...place })
  const near = { type: 'approximate', city: 'Bonn' }
  const server = offer('mcp', { server_url: 'https://m.example', authorization: 'secret', allowed_tools: ['find'] }, 'shop')

  const ofClaude = await bodyOf(claude, { tools: [search, offer('fetch'), offer('code'), server] })
  assert.deepEqual(
    ofClaude.body.tools.filter(({ type }: any) => type !== 'mcp_toolset'),
    [
      { type: 'web_search_20250305', name: 'web_search', allowed_domains: ['a.example'], user_location: near },
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ],
  )
  const tool_configuration = { allowed_tools: ['find'], enabled: true }
  assert.deepEqual(ofClaude.body.mcp_servers, [
    { type: 'url', name: 'shop', url: 'https://m.example', authorization_token: 'secret', tool_configuration },
  ])
  const betas = String(ofClaude.headers['anthropic-beta']).split(',')
  for (const beta of ['mcp-client-2025-04-04', 'web-fetch-2025-09-10', 'code-execution-2025-08-25']) assert.ok(betas.includes(beta), beta)

  const offered = [search, offer('code'), offer('file_search', { vector_store_ids: ['vs_1'] }), offer('image_generation'), server]
  const ofOpenAi = await bodyOf(openai, { tools: offered })
  assert.deepEqual(ofOpenAi.body.tools, [
    { type: 'web_search', filters: { allowed_domains: ['a.example'] }, user_location: near },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'image_generation' },
    {
      ...{ type: 'mcp', server_label: 'shop', server_url: 'https://m.example', authorization: 'secret' },
      ...{ allowed_tools: ['find'], require_approval: 'never' },
    },
  ])

  const ofXai = await bodyOf(grok, { tools: [offer('web_search', { blocked_domains: ['b.example'] }), offer('x_search'), server] })
  assert.deepEqual(ofXai.body.tools, [
    { type: 'web_search', excluded_domains: ['b.example'] },
    { type: 'x_search' },
    { type: 'mcp', server_label: 'shop', server_url: 'https://m.example', authorization: 'secret', allowed_tools: ['find'] },
  ])

  const ofGemini = await bodyOf(
    { ...gemini, model: 'gemini-3-pro-preview' },
    { tools: [offer('web_search'), offer('fetch'), offer('code')] },
  )
  assert.deepEqual(ofGemini.body.tools, [{ googleSearch: {} }, { urlContext: {} }, { codeExecution: {} }])
})

test('a tool that the provider does not have, or could not keep within its limits, is not offered', async () => {
  const limited = offer('web_search', { allowed_domains: ['a.example'] })
  const third = { ...gemini, model: 'gemini-3-pro-preview' }
  const cases: [ModelConfig, ToolOffer][] = [
    [third, limited],
    [third, offer('mcp', { server_url: 'https://m.example' })],
    [gemini, offer('web_search')],
    [{ ...nova, cache: 'off' }, offer('web_search')],
    [claude, offer('x_search')],
    [claude, offer('mcp', { server_url: 'https://m.example', headers: { 'X-Key': 'secret' } })],
    [grok, offer('mcp', { connector_id: 'connector_gmail' })],
    [openai, offer('fetch')],
    [{ ...openai, wire: 'chat-completions' }, offer('web_search')],
  ]
  for (const [config, tool] of cases) {
    const { body } = await bodyOf(config, { tools: [tool] })
    assert.deepEqual([body.tools, body.mcp_servers, body.toolConfig], [undefined, undefined, undefined], `${config.provider} ${tool.name}`)
  }
})

test('the schema of a tool and of the answer is enforced where the provider can do that', async () => {
  const colour = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'], additionalProperties: false }
  const loose = { type: 'object', properties: { colour: { type: 'string' } } }
  const tools: ToolOffer[] = [
    { name: 'paint', description: 'Paints.', effect: 'read', schema: colour },
    { name: 'mix', description: 'Mixes.', effect: 'read', schema: loose },
  ]
  const request = { tools, responseSchema: colour }
  const { body: ofOpenAi } = await bodyOf(openai, request)
  assert.deepEqual(
    ofOpenAi.tools.map(({ strict }: any) => strict),
    [true, false],
  )
  assert.deepEqual(ofOpenAi.text.format, { type: 'json_schema', name: 'answer', schema: colour, strict: true })
  const { body: ofClaude } = await bodyOf({ ...claude, model: 'claude-sonnet-4-6' }, request)
  assert.deepEqual(
    ofClaude.tools.map(({ strict }: any) => strict),
    [true, undefined],
  )
  assert.deepEqual(ofClaude.output_config?.format ?? ofClaude.output_format, { type: 'json_schema', schema: colour })
  const { body: searching } = await bodyOf({ ...claude, model: 'claude-sonnet-4-6' }, { ...request, tools: [offer('web_search')] })
  assert.equal(searching.output_config?.format ?? searching.output_format, undefined)
  const { body: ofGemini } = await bodyOf({ ...gemini, model: 'gemini-3-pro-preview' }, request)
  assert.equal(ofGemini.generationConfig.responseMimeType, 'application/json')
  const { body: second } = await bodyOf(gemini, request)
  assert.equal(second.generationConfig.responseMimeType, undefined)
})

test('a picture that Gemini makes is a file of the answer', async () => {
  const parts = [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }]
  const chunk = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 1 } }
  const { files, text } = await replyOf(gemini, [`data: ${JSON.stringify(chunk)}\n\n`])
  assert.deepEqual([files, text], [[{ mediaType: 'image/png', data: 'aGk=' }], ''])
})

test('pages that Gemini names are sources of the answer', async () => {
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example/x', title: 'A' } }] }
  const content = { role: 'model', parts: [{ text: 'Yes.' }] }
  const { sources } = await replyOf(gemini, [
    `data: ${JSON.stringify({ candidates: [{ content, groundingMetadata, finishReason: 'STOP' }] })}\n\n`,
  ])
  assert.deepEqual(sources, [{ url: 'https://a.example/x', title: 'A' }])
})
