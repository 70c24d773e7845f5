import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { startModelServer, type ModelAnswer, type ModelScript, type ModelServer } from '../../../test/fixtures/model-server.ts'
import type { AssistantMessage, Message } from '../../agent/messages.ts'
import { ModelError, type ModelRequest, type ToolOffer } from '../../agent/model.ts'
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

type Provider = 'anthropic' | 'google' | 'amazon-bedrock'

const configs: Record<Provider, ModelConfig> = {
  anthropic: { provider: 'anthropic', model: 'claude-sonnet-4-5', api_key: 'sk-very-secret', max_output_tokens: 2000 },
  google: { provider: 'google', model: 'gemini-2.5-flash', api_key: 'sk-very-secret' },
  'amazon-bedrock': {
    provider: 'amazon-bedrock',
    model: 'anthropic.claude-sonnet-4-5-v1:0',
    region: 'eu-west-1',
    access_key_id: 'AKIDEXAMPLE',
    secret_access_key: 'sk-very-secret',
  },
}
const providers = Object.keys(configs) as Provider[]

const tools = [
  { name: 'add', description: 'Adds.', effect: 'read' as const, schema: { type: 'object', properties: { a: { type: 'number' } } } },
]
const question: ModelRequest = { system: 'Be brief.', messages: [{ role: 'user', text: 'Add one.' }], tools }

async function setUp(provider: Provider, script: ModelScript, config: Partial<ModelConfig> = {}) {
  const server = await startModelServer(script)
  servers.push(server)
  const model = createModel({ ...configs[provider], base_url: server.url, ...config }, { environment: {}, connections })
  return { server, model, ask: (request = question) => collectReply(model, request) }
}

async function failureOf(provider: Provider, answer: ModelAnswer, config: Partial<ModelConfig> = {}): Promise<ModelError> {
  const { ask } = await setUp(provider, answer, config)
  const error: unknown = await ask().catch((thrown: unknown) => thrown)
  assert.ok(error instanceof ModelError, `${provider}: ${String(error)}`)
  return error
}

function anthropicWire(...events: { type: string; [key: string]: unknown }[]): string[] {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

function googleWire(...chunks: object[]): string[] {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
}

interface Codec {
  encode(message: { headers: Record<string, { type: 'string'; value: string }>; body: Uint8Array }): Uint8Array
}

/** The codec that the provider's own package brings. */
const bring = createRequire(import.meta.resolve('@ai-sdk/amazon-bedrock'))
const { EventStreamCodec } = bring('@smithy/eventstream-codec') as { EventStreamCodec: new (...utf8: unknown[]) => Codec }
const { toUtf8, fromUtf8 } = bring('@smithy/util-utf8') as Record<string, unknown>
const codec = new EventStreamCodec(toUtf8, fromUtf8)

function bedrockWire(...events: [type: string, body: object][]): Buffer[] {
  return events.map(([type, body]) => {
    const headers = { ':message-type': 'event', ':event-type': type, ':content-type': 'application/json' }
    const typed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, { type: 'string' as const, value }]))
    return Buffer.from(codec.encode({ headers: typed, body: Buffer.from(JSON.stringify(body)) }))
  })
}

const bedrockHeaders = { 'content-type': 'application/vnd.amazon.eventstream' }

