import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import OpenAI from 'openai'
import { makeImage } from '../fixtures/make-images.ts'
import { startService, type ServiceOptions, type TestService, type Who } from '../fixtures/service.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const model = 'agent-core'
const user = (content: string) => ({ role: 'user' as const, content })

interface Door {
  service: TestService
  openai: OpenAI
  /** A client without retries. */
  as(who?: Who): Promise<OpenAI>
}

async function startOpenAi(t: TestContext, options: ServiceOptions = { script: {} }): Promise<Door> {
  const service = await startService(t, options)
  const as = async (who?: Who) => new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key(who)).key, maxRetries: 0 })
  return { service, openai: await as(), as }
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const event of events) list.push(event)
  return list
}

/** Texts of the model around a tool call. */
const withTool = {
  tools: [fakeTool('add', async () => ({ sum: 3 }))],
  script: [
    { ...callOf('add', { a: 1, b: 2 }), text: 'Let me add.', usage: { input: 10, output: 5, cached: 4 } },
    { reasoning: 'Hm.', text: ['It is ', '3.'], usage: { input: 20, output: 7, reasoning: 2 } },
  ],
}

test('OpenAI: a chat completion has the answer, its usage, and the id of its run', async (t) => {
  const { service, openai } = await startOpenAi(t, withTool)
  const { data, response } = await openai.chat.completions.create({ model, messages: [user('1 + 2?')] }).withResponse()
  const { id, created, usage, ...rest } = data
  const message = { role: 'assistant', content: 'It is 3.', refusal: null, reasoning_content: 'Hm.' }
  assert.deepEqual(rest, {
    object: 'chat.completion',
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
  })
  assert.deepEqual(usage, {
    prompt_tokens: 30,
    completion_tokens: 12,
    total_tokens: 42,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 2 },
  })
  assert.ok(Math.abs(created - Date.now() / 1000) < 60)
  const requestId = response.headers.get('request-id')!
  assert.deepEqual({ id, 'x-request-id': response.headers.get('x-request-id') }, { id: `chatcmpl-${requestId}`, 'x-request-id': requestId })
  assert.equal((await service.client.run(requestId)).body.outcome.output, 'It is 3.')
})

test('OpenAI: a streamed completion has chunks; text before a tool call stays, separated by a blank line', async (t) => {
  const { openai } = await startOpenAi(t, withTool)
  const stream = await openai.chat.completions.create({
    model,
    messages: [user('1 + 2?')],
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await all(stream)
  assert.equal(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size, 1)
  assert.ok(chunks.every((chunk) => chunk.object === 'chat.completion.chunk'))
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
  assert.deepEqual(deltas[0], { role: 'assistant', content: '' })
  assert.deepEqual(deltas.at(-1), {})
  assert.equal(deltas.map(({ content }) => content ?? '').join(''), 'Let me add.\n\nIt is 3.')
  const thoughts = deltas.map((delta) => ('reasoning_content' in delta ? delta.reasoning_content : '')).join('')
  assert.equal(thoughts, 'Hm.')
  const finishes = chunks.flatMap(({ choices }) => choices.flatMap((choice) => choice.finish_reason ?? []))
  assert.deepEqual(finishes, ['stop'])
  assert.deepEqual({ choices: chunks.at(-1)?.choices, total_tokens: chunks.at(-1)?.usage?.total_tokens }, { choices: [], total_tokens: 42 })
  assert.ok(chunks.slice(0, -1).every((chunk) => chunk.usage === null))
})

test('OpenAI: a blank line separates the thoughts of two steps in reasoning_content, streamed or not', async (t) => {
  const script = [
    { ...callOf('add', { a: 1, b: 2 }), reasoning: ['First ', 'add.'] },
    { reasoning: 'Then answer.', text: 'It is 3.' },
  ]
  const { openai } = await startOpenAi(t, { tools: withTool.tools, script: [...script, ...script] })
  const messages = [user('1 + 2?')]
  const { choices } = await openai.chat.completions.create({ model, messages })
  assert.equal((choices[0]!.message as { reasoning_content?: string }).reasoning_content, 'First add.\n\nThen answer.')
  const chunks = await all(await openai.chat.completions.create({ model, messages, stream: true }))
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta as { reasoning_content?: string }))
  assert.equal(deltas.map((delta) => delta.reasoning_content ?? '').join(''), 'First add.\n\nThen answer.')
})

