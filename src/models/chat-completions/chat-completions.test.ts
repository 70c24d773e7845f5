import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer, type ModelAnswer, type ModelScript, type ModelServer } from '../../../test/fixtures/model-server.ts'
import type { Message } from '../../agent/messages.ts'
import { ModelError, type ModelEvent, type ModelRequest } from '../../agent/model.ts'
import { collectReply } from '../../agent/scripted-model.ts'
import { createChatCompletionsModel, type ChatCompletionsOptions } from './chat-completions.ts'
import { createConnections } from '../connections.ts'

const connections = createConnections()
const servers: ModelServer[] = []
after(async () => {
  await connections.close()
  await Promise.all(servers.map((server) => server.close()))
})

const hello: ModelRequest = { system: '', messages: [{ role: 'user', text: 'Hello' }], tools: [] }

async function setUp(script: ModelScript, options: Partial<ChatCompletionsOptions> = {}) {
  const server = await startModelServer(script)
  servers.push(server)
  const model = createChatCompletionsModel({
    provider: 'openai',
    model: 'gpt-5-mini',
    seesImages: true,
    url: new URL(`${server.url}/chat/completions`),
    headers: { authorization: 'Bearer sk-very-secret' },
    timeouts: { connectMs: 1000, firstTokenMs: 5000, idleMs: 5000 },
    origin: { label: 'openai gpt-5-mini', secrets: ['sk-very-secret'] },
    connections,
    ...options,
  })
  const ask = (request = hello, signal = new AbortController().signal) => collectReply(model, request, signal)
  return { server, model, ask }
}

const textOf = (event: ModelEvent) => (event.type === 'text' ? event.text : '')

async function failureOf(answer: ModelAnswer, options: Partial<ChatCompletionsOptions> = {}): Promise<ModelError> {
  const { ask } = await setUp(answer, options)
  const error: unknown = await ask().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ModelError, String(error))
  return error
}

test('text that arrives in a single read is a single event', async () => {
  const { ask } = await setUp({
    text: ['Good ', 'mor', 'ning'],
    writes: 'together',
    usage: { input: 12, output: 3, cached: 8, reasoning: 1 },
  })
  assert.deepEqual(await ask(), {
    events: [{ type: 'text', text: 'Good morning' }],
    reply: {
      text: 'Good morning',
      reasoning: '',
      toolCalls: [],
      finish: 'stop',
      usage: { model: 'gpt-5-mini', input: 12, output: 3, cachedInput: 8, reasoning: 1 },
    },
  })
})

test('text that arrives later is a later event', async () => {
  const { ask } = await setUp({ text: ['Good ', 'morning'], pauseMs: 5 })
  assert.deepEqual((await ask()).events, [
    { type: 'text', text: 'Good ' },
    { type: 'text', text: 'morning' },
  ])
})

test('a reply is the same wherever its bytes are cut, with either line end', async () => {
  for (const crlf of [false, true]) {
    const { ask } = await setUp({
      reasoning: 'hm…',
      text: ['Grüße, ', '世界 🌍'],
      calls: [{ name: 'add', arguments: ['{"a":', '1}'] }],
      writes: 7,
      crlf,
    })
    const { events, reply } = await ask()
    assert.equal(reply.text, 'Grüße, 世界 🌍')
    assert.equal(reply.reasoning, 'hm…')
    assert.deepEqual(reply.toolCalls, [{ name: 'add', arguments: '{"a":1}' }])
    assert.equal(events.map((event) => (event.type === 'text' ? event.text : '')).join(''), 'Grüße, 世界 🌍')
  }
})

test('reasoning is separated from text, in its own field and in leading think tags', async () => {
  const field = await setUp({ reasoning: ['Let me ', 'see. '], text: 'Done.', writes: 'together' })
  const expected = [
    { type: 'reasoning', text: 'Let me see. ' },
    { type: 'text', text: 'Done.' },
  ]
  assert.deepEqual((await field.ask()).events, expected)
  const tags = await setUp({ text: ['<th', 'ink>Let me see. </thi', 'nk>\n\nDone', '.'], writes: 'together' })
  const { events, reply } = await tags.ask()
  assert.deepEqual(events, expected)
  assert.deepEqual({ reasoning: reply.reasoning, text: reply.text }, { reasoning: 'Let me see. ', text: 'Done.' })
})