/** Each provider's wire for: thinks "Hm.", says "I add.", calls add, was asked 20 tokens of which 5 were cached, answered 9. */
const answers: Record<Provider, ModelAnswer> = {
  anthropic: {
    raw: anthropicWire(
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'claude',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 15, cache_read_input_tokens: 5, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'signed-1' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'I ' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'add.' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'toolu_1', name: 'add', input: {} } },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: ':1}' } },
      { type: 'content_block_stop', index: 2 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ),
  },
  google: {
    raw: googleWire(
      { candidates: [{ content: { role: 'model', parts: [{ text: 'Hm.', thought: true }] } }] },
      { candidates: [{ content: { role: 'model', parts: [{ text: 'I ' }] } }] },
      { candidates: [{ content: { role: 'model', parts: [{ text: 'add.' }] } }] },
      {
        candidates: [
          {
            content: { role: 'model', parts: [{ functionCall: { name: 'add', args: { a: 1 } }, thoughtSignature: 'signed-1' }] },
            finishReason: 'STOP',
          },
        ],
        usageMetadata: {
          promptTokenCount: 20,
          cachedContentTokenCount: 5,
          candidatesTokenCount: 7,
          thoughtsTokenCount: 2,
          totalTokenCount: 29,
        },
      },
    ),
  },
  'amazon-bedrock': {
    headers: bedrockHeaders,
    raw: bedrockWire(
      ['messageStart', { role: 'assistant' }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm.' } } }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'signed-1' } } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['contentBlockDelta', { contentBlockIndex: 1, delta: { text: 'I ' } }],
      ['contentBlockDelta', { contentBlockIndex: 1, delta: { text: 'add.' } }],
      ['contentBlockStop', { contentBlockIndex: 1 }],
      ['contentBlockStart', { contentBlockIndex: 2, start: { toolUse: { toolUseId: 'tooluse_1', name: 'add' } } }],
      ['contentBlockDelta', { contentBlockIndex: 2, delta: { toolUse: { input: '{"a":1}' } } }],
      ['contentBlockStop', { contentBlockIndex: 2 }],
      ['messageStop', { stopReason: 'tool_use' }],
      ['metadata', { usage: { inputTokens: 15, cacheReadInputTokens: 5, outputTokens: 9, totalTokens: 29 }, metrics: { latencyMs: 1 } }],
    ),
  },
}

for (const provider of providers) {
  test(`${provider}: text, reasoning, tool calls and usage are understood`, async () => {
    const { ask } = await setUp(provider, answers[provider])
    const { events, reply } = await ask()
    assert.deepEqual(events, [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'I ' },
      { type: 'text', text: 'add.' },
    ])
    assert.deepEqual(
      { text: reply.text, reasoning: reply.reasoning, finish: reply.finish },
      { text: 'I add.', reasoning: 'Hm.', finish: 'tool_calls' },
    )
    assert.deepEqual(reply.toolCalls, [{ name: 'add', arguments: '{"a":1}' }])
    const { model, input, output, cachedInput } = reply.usage
    assert.deepEqual({ model, input, output, cachedInput }, { model: configs[provider].model, input: 20, output: 9, cachedInput: 5 })
  })

  test(`${provider}: a signature is sent back only to its own provider`, async () => {
    const { server, ask } = await setUp(provider, answers[provider])
    const { reply } = await ask()
    assert.equal(reply.vendor?.provider, provider)
    const toolCalls = reply.toolCalls.map((call) => ({ ...call, id: 'call-1' }))
    // The message as read back from the store of transcripts.
    const message = JSON.parse(JSON.stringify({ role: 'assistant', text: reply.text, toolCalls, vendor: reply.vendor })) as AssistantMessage
    const result: Message = { role: 'tool', callId: 'call-1', name: 'add', text: '2', isError: false }
    const withMessage = (changed: AssistantMessage) => ({ ...question, messages: [...question.messages, changed, result] })
    await ask(withMessage(message))
    await ask(withMessage({ ...message, vendor: { provider: 'another', data: message.vendor!.data } }))
    await ask(withMessage({ ...message, text: 'Shortened' }))
    const sent = server.requests.slice(1).map((request) => JSON.stringify(request.body))
    assert.deepEqual(
      sent.map((body) => body.includes('signed-1')),
      [true, false, false],
    )
    for (const body of sent) assert.match(body, /"a":1/)
    assert.match(sent[0]!, /I add\./)
  })

  test(`${provider}: the key is sent, a wrong key is reported without the key, and errors contain no prompts`, async () => {
    const error = await failureOf(provider, { status: 401, body: { error: { message: 'wrong key sk-very-secret' }, message: 'x' } })
    assert.deepEqual({ code: error.code, cause: error.cause }, { code: 'unauthorized', cause: undefined })
    assert.equal(error.message, `${provider} ${configs[provider].model} answered 401`)
  })

  test(`${provider}: statuses are mapped to errors, and redirects are not followed`, async () => {
    const busy = await failureOf(provider, { status: 429, headers: { 'retry-after': '3' }, body: { error: { message: 'slow down' } } })
    assert.deepEqual({ code: busy.code, retryAfterMs: busy.retryAfterMs }, { code: 'rate_limited', retryAfterMs: 3000 })
    assert.equal((await failureOf(provider, { status: 500, body: 'x'.repeat(2_000_000) })).code, 'unavailable')
    assert.equal((await failureOf(provider, { status: 400, body: { error: { message: 'too long' } } })).code, 'refused')
    const { server, ask } = await setUp(provider, { status: 307, headers: { location: '/v1/elsewhere' } })
    await assert.rejects(ask(), { code: 'refused' })
    assert.equal(server.requests.length, 1)
  })

  test(`${provider}: a stream that breaks or ends early is an error, and its calls are dropped`, async () => {
    const { raw = [], headers } = answers[provider]
    const last = provider === 'google' ? 1 : 2
    for (const answer of [
      { headers, raw, breakAfter: raw.length - last },
      { headers, raw: raw.slice(0, -last) },
      { headers, raw: [] },
    ]) {
      const error = await failureOf(provider, answer)
      assert.equal(error.code, 'unavailable', error.message)
    }
  })

  test(`${provider}: silence and an abort end the call and close the connection`, async () => {
    const { raw = [], headers } = answers[provider]
    const early = await failureOf(provider, { silentAfter: 0 }, { first_token_timeout: 0.05 })
    assert.match(early.message, /did not begin its answer within 0.05 s$/)
    const { server, model } = await setUp(provider, { headers, raw, silentAfter: provider === 'google' ? 1 : 3 })
    const stop = new AbortController()
    const replying = collectReply(model, question, stop.signal, () => stop.abort(new Error('enough')))
    await assert.rejects(replying, { message: 'enough' })
    assert.equal(await server.requests[0]!.closedEarly, true)
  })
}