test('OpenAI: an answer that a run repeats after a thought is streamed once', async (t) => {
  // The thought follows the answer, so the run sends its answer again.
  const chunks = [
    { choices: [{ index: 0, delta: { content: 'Four.' } }] },
    { choices: [{ index: 0, delta: { reasoning_content: 'Sure.' } }] },
  ]
  const { service, openai } = await startOpenAi(t, { script: { text: [], chunks } })
  assert.equal((await service.client.chat('2 + 2?')).body.body.output, 'Four.')
  const stream = await openai.chat.completions.create({ model, messages: [user('2 + 2?')], stream: true })
  const text = (await all(stream)).map(({ choices }) => choices[0]?.delta.content ?? '').join('')
  assert.equal(text, 'Four.')
})

test('OpenAI: a response has the answer as its output text', async (t) => {
  const { service, openai } = await startOpenAi(t, withTool)
  const response = await openai.responses.create({ model, input: '1 + 2?', instructions: 'Be brief.', metadata: { team: 'blue' } })
  assert.deepEqual(
    { status: response.status, output_text: response.output_text, outputCount: response.output.length },
    { status: 'completed', output_text: 'Let me add.\n\nIt is 3.', outputCount: 2 },
  )
  assert.deepEqual(
    { instructions: response.instructions, metadata: response.metadata },
    { instructions: 'Be brief.', metadata: { team: 'blue' } },
  )
  const { input_tokens: input, output_tokens: output, total_tokens: total } = response.usage!
  assert.deepEqual({ input, output, total }, { input: 30, output: 12, total: 42 })
  assert.match(service.model.requests[0]?.body.messages[0].content, /Be brief\./)
})

test('OpenAI: a streamed response has typed events, numbered from 0, and a message for each segment', async (t) => {
  const { openai } = await startOpenAi(t, withTool)
  const events = await all(await openai.responses.create({ model, input: [user('1 + 2?')], stream: true }))
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  )
  const message = [
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
  ]
  const types = ['created', 'in_progress', ...message, ...message, 'completed'].map((type) => `response.${type}`)
  const told = events.map(({ type }) => type as string)
  assert.deepEqual(
    told.filter((type, index) => type !== told[index - 1]),
    types,
  )
  const last = events.at(-1)!
  assert.ok(last.type === 'response.completed')
  const said = last.response.output.map((item) => item.type === 'message' && [item.phase, item.status, item.content[0]])
  const text = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })
  assert.deepEqual(said, [
    ['commentary', 'completed', text('Let me add.\n\n')],
    ['final_answer', 'completed', text('It is 3.')],
  ])
  assert.equal(last.response.usage?.total_tokens, 42)
})

test('OpenAI: the stream helpers of an OpenAI client read the streams to the end', async (t) => {
  const { openai } = await startOpenAi(t, { script: { text: ['It is ', '3.'] } })
  const final = await openai.responses.stream({ model, input: 'hello' }).finalResponse()
  assert.deepEqual({ output_text: final.output_text, status: final.status }, { output_text: 'It is 3.', status: 'completed' })
  const completion = await openai.chat.completions.stream({ model, messages: [user('hello')] }).finalChatCompletion()
  assert.deepEqual(
    { content: completion.choices[0]?.message.content, finish_reason: completion.choices[0]?.finish_reason },
    { content: 'It is 3.', finish_reason: 'stop' },
  )
})

