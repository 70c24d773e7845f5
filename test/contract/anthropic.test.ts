import Anthropic from '@anthropic-ai/sdk'
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { makePdf } from '../fixtures/make-documents.ts'
import { makeImage } from '../fixtures/make-images.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { readingModel, shownTo } from '../fixtures/reading-model.ts'
import { startService, type ServiceOptions, type Who } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const base = { model: 'agent-core', max_tokens: 1000 }
const asked = (content: Anthropic.MessageParam['content']) => [{ role: 'user' as const, content }]
const thinking = { type: 'enabled' as const, budget_tokens: 1024 }

/** Thinks, says a word, calls a tool, and answers. */
const turns = () => [
  { text: 'Let me see.', reasoning: 'I look first.', ...callOf('look'), usage: { input: 10, output: 5 } },
  { text: 'It is blue.', reasoning: 'Now I know.', usage: { input: 100, output: 7, cached: 80, reasoning: 3 } },
]

async function start(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(t, { script: turns(), tools: [fakeTool('look', async () => 'seen')], ...options })
  const as = async (who: Who = {}) => new Anthropic({ baseURL: service.url, apiKey: (await service.key(who)).key, maxRetries: 0 })
  return { service, anthropic: await as(), as }
}

async function eventsOf(stream: AsyncIterable<Anthropic.RawMessageStreamEvent>): Promise<Anthropic.RawMessageStreamEvent[]> {
  const events = []
  for await (const event of stream) events.push(event)
  return events
}

const shape = ({ content }: Pick<Anthropic.Message, 'content'>) =>
  content.map((block) => (block.type === 'text' ? block.text : block.type === 'thinking' ? { thinking: block.thinking } : block.type))

test('Anthropic: a message has the answer, in the shape of the SDK, and its run and session in the headers', async (t) => {
  const { service, anthropic } = await start(t)
  const { data, response, request_id } = await anthropic.messages
    .create({ ...base, messages: asked('Which colour?') }, { headers: { 'session-id': 's1' } })
    .withResponse()
  const expected: Omit<Anthropic.Message, '_request_id'> = {
    ...{ id: `msg_${request_id}`, type: 'message', role: 'assistant', model: 'agent-core', container: null, diagnostics: null },
    content: [{ type: 'text', text: 'It is blue.' } as Anthropic.TextBlock],
    ...{ stop_reason: 'end_turn', stop_sequence: null, stop_details: null },
    usage: {
      ...{ input_tokens: 30, output_tokens: 12, cache_read_input_tokens: 80, cache_creation_input_tokens: 0 },
      ...{ cache_creation: null, output_tokens_details: { thinking_tokens: 3 }, server_tool_use: null },
      ...{ service_tier: null, inference_geo: null, speed: null },
    },
  }
  assert.deepEqual({ ...data }, expected)
  assert.equal(response.headers.get('session-id'), 's1')
  assert.deepEqual(
    (await service.client.session('s1')).body.messages.map(({ content }: { content: string }) => content),
    ['Which colour?', 'It is blue.'],
  )
})

test('Anthropic: a stream has the events of the Messages API, each stretch of text as a block', async (t) => {
  const { anthropic } = await start(t)
  const events = await eventsOf(await anthropic.messages.create({ ...base, messages: asked('Which colour?'), stream: true }))
  const toText = (event: Anthropic.RawMessageStreamEvent) =>
    event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : event.type
  assert.deepEqual(events.map(toText), [
    'message_start',
    ...['content_block_start', 'Let me see.', 'content_block_stop'],
    ...['content_block_start', 'It is blue.', 'content_block_stop'],
    ...['message_delta', 'message_stop'],
  ])
  const end = events.at(-2)!
  assert.ok(end.type === 'message_delta')
  assert.deepEqual([end.delta.stop_reason, end.usage.input_tokens, end.usage.output_tokens], ['end_turn', 30, 12])
  assert.deepEqual(
    events.flatMap((event) => ('index' in event ? [event.index] : [])),
    [0, 0, 0, 1, 1, 1],
  )
})