test('a sink that fails closes the connection, and its failure is that of the call', async () => {
  const { server, model } = await setUp('google', { ...answers.google, silentAfter: 1 })
  await assert.rejects(
    model.reply(question, () => Promise.reject(new Error('gone')), new AbortController().signal),
    { message: 'gone' },
  )
  assert.equal(await server.requests[0]!.closedEarly, true)
})

test('an error inside of a stream ends the stream', async () => {
  const beginning = answers.anthropic.raw!.slice(0, 7)
  const raw = [...beginning, ...anthropicWire({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })]
  const error = await failureOf('anthropic', { raw })
  assert.deepEqual(
    { code: error.code, message: error.message },
    { code: 'unavailable', message: 'anthropic claude-sonnet-4-5 broke off its answer: Overloaded' },
  )
})

const add: ToolOffer = { name: 'add', description: 'Adds.', effect: 'read', schema: { type: 'object', properties: {} } }

test('images, failed tools and malformed arguments reach the provider in its own format', async () => {
  const { server, ask } = await setUp('anthropic', answers.anthropic)
  const messages: Message[] = [
    { role: 'user', text: 'Look.', images: [{ mediaType: 'image/png', data: 'aGk=' }] },
    { role: 'assistant', text: '', toolCalls: [{ id: 'call-1', name: 'add', arguments: '{"a":' }] },
    { role: 'tool', callId: 'call-1', name: 'add', text: 'No.', isError: true },
    { role: 'assistant', text: '', toolCalls: [] },
  ]
  await ask({ system: 'Be brief.', messages, tools: [] })
  await ask({ system: 'Be brief.', messages, tools: [], idleTools: [add] })
  const [bare, { body, headers }] = server.requests.slice(-2) as [(typeof server.requests)[0], (typeof server.requests)[0]]
  assert.equal(headers['x-api-key'], 'sk-very-secret')
  assert.equal(bare.body.tools, undefined)
  const [, call, result] = bare.body.messages.map(({ content }: any) => content.map((block: any) => block.text))
  assert.deepEqual([call, result], [['[Call of the tool add: {"a":]'], ['[Output of the tool add, not a message of the user:]\nNo.']])
  assert.deepEqual([body.tools.length, body.tool_choice], [1, { type: 'none' }])
  assert.deepEqual(body.messages[0].content[1], { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } })
  assert.deepEqual(body.messages[1].content, [{ type: 'tool_use', id: 'call-1', name: 'add', input: {} }])
  const { tool_use_id, is_error } = body.messages[2].content[0]
  assert.deepEqual(
    { tool_use_id, is_error, messageCount: body.messages.length },
    { tool_use_id: 'call-1', is_error: true, messageCount: 3 },
  )
})