test('OpenAI: a truncated answer has its finish reason', async (t) => {
  const { openai } = await startOpenAi(t, { script: { text: 'It is', finish: 'length' } })
  const completion = await openai.chat.completions.create({ model, messages: [user('hello')] })
  assert.equal(completion.choices[0]?.finish_reason, 'length')
  const response = await openai.responses.create({ model, input: 'hello' })
  assert.deepEqual(
    { status: response.status, incomplete_details: response.incomplete_details },
    { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  )
  const events = await all(await openai.responses.create({ model, input: 'hello', stream: true }))
  assert.equal(events.at(-1)?.type, 'response.incomplete')
})

test('OpenAI: the agent is the only model, under each of its names', async (t) => {
  const { openai } = await startOpenAi(t, { script: {}, config: { uri_id: 'team/helper', id: 'h-1', name: 'Helper' } })
  const { data } = await openai.models.list()
  assert.deepEqual(
    data.map(({ id, object }) => [id, object]),
    [['team/helper', 'model']],
  )
  for (const name of ['team/helper', 'h-1', 'Helper']) {
    assert.equal((await openai.models.retrieve(name)).id, 'team/helper')
    assert.equal((await openai.chat.completions.create({ model: name, messages: [user('hello')] })).model, name)
  }
  const missing = { status: 404, code: 'model_not_found', param: 'model', type: 'invalid_request_error' }
  await assert.rejects(openai.models.retrieve('gpt-4'), missing)
  await assert.rejects(openai.responses.create({ model: 'gpt-4', input: 'hello' }), missing)
})

test('OpenAI: the messages of a request are the conversation, unless session-id names a session', async (t) => {
  const { service, openai } = await startOpenAi(t)
  const messages = [
    { role: 'developer' as const, content: 'Be brief.' },
    user('I am Ann.'),
    { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Hello Ann.' }] },
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'Who' },
        { type: 'text' as const, text: 'am I?' },
      ],
    },
  ]
  const shown = (isSystem = false) =>
    service.model.requests
      .at(-1)!
      .body.messages.filter(({ role }: { role: string }) => (role === 'system') === isSystem)
      .map(({ content }: { content: string }) => content)
  const { response } = await openai.chat.completions.create({ model, messages }).withResponse()
  assert.deepEqual(shown(), ['I am Ann.', 'Hello Ann.', 'Who\nam I?'])
  assert.match(shown(true)[0], /Be brief\./)
  const headers = { 'session-id': response.headers.get('session-id')! }
  const again = await openai.responses.create({ model, input: 'And now?' }, { headers }).withResponse()
  assert.equal(again.response.headers.get('session-id'), headers['session-id'])
  assert.deepEqual(shown(), ['I am Ann.', 'Hello Ann.', 'Who\nam I?', 'ok', 'And now?'])
  const other = await openai.responses.create({ model, input: 'And now?' }).withResponse()
  assert.notEqual(other.response.headers.get('session-id'), headers['session-id'])
  assert.deepEqual(shown(), ['And now?'])
})

test('OpenAI: images reach the model as data: URLs; other URLs are not fetched', async (t) => {
  const { service, openai } = await startOpenAi(t)
  const url = `data:image/png;base64,${(await makeImage('png')).toString('base64')}`
  const asking = (url: string) => [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url: { url } }] }]
  const images = () =>
    service.model.requests
      .at(-1)
      ?.body.messages.at(-1)
      .content.filter((part: { type: string }) => part.type === 'image_url')
  await openai.chat.completions.create({ model, messages: asking(url) })
  assert.equal(images().length, 1)
  // The client sends the conversation again.
  await openai.chat.completions.create({ model, messages: [...asking(url), { role: 'assistant', content: 'A cat.' }, user('Its colour?')] })
  assert.equal(images().length, 1)
  const input = [{ role: 'user' as const, content: [{ type: 'input_image' as const, image_url: url, detail: 'auto' as const }] }]
  await openai.responses.create({ model, input })
  assert.equal(images().length, 1)
  await assert.rejects(openai.chat.completions.create({ model, messages: asking('https://example.org/cat.png') }), {
    status: 400,
    param: 'messages[0].content[0].image_url.url',
    code: 'invalid_value',
  })
  await assert.rejects(openai.chat.completions.create({ model, messages: asking('data:image/png;base64,AAAA') }), { status: 400 })
  assert.equal(service.model.requests.length, 3)
})

