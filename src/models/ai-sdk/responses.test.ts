import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer, type ModelScript, type ModelServer } from '../../../test/fixtures/model-server.ts'
import type { Message } from '../../agent/messages.ts'
import { ModelError, type ModelReply, type ModelRequest } from '../../agent/model.ts'
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

async function serve(script: ModelScript): Promise<ModelServer> {
  const server = await startModelServer(script)
  servers.push(server)
  return server
}

async function ask(config: ModelConfig, request: Partial<ModelRequest> = {}): Promise<ModelReply> {
  const model = createModel(config, { environment: {}, connections })
  const question: Message[] = [{ role: 'user', text: 'Add one.' }]
  return (await collectReply(model, { system: 'Be brief.', messages: question, tools: [add], ...request })).reply
}

const add = {
  name: 'add',
  description: 'Adds.',
  effect: 'read' as const,
  schema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false },
}

type Item = { type: string; id: string; [field: string]: unknown }

const reasoning: Item = { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed-1', summary: [{ type: 'summary_text', text: 'Hm.' }] }
const called: Item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: '{"a":1}', status: 'completed' }
const said = (text: string, phase: string): Item => ({
  ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', phase },
  content: [{ type: 'output_text', text, annotations: [] }],
})

/** The stream of a response with these items. */
function streamOf(...items: Item[]): string[] {
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5.6' }
  const usage = {
    ...{ input_tokens: 20, output_tokens: 9, total_tokens: 29 },
    ...{ input_tokens_details: { cached_tokens: 5 }, output_tokens_details: { reasoning_tokens: 3 } },
  }
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...items.flatMap((item, at) => eventsOf(item, at)),
    { type: 'response.completed', response: { ...response, status: 'completed', output: items, usage } },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

function eventsOf(item: Item, output_index: number): { type: string }[] {
  const added = { type: 'response.output_item.added', output_index, item: { ...item, content: [], summary: [], arguments: '' } }
  const done = { type: 'response.output_item.done', output_index, item }
  const at = { output_index, item_id: item.id }
  if (item.type === 'reasoning') {
    const [part] = item['summary'] as { text: string }[]
    const summary = { ...at, summary_index: 0 }
    return [
      added,
      { ...summary, type: 'response.reasoning_summary_part.added', part: { type: 'summary_text', text: '' } } as { type: string },
      { ...summary, type: 'response.reasoning_summary_text.delta', delta: part?.text } as { type: string },
      { ...summary, type: 'response.reasoning_summary_part.done', part } as { type: string },
      done,
    ]
  }
  if (item.type === 'function_call')
    return [added, { ...at, type: 'response.function_call_arguments.delta', delta: item['arguments'] } as { type: string }, done]
  const [part] = item['content'] as { text: string }[]
  const deltas = (part?.text ?? '').split('').map((delta) => ({ ...at, type: 'response.output_text.delta', content_index: 0, delta }))
  return [added, ...deltas, done]
}

const openai = (server: ModelServer, more: Partial<ModelConfig> = {}): ModelConfig => ({
  ...{ provider: 'openai', model: 'gpt-5.6', api_key: 'sk-secret', base_url: server.url },
  ...more,
})

test('reasoning, phases and calls of a stored turn go back to a provider that stores nothing', async () => {
  const server = await serve({ raw: streamOf(reasoning, said('I add.', 'commentary'), called) })
  const first = await ask(openai(server, { reasoning_effort: 'high' }))
  assert.deepEqual(
    { ...first, vendor: undefined },
    {
      ...{ text: 'I add.', reasoning: 'Hm.', toolCalls: [{ name: 'add', arguments: '{"a":1}' }], finish: 'tool_calls', vendor: undefined },
      usage: { model: 'gpt-5.6', input: 20, output: 9, cachedInput: 5, reasoning: 3 },
    },
  )
  const body = server.requests[0]!.body as Record<string, unknown>
  assert.equal(server.requests[0]!.url, '/v1/responses')
  assert.equal(server.requests[0]!.headers.authorization, 'Bearer sk-secret')
  assert.equal(body['store'], false)
  assert.deepEqual(body['include'], ['reasoning.encrypted_content'])
  assert.equal((body['reasoning'] as { effort: string }).effort, 'high')

  // The database keeps the turn as JSON.
  const { text, reasoning: thought, vendor } = JSON.parse(JSON.stringify(first)) as ModelReply
  const id = '0198c0de-0000-7000-8000-000000000001'
  await ask(openai(server), {
    messages: [
      { role: 'user', text: 'Add one.' },
      { role: 'assistant', text, reasoning: thought, toolCalls: [{ id, name: 'add', arguments: '{"a":1}' }], vendor: vendor! },
      { role: 'tool', callId: id, name: 'add', text: '2', isError: false },
    ],
  })
  const { input } = server.requests[1]!.body as { input: object[] }
  assert.deepEqual(input.slice(2), [
    { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed-1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    { role: 'assistant', content: 'I add.', phase: 'commentary' },
    { type: 'function_call', call_id: id, name: 'add', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: id, output: '2' },
  ])
})

test('reasoning of another model of the same provider is not sent', async () => {
  const server = await serve({ raw: streamOf(reasoning, said('Hello.', 'final_answer')) })
  const { text, vendor } = await ask(openai(server))
  await ask(openai(server, { model: 'gpt-5.5' }), {
    messages: [
      { role: 'user', text: 'Hi' },
      { role: 'assistant', text, toolCalls: [], vendor: vendor! },
      { role: 'user', text: 'And?' },
    ],
  })
  assert.doesNotMatch(JSON.stringify(server.requests[1]!.body), /rs_1|sealed|final_answer/)
})

test('azure, xai and compatible servers have the responses API at their own addresses', async () => {
  const server = await serve({ raw: streamOf(said('Hello.', 'final_answer')) })
  const resource = server.url.replace('/v1', '')
  const azure: ModelConfig = { provider: 'azure', model: 'prod', api_key: 'key-1', base_url: resource }
  await ask(azure)
  await ask({ ...azure, base_url: `${resource}/openai/v1`, api_version: 'preview' })
  await ask({ ...azure, base_url: `${resource}/openai/deployments/prod`, api_version: '2025-04-01-preview', wire: 'responses' })
  await ask({ provider: 'xai', model: 'grok-4.3', api_key: 'key-1', base_url: server.url })
  await ask({ provider: 'openai-compatible', model: 'qwen3', wire: 'responses', base_url: `${server.url}?tenant=t` })
  assert.deepEqual(
    server.requests.map(({ url, headers }) => [url, headers['api-key'] ?? headers.authorization]),
    [
      ['/openai/v1/responses', 'key-1'],
      ['/openai/v1/responses?api-version=preview', 'key-1'],
      ['/openai/responses?api-version=2025-04-01-preview', 'key-1'],
      ['/v1/responses', 'Bearer key-1'],
      ['/v1/responses?tenant=t', undefined],
    ],
  )
  for (const { body } of server.requests) assert.equal((body as { store: boolean }).store, false)
})

test('chat completions remain for deployments, dated versions of azure, and where the configuration says so', async () => {
  const server = await serve({})
  const resource = server.url.replace('/v1', '')
  await ask({ provider: 'azure', model: 'prod', api_key: 'k', base_url: `${resource}/openai/deployments/prod` })
  await ask({ provider: 'azure', model: 'prod', api_key: 'k', base_url: resource, api_version: '2024-10-21' })
  await ask(openai(server, { wire: 'chat-completions' }))
  await ask({ provider: 'openai-compatible', model: 'm', base_url: server.url })
  for (const { url } of server.requests) assert.match(url, /chat\/completions/)
})

test('a field that the server refuses is left out of this request and of each later one', async () => {
  const refusals = [
    'Your organization must be verified to generate reasoning summaries.',
    'Encrypted content is not supported with this model.',
    "Unsupported parameter: 'temperature' is not supported with this model.",
  ]
  let asked = 0
  const server = await serve(() => {
    const message = refusals[asked++]
    return message === undefined ? { raw: streamOf(said('Hello.', 'final_answer')) } : { status: 400, body: { error: { message } } }
  })
  const model = createModel(openai(server, { model: 'gpt-4.1', temperature: 0 }), { environment: {}, connections })
  for (const _ of [1, 2]) {
    const { reply } = await collectReply(model, { system: '', messages: [{ role: 'user', text: 'Hi' }], tools: [] })
    assert.equal(reply.text, 'Hello.')
  }
  assert.equal(server.requests.length, 5)
  assert.equal((server.requests[0]!.body as { temperature?: number }).temperature, 0)
  assert.deepEqual(server.requests[3]!.body, server.requests[4]!.body)
  assert.equal('temperature' in (server.requests[4]!.body as object), false)
})

test('another refusal is the error of the call, without the key', async () => {
  const server = await serve({ status: 400, body: { error: { message: 'No model gpt-5.6 for sk-secret.' } } })
  const error = await ask(openai(server)).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof ModelError)
  assert.equal(error.code, 'refused')
  assert.equal(error.message, 'openai gpt-5.6 answered 400: No model gpt-5.6 for ***.')
  assert.equal(server.requests.length, 1)
})

test('fields of extra_body are part of each request, and none replaces a field of the service', async () => {
  const server = await serve({ raw: streamOf(said('Hello.', 'final_answer')) })
  await ask(openai(server, { extra_body: { service_tier: 'flex', store: true } }))
  const body = server.requests[0]!.body as Record<string, unknown>
  assert.equal(body['service_tier'], 'flex')
  assert.equal(body['store'], false)
})

test('open reasoning is read, and goes back as it was', async () => {
  const thought = { type: 'reasoning', id: 'r-1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm. So be it.' }] }
  const at = { output_index: 0, item_id: 'r-1', content_index: 0 }
  const events = [
    { type: 'response.output_item.added', output_index: 0, item: { ...thought, content: [] } },
    { ...at, type: 'response.content_part.added', part: { type: 'reasoning_text', text: '' } },
    ...['Hm. ', 'So be it.'].map((delta) => ({ ...at, type: 'response.reasoning_text.delta', delta })),
    { ...at, type: 'response.reasoning_text.done', text: 'Hm. So be it.' },
    { type: 'response.output_item.done', output_index: 0, item: thought },
  ]
  const [created, ...rest] = streamOf(called)
  const server = await serve({ raw: [created!, ...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), ...rest] })
  const config: ModelConfig = { provider: 'openai-compatible', model: 'm', base_url: server.url, wire: 'responses' }
  const first = await ask(config)
  assert.equal(first.reasoning, 'Hm. So be it.')
  const id = '0198c0de-0000-7000-8000-000000000001'
  const messages: Message[] = [
    { role: 'user', text: 'Add one.' },
    {
      ...{ role: 'assistant', text: first.text, reasoning: first.reasoning, toolCalls: [{ id, ...first.toolCalls[0]! }] },
      vendor: JSON.parse(JSON.stringify(first.vendor)),
    },
    { role: 'tool', callId: id, name: 'add', text: '2', isError: false },
  ]
  await ask({ ...config, extra_body: { user: 'me' } }, { messages })
  const { input, user } = server.requests[1]!.body as { input: object[]; user: string }
  assert.equal(user, 'me')
  assert.deepEqual(input[2], thought)
})

test('reasoning that only a server that stores it knows does not go back', async () => {
  const server = await serve({ raw: streamOf({ ...reasoning, encrypted_content: null }, said('Hello.', 'final_answer')) })
  const { text, vendor } = await ask(openai(server))
  await ask(openai(server), {
    messages: [
      { role: 'user', text: 'Hi' },
      { role: 'assistant', text, toolCalls: [], vendor: vendor! },
      { role: 'user', text: 'Again' },
    ],
  })
  assert.doesNotMatch(JSON.stringify(server.requests[1]!.body), /rs_1/)
})