test('Anthropic: thoughts are shown to those who ask for them, and come back without harm', async (t) => {
  const { service, anthropic } = await start(t, { script: ({ body }) => turns()[body.messages.at(-1).role === 'tool' ? 1 : 0]! })
  const ask = (more: object) =>
    anthropic.messages.create({ ...base, messages: asked('Which colour?'), ...more }) as Promise<Anthropic.Message>
  const message = await ask({ thinking })
  assert.deepEqual(shape(message), [{ thinking: 'I look first.\n\nNow I know.' }, 'It is blue.'])
  assert.deepEqual(shape(await ask({ thinking: { type: 'disabled' } })), ['It is blue.'])
  assert.deepEqual(shape(await ask({ thinking: { type: 'adaptive', display: 'omitted' } })), ['It is blue.'])
  const stream = anthropic.messages.stream({ ...base, thinking, messages: asked('Which colour?') })
  const streamed = await stream.finalMessage()
  const blocks = [{ thinking: 'I look first.' }, 'Let me see.', { thinking: 'Now I know.' }, 'It is blue.']
  assert.deepEqual(shape(streamed), blocks)
  for (const block of streamed.content) if (block.type === 'thinking') assert.match(block.signature, /^[\w+/]+=*$/)
  const redacted = { type: 'redacted_thinking' as const, data: 'x' }
  const history = [...asked('Which colour?'), { role: 'assistant' as const, content: [redacted, ...streamed.content] }, ...asked('Sure?')]
  assert.deepEqual(shape(await anthropic.messages.create({ ...base, thinking, messages: history })).at(-1), 'It is blue.')
  const said = service.model.requests.at(-1)!.body.messages.filter(({ role }: { role: string }) => role === 'assistant')
  assert.equal(said[0].content, 'Let me see.\n\nIt is blue.')
})

test('Anthropic: pictures and documents reach the model, and addresses are not fetched', async (t) => {
  const model = readingModel('application/pdf')
  const { anthropic } = await start(t, { agentModel: model })
  const data = makePdf(['The pump needs oil.']).toString('base64')
  const png = (await makeImage('png')).toString('base64')
  await anthropic.messages.create({
    ...base,
    messages: asked([
      { type: 'document', title: 'pump.pdf', source: { type: 'base64', media_type: 'application/pdf', data } },
      {
        type: 'document',
        title: 'key.txt',
        context: 'From 2025.',
        source: { type: 'text', media_type: 'text/plain', data: 'Behind the door.' },
      },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Cut weekly.' }] } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      { type: 'search_result', source: 'https://a.test/x', title: 'Hedges', content: [{ type: 'text', text: 'Box grows slowly.' }] },
      { type: 'text', text: 'What is this?' },
    ]),
  })
  const [shown] = shownTo(model)
  assert.deepEqual(shown!.files, ['pump.pdf application/pdf'])
  assert.equal(shown!.images, 1)
  for (const text of ['Behind the door.', 'From 2025.', 'Cut weekly.', 'Box grows slowly.', 'What is this?'])
    assert.ok(shown!.text.includes(text), text)
  const url = 'https://169.254.169.254/a.png'
  const refused: [Anthropic.ContentBlockParam, string][] = [
    [{ type: 'image', source: { type: 'url', url } }, 'messages[0].content[0].source.type'],
    [{ type: 'document', source: { type: 'url', url } }, 'messages[0].content[0].source.type'],
    [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'eA==' } }, 'images[0]'],
    [{ type: 'container_upload', file_id: 'file_1' }, 'messages[0].content[0].type'],
    [{ type: 'document', source: { type: 'file', file_id: 'file_none' } }, 'messages[0].content[0]'],
  ]
  for (const [block, param] of refused) {
    const create = anthropic.messages.create({ ...base, messages: asked([block]) })
    await assert.rejects(create, (error: Error) => error instanceof Anthropic.APIError && error.message.includes(param), param)
  }
})