test('OpenAI: an unsupported parameter is a 400 that names it, and nothing runs', async (t) => {
  const { service, openai } = await startOpenAi(t)
  const messages = [user('hello')]
  const completions: [object, string][] = [
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ function_call: { name: 'f' } }, 'function_call'],
    [{ functions: [{ name: 'f' }] }, 'functions'],
    [{ top_k: 40 }, 'top_k'],
    [{ reasoning: { effort: 'vast' } }, 'reasoning.effort'],
    [{ reasoning: { max_tokens: 9 } }, 'reasoning.max_tokens'],
    [{ reasoning: { effort: 'low' }, reasoning_effort: 'high' }, 'reasoning.effort'],
    [{ verbosity: 'chatty' }, 'verbosity'],
    [{ n: 2 }, 'n'],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x', tool_call_id: 'c' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: [{ type: 'input_video' }] }] }, 'messages[0].content[0].type'],
    [{ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'messages[0].content[0].input_audio.data'],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ response_format: 'text' }, 'response_format'],
    [{ messages: undefined }, 'messages'],
    [{ model: undefined }, 'model'],
    [{ stream: 'yes' }, 'stream'],
  ]
  for (const [more, param] of completions) {
    const asked = openai.chat.completions.create({ model, messages, ...more })
    await assert.rejects(asked, { constructor: OpenAI.BadRequestError, param, type: 'invalid_request_error' }, param)
  }
  const parts = Array.from({ length: 2001 }, () => ({ type: 'text' as const, text: 'a' }))
  const tooMany = openai.chat.completions.create({ model, messages: [{ role: 'user', content: parts }] })
  await assert.rejects(tooMany, { message: '400 messages[0].content: must NOT have more than 2000 items' })
  const format = { type: 'json_schema', name: 'x', schema: { type: 'nothing' } }
  const responses: [object, string][] = [
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', name: 'f', parameters: { type: 'array' } }] }, 'tools[0].parameters.type'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: { type: 'web_search' } }, 'tool_choice'],
    [{ previous_response_id: 'resp_1', conversation: 'conv_1' }, 'previous_response_id'],
    [{ background: true, store: false }, 'background'],
    [{ truncation: 'disabled' }, 'truncation'],
    [{ service_tier: 'flex' }, 'service_tier'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ max_tool_calls: 2 }, 'max_tool_calls'],
    [{ toString: 1 }, 'toString'],
    [{ tools: [{ type: 'function', name: 'f', parameters: { $ref: '#' } }] }, 'tools[0].parameters'],
    [{ prompt: { id: 'p' } }, 'prompt'],
    [{ include: ['message.output_text.logprobs'] }, 'include[0]'],
    [{ text: { format } }, 'text.format.schema.type'],
    [{ text: { verbosity: 'chatty' } }, 'text.verbosity'],
    [{ reasoning: { max_tokens: 9 } }, 'reasoning.max_tokens'],
    [{ text: 'json' }, 'text'],
    [{ unheard_of: 1 }, 'unheard_of'],
    [{ input: [{ type: 'reasoning' }] }, 'input'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input[0].call_id'],
    [{ input: undefined }, 'input'],
  ]
  for (const [more, param] of responses) {
    await assert.rejects(openai.responses.create({ model, input: 'hello', ...more } as never), { status: 400, param }, param)
  }
  assert.equal(service.model.requests.length, 0)
  const tuned = { temperature: 0, top_p: 1, max_tokens: 5, seed: 1, stop: ['x'], user: 'u', tools: [], store: true, n: 1 }
  assert.equal((await openai.chat.completions.create({ model, messages, ...tuned })).choices[0]?.message.content, 'ok')
})

test('OpenAI: a tool choice that forces no tool is accepted without tools', async (t) => {
  const { openai } = await startOpenAi(t)
  for (const choice of ['auto', 'none'] as const) {
    const completion = await openai.chat.completions.create({
      model,
      messages: [user('hello')],
      tool_choice: choice,
      function_call: choice,
    })
    assert.equal(completion.choices[0]?.message.content, 'ok')
    const response = await openai.responses.create({ model, input: 'hello', tool_choice: choice })
    assert.deepEqual({ output_text: response.output_text, tool_choice: response.tool_choice }, { output_text: 'ok', tool_choice: choice })
  }
})

test('OpenAI: a client may send an answer back unchanged, with the null fields of its parts', async (t) => {
  const { service, openai } = await startOpenAi(t)
  const nulls = { refusal: null, image_url: null }
  const said = (type: string, role = 'assistant') => ({ role, content: [{ type, text: 'Hello Ann.', role, ...nulls }] })
  const shown = () =>
    service.model.requests
      .at(-1)!
      .body.messages.filter(({ role }: { role: string }) => role !== 'system')
      .map(({ content }: { content: string }) => content)
  const turns = (type: string, own: string) => [user('I am Ann.'), said(type), said(own, 'user')] as never
  await openai.chat.completions.create({ model, messages: turns('text', 'text') })
  assert.deepEqual(shown(), ['I am Ann.', 'Hello Ann.', 'Hello Ann.'])
  await openai.responses.create({ model, input: turns('output_text', 'input_text') })
  assert.deepEqual(shown(), ['I am Ann.', 'Hello Ann.', 'Hello Ann.'])
  const empty = [{ role: 'user', content: [{ type: 'text', text: null }] }] as never
  const param = 'messages[0].content[0].text'
  await assert.rejects(openai.chat.completions.create({ model, messages: empty }), {
    status: 400,
    param,
    code: 'missing_required_parameter',
  })
})