test('parallel tool calls keep their order and their arguments', async () => {
  const calls = [
    { name: 'add', arguments: ['{"a"', ':1,"b":2}'] },
    { name: 'now', arguments: ['{}'] },
  ]
  const { ask } = await setUp({ text: 'I look. ', calls })
  const { reply } = await ask()
  assert.equal(reply.finish, 'tool_calls')
  assert.deepEqual(reply.toolCalls, [
    { name: 'add', arguments: '{"a":1,"b":2}' },
    { name: 'now', arguments: '{}' },
  ])
})

test('calls without index, in one piece, as objects or all with the same index are assembled', async () => {
  const delta = (...tool_calls: object[]) => ({ choices: [{ index: 0, delta: { tool_calls } }] })
  const expected = [
    { name: 'add', arguments: '{"a":1}' },
    { name: 'now', arguments: '{}' },
  ]
  const shapes: Record<string, object[]> = {
    'no index, no id': [
      delta({ function: { name: 'add', arguments: '{"a"' } }),
      delta({ function: { arguments: ':1}' } }),
      delta({ function: { name: 'now', arguments: '{}' } }),
    ],
    'whole, as objects': [
      delta({ id: 'x', function: { name: 'add', arguments: { a: 1 } } }, { id: 'y', function: { name: 'now', arguments: {} } }),
    ],
    'one index for all': [
      delta({ index: 0, id: 'x', function: { name: 'add', arguments: '{"a":1}' } }),
      delta({ index: 0, id: 'y', function: { name: 'now', arguments: '{}' } }),
    ],
    'id and name repeated': [
      delta({ index: 0, id: 'x', function: { name: 'add', arguments: '{"a"' } }),
      delta({ index: 0, id: 'x', function: { name: 'add', arguments: ':1}' } }),
      delta({ index: 1, id: '', function: { name: 'now', arguments: '{}' } }),
    ],
  }
  for (const [shape, chunks] of Object.entries(shapes)) {
    const { ask } = await setUp({ chunks, finish: 'stop' })
    const { reply } = await ask()
    assert.deepEqual(reply.toolCalls, expected, shape)
    assert.equal(reply.finish, 'tool_calls', shape)
  }
})

test('finish reasons are mapped, and calls that were cut off are dropped', async () => {
  for (const [reason, finish] of [
    ['stop', 'stop'],
    ['length', 'length'],
    ['model_length', 'length'],
    ['content_filter', 'content_filter'],
    ['eos', 'stop'],
  ]) {
    const { ask } = await setUp({ text: 'x', finish: reason })
    assert.equal((await ask()).reply.finish, finish)
  }
  const calls = [
    { name: 'add', arguments: '{"a":1}' },
    { name: 'write', arguments: '{"file":"a' },
  ]
  const { reply } = await (await setUp({ calls, finish: 'length' })).ask()
  assert.deepEqual(
    { finish: reply.finish, toolCalls: reply.toolCalls },
    { finish: 'length', toolCalls: [{ name: 'add', arguments: '{"a":1}' }] },
  )
})

test('a stream that ends without a finish reason is an error, and its calls are dropped', async () => {
  const calls = [{ name: 'pay', arguments: '{"amount":1}' }]
  for (const answer of [
    { text: 'Half', finish: null },
    { calls, finish: null },
    { raw: ['data: {"choices":[{"delta":{"content":"x"}}]}\n\n', 'data: [DONE]\n\n'] },
    { raw: [] },
  ]) {
    const error = await failureOf(answer)
    assert.equal(error.code, 'unavailable')
    assert.match(error.message, /^openai gpt-5-mini ended before its answer was complete$/)
  }
})

test('a broken connection is a retryable error after the text received so far', async () => {
  const { model } = await setUp({ text: ['one ', 'two '], breakAfter: 3 })
  let text = ''
  await assert.rejects(
    collectReply(model, hello, undefined, (event) => (text += textOf(event))),
    { name: 'ModelError', code: 'unavailable', message: /broke off its answer/ },
  )
  assert.equal(text, 'one two ')
})

test('a connection that breaks after the finish reason does no harm', async () => {
  const { ask } = await setUp({
    text: 'All said.',
    raw: ['data: {"choices":[{"delta":{"content":"All said."},"finish_reason":"stop"}]}\n\n'],
    breakAfter: 1,
  })
  assert.equal((await ask()).reply.text, 'All said.')
})