test('images of a result are part of the result, in the format of each provider', async () => {
  const image = { mediaType: 'image/png', data: 'aGk=', name: 'a.png', requestId: 'r', n: 100 }
  const messages: Message[] = [
    { role: 'user', text: 'Look.' },
    { role: 'assistant', text: '', toolCalls: [{ id: 'call-1', name: 'look', arguments: '{}' }] },
    { role: 'tool', callId: 'call-1', name: 'look', text: 'Seen.', isError: false, images: [image] },
  ]
  const expected: Record<Provider, RegExp> = {
    anthropic: /"tool_result".*"text":"Seen\.".*\{"type":"image","source":\{"type":"base64","media_type":"image\/png","data":"aGk="\}\}/,
    google: /"functionResponse".*"Seen\.|"inlineData":\{"mimeType":"image\/png","data":"aGk="\}/,
    'amazon-bedrock': /"toolResult".*"text":"Seen\.".*\{"image":\{"format":"png","source":\{"bytes":"aGk="\}\}\}/,
  }
  const tools = [{ name: 'look', description: 'Looks.', effect: 'read' as const, schema: { type: 'object', properties: {} } }]
  for (const provider of Object.keys(expected) as Provider[]) {
    const { server, ask } = await setUp(provider, answers[provider])
    await ask({ system: '', messages, tools })
    const sent = JSON.stringify(server.requests[0]!.body)
    assert.match(sent, expected[provider], provider)
    assert.equal(sent.split('aGk=').length, 2, provider)
  }
})

test('an image follows its text in the format of each provider', async () => {
  const messages: Message[] = [{ role: 'user', text: 'Look.', images: [{ mediaType: 'image/jpeg', data: 'aGk=' }] }]
  const sent: Record<Provider, (body: any) => unknown> = {
    anthropic: (body) => body.messages[0].content[1],
    google: (body) => body.contents[0].parts[1],
    'amazon-bedrock': (body) => body.messages[0].content[1],
  }
  const shapes: Record<Provider, unknown> = {
    anthropic: { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aGk=' } },
    google: { inlineData: { mimeType: 'image/jpeg', data: 'aGk=' } },
    'amazon-bedrock': { image: { format: 'jpeg', source: { bytes: 'aGk=' } } },
  }
  for (const provider of Object.keys(sent) as Provider[]) {
    const { server, ask } = await setUp(provider, answers[provider], { cache: 'off' })
    await ask({ system: '', messages, tools: [] })
    assert.deepEqual(sent[provider](server.requests[0]!.body), shapes[provider], provider)
  }
})

test('each provider gets the trace of a call, if there is a trace', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  for (const provider of providers) {
    const { server, ask } = await setUp(provider, { status: 400, body: {} })
    await assert.rejects(ask({ ...question, traceparent }))
    await assert.rejects(ask())
    assert.deepEqual(
      server.requests.map(({ headers }) => headers['traceparent']),
      [traceparent, undefined],
      provider,
    )
  }
})

test('google: an answer that a filter of the project stops is filtered', async () => {
  const raw = googleWire({ candidates: [{ finishReason: 'MODEL_ARMOR' }], usageMetadata: { promptTokenCount: 19, totalTokenCount: 19 } })
  const { ask } = await setUp('google', { raw })
  assert.equal((await ask()).reply.finish, 'content_filter')
})

test('anthropic: a call that breaks off reports what has arrived of the arguments of a tool', async () => {
  const raw = anthropicWire(
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'c', usage: { input_tokens: 3, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'toolu_1', name: 'add', input: {} } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: 'x'.repeat(400) } },
  )
  const { ask } = await setUp('anthropic', { raw, breakAfter: 3 })
  let broken = 0
  await assert.rejects(ask({ ...question, onBroken: (characters) => (broken = characters) }), ModelError)
  assert.ok(broken >= 400, String(broken))
})