test('OpenAI: a response has every required field, complete, streamed and truncated', async (t) => {
  const { openai } = await startOpenAi(t, { script: [{ text: 'ok' }, { text: 'ok' }, { text: 'o', finish: 'length' }] })
  const constants = {
    background: false,
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    reasoning: null,
    max_output_tokens: null,
    max_tool_calls: null,
    service_tier: 'default',
    safety_identifier: null,
    prompt_cache_key: null,
  }
  const ask = { model, input: 'hello' }
  const whole = await openai.responses.create(ask)
  const events = await all(await openai.responses.create({ ...ask, stream: true }))
  const cut = await all(await openai.responses.create({ ...ask, stream: true }))
  const responses = [...events, ...cut].flatMap((event) => ('response' in event ? [event.response] : []))
  assert.deepEqual(
    responses.map(({ status }) => status),
    ['in_progress', 'in_progress', 'completed', 'in_progress', 'in_progress', 'incomplete'],
  )
  for (const response of [whole, ...responses]) {
    assert.partialDeepStrictEqual(response, constants)
    const isCompleted = response.status === 'completed'
    assert.equal(isCompleted ? Math.abs(response.completed_at! - response.created_at) < 60 : response.completed_at, isCompleted || null)
  }
  const details = { cached_tokens: 0, cache_write_tokens: 0 }
  assert.deepEqual([whole.usage?.input_tokens_details, responses[2]?.usage?.input_tokens_details], [details, details])
})

test('OpenAI: every error below /v1 has the error shape of OpenAI’s API', async (t) => {
  const config = { limits: { max_input_characters: 10 }, access: { rate_limits: { operator: { requests_per_minute: 1 } } } }
  const { service, openai, as } = await startOpenAi(t, { script: {}, config })
  const messages = [user('hello')]
  const stranger = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'nothing', maxRetries: 0 })
  await assert.rejects(stranger.models.list(), { constructor: OpenAI.AuthenticationError, code: 'invalid_api_key' })
  const viewer = await as({ roles: ['viewer'] })
  await assert.rejects(viewer.chat.completions.create({ model, messages }), {
    constructor: OpenAI.PermissionDeniedError,
    code: 'insufficient_permissions',
  })
  await assert.rejects(openai.images.generate({ model, prompt: 'x' }), { constructor: OpenAI.NotFoundError, code: 'not_found' })
  const long = { model, messages: [user('hello, who are you?')] }
  await assert.rejects(openai.chat.completions.create(long), { status: 413, code: 'input_too_large', type: 'invalid_request_error' })
  const operator = await as({ roles: ['operator'] })
  await assert.rejects(operator.models.list(), { status: 403 })
  await assert.rejects(operator.models.list(), (error: InstanceType<typeof OpenAI.RateLimitError>) => {
    assert.deepEqual({ status: error.status, code: error.code }, { status: 429, code: 'rate_limit_exceeded' })
    assert.ok(Number(error.headers.get('retry-after')) > 0)
    return true
  })
  for (const [method, path, body, status, code] of [
    ['DELETE', '/v1/models', undefined, 405, 'method_not_allowed'],
    ['GET', '/v1', undefined, 404, 'not_found'],
    ['POST', '/v1/responses', '{"model"', 400, 'invalid_json'],
    ['POST', '/v1/responses', '<a/>', 415, 'unsupported_media_type'],
  ] as const) {
    const headers = { 'content-type': code === 'unsupported_media_type' ? 'text/xml' : 'application/json' }
    const reply = await service.client.request(method, path, { body, headers })
    assert.deepEqual(
      { status: reply.status, keys: Object.keys(reply.body), code: reply.body.error.code },
      { status, keys: ['error'], code },
      path,
    )
    assert.equal(reply.headers.get('x-request-id'), reply.headers.get('request-id'))
  }
})

test('OpenAI: a failed run is an error of that shape, also inside a stream, and is not retried automatically', async (t) => {
  let isBroken = false
  const script = () => (isBroken ? { text: ['It is'], breakAfter: 2 } : { status: 401, body: { error: { message: 'model-secret-key' } } })
  const { service, openai } = await startOpenAi(t, { script })
  const trying = openai.withOptions({ maxRetries: 2 })
  const messages = [user('hello')]
  const failure = { status: 502, code: 'model_unavailable', type: 'server_error' }
  await assert.rejects(trying.chat.completions.create({ model, messages }), failure)
  await assert.rejects(trying.chat.completions.create({ model, messages, stream: true }), failure)
  await assert.rejects(trying.responses.create({ model, input: 'hello', stream: true }), failure)
  assert.equal(service.model.requests.length, 3)
  isBroken = true
  const stream = await openai.chat.completions.create({ model, messages, stream: true })
  await assert.rejects(all(stream), { constructor: OpenAI.APIError, code: 'model_unavailable' })
  const events = await all(await openai.responses.create({ model, input: 'hello', stream: true }))
  const last = events.at(-1)!
  assert.ok(last.type === 'response.failed')
  assert.deepEqual({ status: last.response.status, code: last.response.error?.code }, { status: 'failed', code: 'server_error' })
})