test('an error inside of the stream, or a chunk that is not JSON, ends the stream', async () => {
  const inBand = await failureOf({ text: 'x', chunks: [{ error: { message: 'GPU on fire', code: 500 } }] })
  assert.deepEqual(
    { code: inBand.code, message: inBand.message },
    { code: 'unavailable', message: 'openai gpt-5-mini broke off its answer: GPU on fire' },
  )
  assert.equal((await failureOf({ raw: ['data: {"choices":\n\n'] })).code, 'unavailable')
})

test('each status is mapped to an error', async () => {
  const meanings = {
    400: 'refused',
    401: 'unauthorized',
    403: 'unauthorized',
    404: 'refused',
    408: 'unavailable',
    409: 'unavailable',
    422: 'refused',
    429: 'rate_limited',
    500: 'unavailable',
    503: 'unavailable',
    307: 'refused',
  }
  for (const [status, code] of Object.entries(meanings)) {
    const error = await failureOf({ status: Number(status), headers: { location: '/elsewhere' }, body: { error: { message: 'No.' } } })
    assert.equal(error.code, code, status)
    assert.match(error.message, new RegExp(`^openai gpt-5-mini answered ${status}`))
  }
})

test('retry-after is read in seconds and as a date', async () => {
  assert.equal((await failureOf({ status: 429, headers: { 'retry-after': '7' } })).retryAfterMs, 7000)
  const date = await failureOf({ status: 429, headers: { 'retry-after': new Date(Date.now() + 60_000).toUTCString() } })
  assert.ok(date.retryAfterMs! > 50_000 && date.retryAfterMs! <= 60_000)
  assert.equal((await failureOf({ status: 503, headers: { 'retry-after-ms': '250', 'retry-after': '1' } })).retryAfterMs, 250)
  assert.equal((await failureOf({ status: 429, headers: { 'retry-after': 'soon' } })).retryAfterMs, undefined)
})

test('an error message is short, of one line and without secrets', async () => {
  const message = `Bad key sk-very-secret\n for http://user:pw@host.test/path?token=abc ${'and so on '.repeat(50)}`
  const error = await failureOf({ status: 400, body: { error: { message } } })
  assert.match(error.message, /^openai gpt-5-mini answered 400: Bad key \*\*\* for http:\/\/host\.test\/path and so on/)
  assert.ok(error.message.length < 250)
  const unauthorized = await failureOf({ status: 401, body: { error: { message: 'Incorrect API key provided: sk-ve**cret' } } })
  assert.equal(unauthorized.message, 'openai gpt-5-mini answered 401')
})

test('an endless error body is not read to its end', async () => {
  const error = await failureOf({ status: 500, body: 'x'.repeat(5_000_000) })
  assert.equal(error.code, 'unavailable')
  assert.ok(error.message.length < 250)
})

test('a response that is no stream is an error', async () => {
  const error = await failureOf({ body: { error: 'model not loaded' } })
  assert.deepEqual(
    { code: error.code, message: error.message },
    { code: 'unavailable', message: 'openai gpt-5-mini answered 200: model not loaded' },
  )
})

test('an unreachable server is unavailable', async () => {
  const { server, ask } = await setUp({})
  await server.close()
  await assert.rejects(ask(), { name: 'ModelError', code: 'unavailable', message: 'openai gpt-5-mini could not be reached (ECONNREFUSED)' })
})

test('a server that stays silent runs into the time limits', async () => {
  const timeouts = { connectMs: 1000, firstTokenMs: 40, idleMs: 40 }
  const before = await failureOf({ silentAfter: 0 }, { timeouts })
  assert.deepEqual(
    { code: before.code, message: before.message },
    { code: 'unavailable', message: 'openai gpt-5-mini did not begin its answer within 0.04 s' },
  )
  // The role alone is not the beginning of an answer.
  assert.match((await failureOf({ silentAfter: 1 }, { timeouts })).message, /did not begin/)
  const inside = await failureOf({ text: ['a', 'b'], silentAfter: 2 }, { timeouts: { ...timeouts, firstTokenMs: 5000 } })
  assert.equal(inside.message, 'openai gpt-5-mini went silent for 0.04 s in its answer')
})

