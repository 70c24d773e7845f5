import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer, type ModelServer } from '../../../test/fixtures/model-server.ts'
import type { Message } from '../../agent/messages.ts'
import type { ModelReply, ModelRequest } from '../../agent/model.ts'
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
  await assert.rejects(model.reply(request, new AbortController().signal).next())
  const { body, headers } = server.requests[0]!
  return { body, headers }
}

async function replyOf(config: ModelConfig, events: string[]): Promise<ModelReply> {
  const server = await startModelServer({ raw: events })
  servers.push(server)
  const model = createModel({ ...config, base_url: server.url }, { environment: {}, connections })
  const replying = model.reply({ system: '', messages: [{ role: 'user', text: 'Hi.' }], tools: [] }, new AbortController().signal)
  for (;;) {
    const next = await replying.next()
    if (next.done) return next.value
  }
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

test('documents go to the model as they are, and tools of the provider without a known form are not offered', async () => {
  const files = [{ name: 'a.pdf', mediaType: 'application/pdf', data: 'JVBERi0=' }]
  const messages: Message[] = [{ role: 'user', text: 'Read.', files }]
  const search = { name: 'web_search', description: '', schema: { type: 'object' }, effect: 'read' as const }
  const tools = [{ ...search, provider: { tool: 'web_search', config: {} } }]
  for (const config of [claude, gemini, openai, { ...nova, cache: 'off' as const }]) {
    const { body } = await bodyOf(config, { messages, tools })
    const text = JSON.stringify(body)
    assert.equal(text.split('JVBERi0=').length, 2, config.provider)
    assert.equal(body.tools ?? body.toolConfig, undefined, config.provider)
  }
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