test('OpenAI: a repeated request id gets the first completion, and a disconnect cancels the run', async (t) => {
  const { service, openai } = await startOpenAi(t, {
    script: (request) => (request.body.messages.at(-1).content === 'wait' ? { text: ['a', 'b'], silentAfter: 3 } : { text: 'ok' }),
    config: { limits: { reconnect_grace: 0 } },
  })
  const messages = [user('hello')]
  const headers = { 'request-id': 'one' }
  const first = await openai.chat.completions.create({ model, messages }, { headers })
  const second = await openai.chat.completions.create({ model, messages }, { headers })
  assert.deepEqual([first.id, second.id, service.model.requests.length], ['chatcmpl-one', 'chatcmpl-one', 1])
  const another = openai.chat.completions.create({ model, messages: [user('another')] }, { headers })
  await assert.rejects(another, { constructor: OpenAI.ConflictError, code: 'request_id_reused' })
  const stream = await openai.chat.completions.create(
    { model, messages: [user('wait')], stream: true },
    { headers: { 'request-id': 'two' } },
  )
  for await (const _ of stream) break
  assert.equal(await service.model.requests.at(-1)?.closedEarly, true)
})

test('OpenAI: the answers match the OpenAPI document', async (t) => {
  const { service } = await startOpenAi(t, withTool)
  const { client } = service
  assert.equal((await client.request('GET', '/v1/models')).status, 200)
  assert.equal((await client.request('GET', '/v1/models/agent-core')).status, 200)
  assert.equal((await client.request('GET', '/v1/models/gpt')).status, 404)
  assert.equal((await client.request('POST', '/v1/chat/completions', { body: { model, messages: [user('1 + 2?')] } })).status, 200)
  assert.equal((await client.request('POST', '/v1/responses', { body: { model, input: 'again' } })).status, 200)
  assert.equal((await client.request('POST', '/v1/responses', { body: { model, input: 'again', tools: [{}] } })).status, 400)
})

test('OpenAI: an answer that a client has begun is continued, and system messages alone are a question', async (t) => {
  const { service, openai } = await startOpenAi(t, { script: ({ body }) => ({ text: `to ${body.messages.at(-1).content}` }) })
  const assistant = (content: string | null) => ({ role: 'assistant' as const, content })
  const system = (content: string) => ({ role: 'system' as const, content })
  const developer = { role: 'developer' as const, content: 'Title: cats.' }
  const shown = () =>
    service.model.requests
      .at(-1)!
      .body.messages.filter(({ role }: { role: string }) => role !== 'system')
      .map(({ role, content }: { role: string; content: string }) => [role, content])
  const goOn = ['user', 'Continue your last message exactly where it ends, and repeat nothing of it.']
  const cases: [OpenAI.ChatCompletionMessageParam[], string[][]][] = [
    [[assistant('')], [['user', 'Continue.']]],
    [
      [user('A tale?'), assistant('Once upon')],
      [['user', 'A tale?'], ['assistant', 'Once upon'], goOn],
    ],
    [[assistant('Once upon')], [['assistant', 'Once upon'], goOn]],
    [[user('A tale?'), assistant('')], [['user', 'A tale?']]],
    [[user('A tale?'), assistant(null)], [['user', 'A tale?']]],
    [[system('Title: dogs.')], [['user', 'Title: dogs.']]],
    [[system('Be brief.'), developer], [['user', 'Title: cats.']]],
  ]
  for (const [messages, expected] of cases) {
    const { choices } = await openai.chat.completions.create({ model, messages })
    assert.equal(choices[0]?.finish_reason, 'stop')
    assert.deepEqual(shown(), expected)
    const input = messages.map(({ role, content }) => ({ role, content: content ?? '' })) as OpenAI.Responses.ResponseInput
    assert.equal((await openai.responses.create({ model, input })).status, 'completed')
    assert.deepEqual(shown(), expected, 'a response')
  }
  const instructions = JSON.stringify(service.model.requests.at(-1)!.body.messages[0])
  assert.match(instructions, /Be brief\./)
  const call = { id: 'c1', type: 'function' as const, function: { name: 'look', arguments: '{}' } }
  const output = { role: 'tool' as const, tool_call_id: 'c1', content: 'seen' }
  const said = assistant('I look.')
  await openai.chat.completions.create({ model, messages: [user('Look.'), said, { ...assistant(null), tool_calls: [call] }, output] })
  assert.deepEqual(shown(), [
    ['user', 'Look.'],
    ['assistant', 'I look.'],
    ['tool', 'seen'],
  ])
  await openai.chat.completions.create({ model, messages: [{ ...said, tool_calls: [call] }, output] })
  assert.deepEqual(
    shown(),
    [
      ['user', 'Continue.'],
      ['assistant', 'I look.'],
      ['tool', 'seen'],
    ],
    'a history that was cut',
  )
})