test('Anthropic: an answer with a schema is its JSON, and instructions hold for their request', async (t) => {
  const schema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'], additionalProperties: false }
  const { service, anthropic } = await start(t, { script: () => ({ text: '{"colour":"blue"}' }) })
  const format = { type: 'json_schema' as const, schema }
  const parsed = await anthropic.messages.parse({ ...base, system: 'In English.', messages: asked('Which?'), output_config: { format } })
  assert.deepEqual(parsed.content[0]?.type === 'text' && JSON.parse(parsed.content[0].text), { colour: 'blue' })
  assert.match(JSON.stringify(service.model.requests.at(-1)!.body.messages), /In English\./)
  const wrong = anthropic.messages.create({
    ...base,
    messages: asked('Which?'),
    output_config: { format: { ...format, schema: { type: 'no' } } },
  })
  await assert.rejects(wrong, /output_config\.format\.schema/)
})

test('Anthropic: an answer that a client has begun is continued, and an empty one is asked for', async (t) => {
  const { service, anthropic } = await start(t)
  const ask = async (content: string) => {
    await anthropic.messages.create({ ...base, messages: [{ role: 'assistant', content }] })
    return service.model.requests.at(-1)!.body.messages.filter(({ role }: { role: string }) => role === 'user')[0].content
  }
  assert.equal(await ask(''), 'Continue.')
  assert.match(await ask('Once upon'), /^Continue/)
})

test('Anthropic: tokens are counted without a run', async (t) => {
  const { service, anthropic } = await start(t)
  const count = async (more: object = {}) =>
    (await anthropic.messages.countTokens({ model: 'agent-core', messages: asked('Which colour?'), ...more })).input_tokens
  const least = await count()
  assert.ok(least > 10 && least < 500, String(least))
  assert.equal(await count({ system: 'x'.repeat(400) }), least + 100)
  assert.ok((await count({ tools: [{ name: 'a', input_schema: { type: 'object' } }] })) > least)
  assert.equal(service.model.requests.length, 0)
})

test('Anthropic: the agent is the only model, for those who send anthropic-version', async (t) => {
  const { service, anthropic } = await start(t)
  const { data } = await anthropic.models.list()
  assert.deepEqual(
    data.map(({ id, type, display_name }) => ({ id, type, display_name })),
    [{ id: 'agent-core', type: 'model', display_name: 'Agent Core' }],
  )
  assert.equal((await anthropic.models.retrieve('agent-core')).id, 'agent-core')
  await assert.rejects(anthropic.models.retrieve('claude'), { constructor: Anthropic.NotFoundError, type: 'not_found_error' })
  assert.equal((await service.client.request('GET', '/v1/models')).body.object, 'list', 'clients of OpenAI get their list')
})

test('Anthropic: every error has the shape of Anthropic’s API, below /v1 for those who send anthropic-version', async (t) => {
  const config = { limits: { max_input_characters: 30 }, access: { rate_limits: { operator: { requests_per_minute: 1 } } } }
  const { service, anthropic, as } = await start(t, { config })
  const messages = asked('hello')
  const stranger = new Anthropic({ baseURL: service.url, apiKey: 'nothing', maxRetries: 0 })
  for (const send of [() => stranger.messages.create({ ...base, messages }), () => stranger.models.list()])
    await assert.rejects(async () => send(), { constructor: Anthropic.AuthenticationError, type: 'authentication_error' })
  const viewer = await as({ roles: ['viewer'] })
  await assert.rejects(viewer.messages.create({ ...base, messages }), {
    constructor: Anthropic.PermissionDeniedError,
    type: 'permission_error',
  })
  await assert.rejects(anthropic.messages.batches.list(), { constructor: Anthropic.NotFoundError, type: 'not_found_error' })
  await assert.rejects(anthropic.messages.create({ ...base, model: 'claude', messages }), { status: 404, type: 'not_found_error' })
  const long = anthropic.messages.create({ ...base, messages: asked('hello, who are you, what are you, and why?') })
  await assert.rejects(long, { status: 413, type: 'request_too_large' })
  const operator = await as({ roles: ['operator'] })
  await assert.rejects(operator.models.list(), { status: 403 })
  await assert.rejects(operator.models.list(), { constructor: Anthropic.RateLimitError, type: 'rate_limit_error' })
  const json = 'application/json'
  for (const [path, body, type, status] of [
    ['/v1/messages', '{"model"', json, 400],
    ['/v1/messages', '{}', json, 400],
    ['/v1/messages', '<a/>', 'text/xml', 415],
    ['/v1/messages/count_tokens', '{"messages":[]}', json, 400],
    ['/v1/messages/batches', '{}', json, 404],
  ] as const) {
    const reply = await service.client.request('POST', path, { body, headers: { 'content-type': type, 'anthropic-version': '2023-06-01' } })
    const { error, ...rest } = reply.body
    assert.deepEqual({ status: reply.status, rest }, { status, rest: { type: 'error', request_id: reply.headers.get('request-id') } }, path)
    assert.match(error.type, /_error$/)
  }
})