test('an abort closes the connection at once, before and inside of the answer', async () => {
  for (const answer of [{ silentAfter: 0 }, { text: ['a', 'b'], silentAfter: 2 }]) {
    const { server, model } = await setUp(answer)
    const stop = new AbortController()
    const begun = Promise.withResolvers<void>()
    const waiting = collectReply(model, hello, stop.signal, () => begun.resolve())
    if (answer.silentAfter === 2) await begun.promise
    while (server.requests.length === 0) await new Promise(setImmediate)
    stop.abort(new Error('enough'))
    await assert.rejects(waiting, { message: 'enough' })
    assert.equal(await server.requests[0]!.closedEarly, true)
  }
})

test('an aborted signal sends no request', async () => {
  const { server, ask } = await setUp({})
  await assert.rejects(ask(hello, AbortSignal.abort(new Error('enough'))), { message: 'enough' })
  assert.equal(server.requests.length, 0)
})

test('a sink that fails closes the connection, and its failure is that of the call', async () => {
  const gone = () => {
    throw new Error('gone')
  }
  for (const sink of [gone, () => Promise.reject(new Error('gone'))]) {
    const { server, model } = await setUp({ text: ['a', 'b'], silentAfter: 2 })
    await assert.rejects(model.reply(hello, sink, new AbortController().signal), { message: 'gone' })
    assert.equal(await server.requests[0]!.closedEarly, true)
  }
})

test('a slow reader pauses the server', async () => {
  const piece = 'x'.repeat(16 * 1024)
  const raw = Array.from({ length: 900 }, () => `data: ${JSON.stringify({ choices: [{ delta: { content: piece } }] })}\n\n`)
  const end = ['data: {"choices":[{"finish_reason":"stop"}]}\n\n']
  const { server, model } = await setUp({ raw: [...raw, ...end] })
  const begun = Promise.withResolvers<void>()
  const reading = Promise.withResolvers<void>()
  let sent = 0
  const sink = (event: ModelEvent) => {
    sent += textOf(event).length
    begun.resolve()
    return reading.promise
  }
  const replying = model.reply(hello, sink, new AbortController().signal)
  await begun.promise
  let over = false
  void server.requests[0]!.closedEarly.then(() => (over = true))
  // Far longer than loopback needs for 15 MB, if nobody held it up.
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.equal(over, false)
  reading.resolve()
  await replying
  assert.equal(sent, 900 * piece.length)
})

test('an answer without end is cut off', async () => {
  const raw = Array.from(
    { length: 18 },
    () => `data: ${JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(1024 * 1024) } }] })}\n\n`,
  )
  const error = await failureOf({ raw })
  assert.equal(error.message, 'openai gpt-5-mini broke off its answer: the answer is too long')
})

test('connections are reused', async () => {
  const { server, ask } = await setUp({ text: 'a' })
  for (let call = 0; call < 5; call++) await ask()
  // The end of a response may still be on its way when the next call begins.
  assert.ok(server.connections() <= 2)
})

const tools = [
  { name: 'add', description: 'Adds.', effect: 'read' as const, schema: { type: 'object', properties: { a: { type: 'number' } } } },
]
const callId = '0198c5a1-7e4b-7d21-9f6e-0123456789ab'
const transcript: Message[] = [
  { role: 'user', text: 'What is this?', images: [{ mediaType: 'image/png', data: 'aGk=' }] },
  { role: 'assistant', text: '', reasoning: 'secret thoughts', toolCalls: [{ id: callId, name: 'add', arguments: '{"a":1}' }] },
  { role: 'tool', callId, name: 'add', text: '2', isError: false },
  { role: 'assistant', text: 'Two.', toolCalls: [] },
  { role: 'user', text: 'Thanks' },
]

test('a transcript is converted to the format of OpenAI', async () => {
  const { server, ask } = await setUp({}, { temperature: 0, maxOutputTokens: 100, reasoningEffort: 'low' })
  await ask({ system: 'Be brief.', messages: transcript, tools })
  const { body, headers, url } = server.requests[0]!
  assert.equal(url, '/v1/chat/completions')
  assert.equal(headers.authorization, 'Bearer sk-very-secret')
  assert.deepEqual(body, {
    model: 'gpt-5-mini',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: callId, type: 'function', function: { name: 'add', arguments: '{"a":1}' } }] },
      { role: 'tool', tool_call_id: callId, content: '2' },
      { role: 'assistant', content: 'Two.' },
      { role: 'user', content: 'Thanks' },
    ],
    tools: [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: tools[0]!.schema } }],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
    max_completion_tokens: 100,
    reasoning_effort: 'low',
  })
})