test('OpenAI: reasoning, verbosity and store have the effect that they have elsewhere', async (t) => {
  const { service, openai } = await startOpenAi(t)
  const last = () => service.model.requests.at(-1)!.body
  const asked = { model, messages: [user('hello')] }
  const more = { reasoning: { effort: 'high', summary: 'auto' }, verbosity: 'low' as const, store: true, user: { id: 'u' } as never }
  assert.equal((await openai.chat.completions.create({ ...asked, ...more })).choices[0]?.message.content, 'ok')
  assert.equal(last().reasoning_effort, 'high')
  assert.match(last().messages[0].content, /as briefly as you can/)
  await openai.chat.completions.create({
    ...asked,
    reasoning_effort: 'low',
    reasoning: { effort: 'low' },
    verbosity: 'medium',
  } as typeof asked)
  assert.equal(last().reasoning_effort, 'low')
  assert.doesNotMatch(last().messages[0].content, /briefly|full detail/)
  const input = { model, input: 'hello', instructions: 'Speak French.' }
  const response = await openai.responses.create({ ...input, text: { verbosity: 'high' }, reasoning: { effort: 'minimal' } })
  assert.deepEqual([response.text?.verbosity, last().reasoning_effort], ['high', 'minimal'])
  assert.match(last().messages[0].content, /Speak French\.\n\nAnswer in full detail\./)
})