test('Anthropic: a failed run is an error, also inside a stream, and an overload is 529', async (t) => {
  let turn: object = { status: 401, body: { error: { message: 'model-secret-key' } } }
  const { service, anthropic } = await start(t, { script: () => turn, config: { limits: { max_runs: 1 } } })
  const create = () => anthropic.messages.create({ ...base, messages: asked('x') })
  await assert.rejects(create(), (error: InstanceType<typeof Anthropic.APIError>) => {
    assert.deepEqual([error.status, error.type, error.headers?.get('x-should-retry')], [502, 'api_error', 'false'])
    return !error.message.includes('secret')
  })
  turn = { text: ['It is'], breakAfter: 2 }
  const events: string[] = []
  const stream = anthropic.messages.stream({ ...base, messages: asked('x') }).on('streamEvent', ({ type }) => events.push(type))
  await assert.rejects(stream.finalMessage(), (error: Error) => error instanceof Anthropic.APIError && /api_error/.test(error.message))
  assert.deepEqual([events[0], events.includes('message_stop')], ['message_start', false])
  const { promise: begins, resolve: begin } = Promise.withResolvers<void>()
  turn = { text: 'late', begins }
  const earlier = service.model.requests.length
  const running = create()
  await until(
    async () => service.model.requests.length,
    (count) => count > earlier,
  )
  await assert.rejects(create(), { status: 529, type: 'overloaded_error' })
  begin()
  assert.deepEqual(shape(await running), ['late'])
})

test('Anthropic: keys are taken from x-api-key and authorization, and the cookie of the console counts for nothing', async (t) => {
  const { service } = await start(t)
  const { key } = await service.key()
  const send = (headers: Record<string, string>) =>
    fetch(`${service.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'agent-core', messages: asked('x') }),
    })
  const sent: Record<string, string>[] = [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }, { 'x-api-key': 'x' }, {}]
  const statuses = await Promise.all(sent.map(send))
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [200, 200, 401, 401],
  )
})

test('Anthropic: the answers match the OpenAPI document', async (t) => {
  const { service } = await start(t, { script: ({ body }: ModelServerRequest) => turns()[body.messages.at(-1).role === 'tool' ? 1 : 0]! })
  const { client } = service
  const send = async (path: string, body: object) => (await client.request('POST', path, { body })).status
  assert.equal(await send('/v1/messages', { ...base, messages: asked('x') }), 200)
  assert.equal(await send('/v1/messages', { ...base, messages: asked('x'), stream: true, thinking }), 200)
  assert.equal(await send('/v1/messages', { ...base, messages: asked('x'), thread: { type: 'create' } }), 400)
  assert.equal(await send('/v1/messages/count_tokens', { model: 'agent-core', messages: asked('x') }), 200)
  for (const path of ['/v1/models', '/v1/models/agent-core', '/v1/models/x'])
    await client.request('GET', path, { headers: { 'anthropic-version': '2023-06-01' } })
})