test('absent tools and settings are left out', async () => {
  const { server, ask } = await setUp({}, { provider: 'openai-compatible', maxOutputTokens: 50 })
  await ask()
  assert.deepEqual(Object.keys(server.requests[0]!.body).sort(), ['max_tokens', 'messages', 'model', 'stream', 'stream_options'])
})

test('mistral gets ids of nine letters and digits, no unsupported option, and may answer in parts', async () => {
  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
    { type: 'text', text: 'Two.' },
  ]
  const { server, ask } = await setUp(
    { chunks: [{ choices: [{ delta: { content: parts } }] }] },
    { provider: 'mistral', maxOutputTokens: 50 },
  )
  const { reply } = await ask({ system: '', messages: transcript, tools: [] })
  assert.deepEqual({ reasoning: reply.reasoning, text: reply.text }, { reasoning: 'Hm.', text: 'Two.' })
  const { body } = server.requests[0]!
  const id = body.messages[1].tool_calls[0].id
  assert.match(id, /^[A-Za-z0-9]{9}$/)
  assert.equal(body.messages[2].tool_call_id, id)
  assert.deepEqual(Object.keys(body).sort(), ['max_tokens', 'messages', 'model', 'stream'])
})

test('invalid arguments of an earlier call do not break the session', async () => {
  const { server, ask } = await setUp({})
  const toolCalls = [{ id: callId, name: 'add', arguments: '{"a":' }]
  await ask({ system: '', messages: [{ role: 'assistant', text: '', toolCalls }], tools: [] })
  assert.equal(server.requests[0]!.body.messages[0].tool_calls[0].function.arguments, '{}')
})

test('invalid token counts are 0', async () => {
  const { ask } = await setUp({
    text: 'Done.',
    chunks: [{ choices: [], usage: { prompt_tokens: 1e308, completion_tokens: -5, prompt_tokens_details: { cached_tokens: 'many' } } }],
  })
  assert.deepEqual((await ask()).reply.usage, { model: 'gpt-5-mini', input: 0, output: 0, cachedInput: 0, reasoning: 0 })
})

test('an answer with too many tool calls is rejected while it arrives', async () => {
  const calls = Array.from({ length: 501 }, () => ({ name: 'now', arguments: ['{}'] }))
  const { message } = await failureOf({ calls })
  assert.match(message, /the answer has more than 500 tool calls$/)
  const { ask } = await setUp({ calls: calls.slice(1) })
  assert.equal((await ask()).reply.toolCalls.length, 500)
})

test('a server that answers without a stream is read', async () => {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Good morning' }, finish_reason: 'stop' }]
  const { ask } = await setUp({ body: { choices, usage: { prompt_tokens: 12, completion_tokens: 3 } } })
  const { events, reply } = await ask()
  assert.deepEqual(events, [{ type: 'text', text: 'Good morning' }])
  assert.deepEqual({ text: reply.text, input: reply.usage.input }, { text: 'Good morning', input: 12 })
})

test('an error behind a cut answer is an error', async () => {
  const cut = { choices: [{ index: 0, delta: { content: '' }, finish_reason: 'length' }] }
  const error = await failureOf({ chunks: [cut, { error: { message: 'Provider returned error', code: 502 } }], finish: null })
  assert.deepEqual(
    { code: error.code, message: error.message },
    { code: 'unavailable', message: 'openai gpt-5-mini broke off its answer: Provider returned error' },
  )
})

test('a server that refuses enforced schemas of tools is asked without', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  const refusal = { status: 400, body: { error: { message: "Invalid schema for function 'look'." } } }
  const { server, ask } = await setUp([refusal, { text: 'Yes.' }], { strictTools: true })
  await ask({ ...hello, tools: [{ name: 'look', description: 'Looks.', effect: 'read', schema }] })
  assert.deepEqual(
    server.requests.map(({ body }) => body.tools[0].function.strict),
    [true, undefined],
  )
})