test('OpenAI: unknown parameters are refused with the name of the setting, or ignored where agent.yaml says so', async (t) => {
  const refusing = await startOpenAi(t)
  const foreign = { top_k: 40, min_p: 0.1, chat_template_kwargs: { enable_thinking: false }, seed: 'x', stop: {} }
  const { seed: _, stop: __, ...unknown } = foreign
  const asked = { model, messages: [user('hello')], ...unknown, reasoning: { exclude: true } }
  await assert.rejects(
    refusing.openai.chat.completions.create(asked),
    /top_k: is not known; with `openai.unknown_parameters: ignore` in agent.yaml/,
  )
  await assert.rejects(
    refusing.openai.responses.create({ model, input: 'hello', ...foreign } as never),
    /top_k: is not known; with `openai.unknown/,
  )
  const { service, openai } = await startOpenAi(t, { script: {}, config: { openai: { unknown_parameters: 'ignore' } } })
  assert.equal((await openai.chat.completions.create(asked)).choices[0]?.message.content, 'ok')
  assert.equal(
    ((await openai.responses.create({ model, input: 'hello', ...foreign } as never)) as { output_text: string }).output_text,
    'ok',
  )
  for (const { body } of service.model.requests) for (const name of Object.keys(foreign)) assert.ok(!(name in body), name)
  await assert.rejects(openai.chat.completions.create({ ...asked, n: 2 }), { status: 400, param: 'n' }, 'a known parameter without effect')
})

test('OpenAI: a conversation is compacted, and goes on with the summary, for its caller alone', async (t) => {
  const script = ({ body }: ModelServerRequest) => ({
    text: /You keep the summary/.test(JSON.stringify(body.messages)) ? 'Ann likes blue.' : `shown: ${JSON.stringify(body.messages)}`,
    usage: { input: 50, output: 6 },
  })
  const { service, openai, as } = await startOpenAi(t, { script, config: { memory: {} } })
  const { id } = await openai.responses.create({ model, input: 'I am Ann.' })
  const input = [
    { role: 'user' as const, content: 'I like blue.' },
    { role: 'assistant' as const, content: 'Fine.' },
  ]
  const { output, object, usage } = await openai.responses.compact({ model, input, previous_response_id: id })
  assert.equal(object, 'response.compaction')
  assert.deepEqual(
    output.map(({ type }) => type),
    ['message', 'message', 'compaction'],
  )
  assert.deepEqual(
    output.slice(0, 2).map((item: any) => [item.role, item.content[0].text]),
    [
      ['user', 'I am Ann.'],
      ['user', 'I like blue.'],
    ],
  )
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
  const compaction = output[2] as { encrypted_content: string; id: string }
  assert.doesNotMatch(compaction.encrypted_content, /blue|Ann/)
  const next = [...output, { role: 'user' as const, content: 'Which colour?' }] as any
  const response = await openai.responses.create({ model, input: next })
  assert.match(response.output_text, /Summary of the conversation so far/)
  const { data } = await openai.responses.inputItems.list(response.id)
  assert.ok(data.some((item: any) => item.type === 'compaction' && item.encrypted_content === compaction.encrypted_content))
  assert.ok((await openai.responses.inputTokens.count({ model, input: next })).input_tokens > 20)
  assert.equal((await openai.responses.compact({ model, input: next })).output.at(-1)!.type, 'compaction', 'compacted once more')
  const refused = { status: 400, param: 'input[2].encrypted_content' }
  const strangers = [await as({ sub: 'bob' }), await as({ tenant: 'other' })]
  for (const stranger of strangers) await assert.rejects(stranger.responses.create({ model, input: next }), refused)
  const { encrypted_content: sealed } = compaction
  for (const changed of ['', 'x', `${sealed.slice(0, -6)}AAAAAA`, sealed.slice(0, 20)]) {
    const items = next.map((item: any) => (item.type === 'compaction' ? { ...item, encrypted_content: changed } : item))
    await assert.rejects(openai.responses.create({ model, input: items }), refused, changed)
  }
  await assert.rejects(strangers[0]!.responses.compact({ model, previous_response_id: id }), { status: 404 })
  await assert.rejects(openai.responses.compact({ model }), { status: 400 })
  await assert.rejects(openai.responses.compact({ model: 'other', input: 'x' }), { status: 404 })
  await assert.rejects(openai.responses.compact({ model, input: 'x', instructions: 'Short.' }), { param: 'instructions' })
  await assert.rejects(openai.conversations.create({ items: [compaction] }), { status: 400 })
  await service.restart()
  const again = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key, maxRetries: 0 })
  assert.equal((await again.responses.create({ model, input: next })).status, 'completed', 'the key is kept')
})

test('OpenAI: the input tokens of a response are counted with its conversation, without a run', async (t) => {
  const { service, openai, as } = await startOpenAi(t)
  const count = async (more: object = {}) => {
    const { object, input_tokens: tokens } = await openai.responses.inputTokens.count({ model, input: 'Which colour?', ...more })
    assert.equal(object, 'response.input_tokens')
    return tokens
  }
  const least = await count()
  assert.ok(least > 3 && least < 500, String(least))
  assert.equal(await count({ instructions: 'x'.repeat(400) }), least + 100)
  assert.ok((await count({ tools: [{ type: 'function', name: 'a', parameters: { type: 'object' }, strict: false }] })) > least)
  assert.ok((await count({ input: null, model: null })) < least, 'every field is optional')
  assert.equal(service.model.requests.length, 0)
  const { id } = await openai.responses.create({ model, input: 'y'.repeat(4000) })
  const after = await count({ previous_response_id: id })
  assert.ok(after >= least + 1000 && after < least + 1100, String(after))
  const conversation = await openai.conversations.create({ items: [{ type: 'message', role: 'user', content: 'z'.repeat(400) }] })
  const within = await count({ conversation: conversation.id })
  assert.ok(within >= least + 100 && within < least + 130, String(within))
  assert.equal(await count({ input: [{ type: 'function_call_output', call_id: 'call_a', output: 'o'.repeat(52) }] }), 13)
  assert.equal(service.model.requests.length, 1)
  const bob = await as({ sub: 'bob' })
  await assert.rejects(bob.responses.inputTokens.count({ model, input: 'x', previous_response_id: id }), { param: 'previous_response_id' })
  await assert.rejects(bob.responses.inputTokens.count({ model, input: 'x', conversation: conversation.id }), { status: 404 })
  await assert.rejects(openai.responses.inputTokens.count({ model: 'other', input: 'x' }), { status: 404 })
  await assert.rejects(openai.responses.inputTokens.count({ model, input: 'x', truncation: 'disabled' }), { param: 'truncation' })
})
