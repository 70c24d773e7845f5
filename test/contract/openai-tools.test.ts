import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import OpenAI from 'openai'
import { decide, sending, sendTo } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const model = 'agent-core'
const user = (content: string) => ({ role: 'user' as const, content })
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const weather = { type: 'function' as const, function: { name: 'weather', description: 'The weather.', parameters } }
const look = fakeTool('look', async () => 'seen')

type Sent = { role: string; content: string; tool_calls?: unknown[]; tool_call_id?: string }

/** Calls `weather` and a tool of the agent once, then answers with the results of the turn. */
function script({ body }: ModelServerRequest) {
  const messages: Sent[] = body.messages
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
  const results = turn.filter(({ role }) => role === 'tool').map(({ content }) => content)
  if (results.length > 0 || !/weather/i.test(turn[0]!.content)) {
    return { text: ['It is: ', results.join(', ')], usage: { input: 20, output: 7 } }
  }
  return {
    text: 'I look.',
    calls: [...callOf('weather', { city: 'Basel' }).calls, ...callOf('look').calls],
    usage: { input: 10, output: 5 },
  }
}

async function start(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(t, { script, tools: [look], ...options })
  const as = async (sub?: string) =>
    new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key(sub === undefined ? {} : { sub })).key, maxRetries: 0 })
  return { service, openai: await as(), as }
}

/** The messages behind a completion with calls, each call answered. */
function answered(question: string, { choices }: OpenAI.ChatCompletion, output: string) {
  const { message } = choices[0]!
  const outputs = message.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: output }))
  return [user(question), message, ...outputs]
}

const shown = (service: { model: { requests: ModelServerRequest[] } }, index: number): Sent[] =>
  service.model.requests.at(index)!.body.messages.filter(({ role }: Sent) => role !== 'system')

test('OpenAI tools: runTools runs the tools of the client, and the run goes on with their outputs', async (t) => {
  const { service, openai } = await start(t)
  const cities: unknown[] = []
  const run = {
    ...weather,
    function: {
      ...weather.function,
      parse: (text: string) => JSON.parse(text) as { city: string },
      function: async ({ city }: { city: string }) => (cities.push(city), `sunny in ${city}`),
    },
  }
  const runner = openai.chat.completions.runTools({ model, messages: [user('The weather?')], tools: [run] })
  assert.equal(await runner.finalContent(), 'It is: sunny in Basel, seen')
  const streamed = openai.chat.completions.runTools({ stream: true, model, messages: [user('The weather?')], tools: [run] })
  assert.equal(await streamed.finalContent(), 'It is: sunny in Basel, seen')
  assert.deepEqual(cities, ['Basel', 'Basel'])
  assert.equal(service.model.requests.length, 4, 'a run goes on, no other begins')
})

test('OpenAI tools: a completion ends with calls, the next one has the rest of the same run', async (t) => {
  const { service, openai } = await start(t)
  const create = openai.chat.completions.create({ model, messages: [user('The weather?')], tools: [weather] })
  const { data: first, response } = await create.withResponse()
  const [choice] = first.choices
  const [call] = choice!.message.tool_calls!
  assert.deepEqual(
    { finish_reason: choice!.finish_reason, content: choice!.message.content, function: call?.type === 'function' && call.function },
    { finish_reason: 'tool_calls', content: 'I look.', function: { name: 'weather', arguments: '{"city":"Basel"}' } },
  )
  assert.match(call!.id, /^call_[0-9a-f-]{36}$/)
  const requestId = response.headers.get('request-id')!
  const next = { model, messages: answered('The weather?', first, 'sunny'), tools: [weather] }
  const { data: second, response: rest } = await openai.chat.completions.create(next).withResponse()
  assert.equal(second.choices[0]?.message.content, 'It is: sunny, seen')
  assert.deepEqual([first.id, second.id], [`chatcmpl-${requestId}`, `chatcmpl-${requestId}-1`])
  assert.deepEqual([first.usage?.prompt_tokens, second.usage?.prompt_tokens], [10, 20], 'each completion has its own usage')
  assert.deepEqual([rest.headers.get('request-id'), rest.headers.get('session-id')], [requestId, response.headers.get('session-id')])
  const again = await openai.chat.completions.create(next)
  assert.deepEqual([again.id, again.choices], [second.id, second.choices], 'the same outputs again')
  const run = await service.client.run(requestId)
  const steps = run.body.outcome.intermediate_steps.map(({ tool, output }: { tool: string; output: unknown }) => [tool, output])
  assert.deepEqual(Object.fromEntries(steps), { look: 'seen', weather: 'sunny' })
})

test('OpenAI tools: a stream ends with the calls in deltas, and the stream behind it begins with the answer', async (t) => {
  const { openai } = await start(t)
  const asked = { model, tools: [weather], stream_options: { include_usage: true } }
  const stream = openai.chat.completions.stream({ ...asked, messages: [user('The weather?')] })
  const first = await stream.finalChatCompletion()
  const { message, finish_reason } = first.choices[0]!
  assert.deepEqual(
    [finish_reason, message.content, message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments)],
    ['tool_calls', 'I look.', ['{"city":"Basel"}']],
  )
  const rest = openai.chat.completions.stream({ ...asked, messages: answered('The weather?', first, 'rain') })
  const second = await rest.finalChatCompletion()
  assert.equal(second.choices[0]?.message.content, 'It is: rain, seen')
  assert.deepEqual([first.usage?.completion_tokens, second.usage?.completion_tokens], [5, 7])
})

test('OpenAI tools: outputs that no run waits for are history, valid for the model', async (t) => {
  const { service, openai, as } = await start(t)
  const first = await openai.chat.completions.create({ model, messages: [user('The weather?')], tools: [weather] })
  const messages = answered('The weather?', first, 'fog')
  const bob = await as('bob')
  const other = await bob.chat.completions.create({ model, messages, tools: [weather] })
  assert.equal(other.choices[0]?.message.content, 'It is: fog', 'the outputs of another caller resume nothing')
  const [, calls, result] = shown(service, -1)
  assert.deepEqual([calls!.tool_calls?.length, result!.role, result!.content], [1, 'tool', 'fog'])
  const foreign = { id: 'toolu_1 with blanks', type: 'function' as const, function: { name: 'weather', arguments: '{}' } }
  const earlier = [user('The weather?'), { role: 'assistant' as const, content: null, tool_calls: [foreign] }]
  const output = { role: 'tool' as const, tool_call_id: foreign.id, content: [{ type: 'text' as const, text: 'snow' }] }
  const said = { role: 'assistant' as const, content: 'It snows.' }
  const headers = { 'session-id': 's1' }
  await openai.chat.completions.create({ model, messages: [...earlier, output, said, user('Thanks.')] }, { headers })
  assert.deepEqual(
    shown(service, -1).map(({ role, content }) => [role, content]),
    [
      ['user', 'The weather?'],
      ['assistant', null],
      ['tool', 'snow'],
      ['assistant', 'It snows.'],
      ['user', 'Thanks.'],
    ],
  )
  const session = await service.client.session('s1')
  assert.deepEqual(
    session.body.messages.map(({ role, content }: Sent) => [role, content]),
    [
      ['human', 'The weather?'],
      ['ai', 'It snows.'],
      ['human', 'Thanks.'],
      ['ai', 'It is: '],
    ],
  )
  for (const [broken, param] of [
    [[...earlier, user('x')], 'messages[1].tool_calls'],
    [[user('x'), output], 'messages[1].role'],
    [[...earlier, { ...output, tool_call_id: 'no' }], 'messages[2].tool_call_id'],
  ] as const) {
    await assert.rejects(openai.chat.completions.create({ model, messages: [...broken] }), { status: 400, param })
  }
})

test('OpenAI tools: the choice of tools and every sampling parameter reach the model', async (t) => {
  const { service, openai } = await start(t, { script: () => ({ calls: callOf('weather', { city: 'Bern' }).calls }) })
  const messages = [user('Hello.')]
  const sampling = {
    temperature: 0.5,
    top_p: 0.9,
    presence_penalty: 1,
    frequency_penalty: -1,
    seed: 7,
    stop: 'END',
    max_completion_tokens: 99,
  }
  const named = { type: 'function' as const, function: { name: 'weather' } }
  const forced = await openai.chat.completions.create({
    ...{ model, messages, tools: [weather], tool_choice: named, parallel_tool_calls: false, reasoning_effort: 'low' as const },
    ...{ ...sampling, metadata: { trace: 'x' } },
  })
  assert.equal(forced.choices[0]?.finish_reason, 'tool_calls')
  assert.deepEqual((forced as { metadata?: unknown }).metadata, { trace: 'x' })
  const { tools, ...sent } = service.model.requests.at(-1)!.body
  assert.deepEqual(
    tools.map((tool: typeof weather) => tool.function.name),
    ['weather'],
    'a demand leaves the model no other tool',
  )
  for (const [field, value] of Object.entries({ ...sampling, stop: ['END'], max_completion_tokens: undefined, max_tokens: 99 })) {
    assert.deepEqual(sent[field], value, field)
  }
  assert.deepEqual([sent.tool_choice, sent.parallel_tool_calls, sent.reasoning_effort], [named, false, 'low'])
  const offered = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
    await openai.chat.completions.create({ model, messages, tools: [weather], tool_choice }).catch(() => undefined)
    const { body } = service.model.requests.findLast(({ body: { messages: list } }) => list.at(-1).role === 'user')!
    return [body.tools.map((tool: typeof weather) => tool.function.name).includes('weather'), body.tool_choice]
  }
  assert.deepEqual(await offered('auto'), [true, undefined])
  assert.deepEqual(await offered('none'), [false, undefined])
  assert.deepEqual(await offered('required'), [true, 'required'])
  const refused: [object, string][] = [
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tools: [weather], tool_choice: { type: 'function', function: { name: 'other' } } }, 'tool_choice.function.name'],
    [{ tools: [{ ...weather, function: { ...weather.function, name: 'look' } }] }, 'tools[0].function.name'],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0].type'],
    [{ tools: [{ ...weather, function: { name: 'x', parameters: { type: 'nothing' } } }] }, 'tools[0].function.parameters.type'],
    [{ logprobs: true }, 'logprobs'],
    [{ logit_bias: { 1: 2 } }, 'logit_bias'],
    [{ audio: {} }, 'audio'],
    [{ service_tier: 'flex' }, 'service_tier'],
    [{ temperature: 3 }, 'temperature'],
    [{ top_k: 3 }, 'top_k'],
  ]
  for (const [more, param] of refused) {
    await assert.rejects(openai.chat.completions.create({ model, messages, ...more }), { status: 400, param }, param)
  }
})

test('OpenAI tools: every open call needs its output; an approval of the same turn is a text, and the rest comes after it', async (t) => {
  const { tool } = sending()
  const both = { calls: [...callOf('weather', { city: 'A' }).calls, ...callOf('weather', { city: 'B' }).calls, ...sendTo('Bob').calls] }
  const { service, openai } = await start(t, { tools: [tool], script: [both, { text: 'Done.' }] })
  const create = openai.chat.completions.create({ model, messages: [user('Go.')], tools: [weather] })
  const { data: first, response } = await create.withResponse()
  const messages = answered('Go.', first, 'ok')
  await assert.rejects(openai.chat.completions.create({ model, messages: messages.slice(0, -1), tools: [weather] }), {
    status: 400,
    param: 'messages[1].tool_calls',
  })
  const second = await openai.chat.completions.create({ model, messages, tools: [weather] })
  const { finish_reason, message } = second.choices[0]!
  assert.equal(finish_reason, 'stop')
  assert.match(message.content ?? '', /^A call of send waits for the approval/)
  const { approval_required: waiting } = second as unknown as { approval_required: { calls: { tool_call_id: string }[] } }
  const requestId = response.headers.get('request-id')!
  await decide(service.client, requestId, waiting.calls[0]!.tool_call_id)
  await until(
    () => service.client.run(requestId),
    ({ body }) => body.status === 'success',
  )
  const third = await openai.chat.completions.create({ model, messages, tools: [weather] })
  assert.equal(third.choices[0]?.message.content, 'Done.')
})

test('OpenAI tools: a run waits a limited time', async (t) => {
  const { service, openai } = await start(t, { config: { limits: { client_tool_wait: 1 } } })
  const create = openai.chat.completions.create({ model, messages: [user('The weather?')], tools: [weather] })
  const { data: first, response } = await create.withResponse()
  const requestId = response.headers.get('request-id')!
  await until(
    () => service.client.run(requestId),
    ({ body }) => body.status === 'cancelled',
  )
  const late = await openai.chat.completions.create({ model, messages: answered('The weather?', first, 'late'), tools: [weather] })
  assert.equal(late.choices[0]?.message.content, 'It is: late', 'an output that comes too late is history')
  assert.notEqual(late.id, `chatcmpl-${requestId}-1`)
})

test('OpenAI tools: forced calls that nobody answers block nobody: the oldest wait is ended, and its output is history', async (t) => {
  const { service, openai, as } = await start(t, { config: { limits: { max_client_tool_waits: 3 } } })
  const named = { type: 'function' as const, function: { name: 'weather' } }
  const asked = { model, messages: [user('The weather?')], tools: [weather], tool_choice: named }
  const ids: string[] = []
  const completions: OpenAI.ChatCompletion[] = []
  for (let n = 0; n < 10; n++) {
    const { data, response } = await openai.chat.completions.create(asked).withResponse()
    ids.push(response.headers.get('request-id')!)
    completions.push(data)
  }
  const response = await openai.responses.create({
    model,
    input: 'The weather?',
    tools: [{ type: 'function', strict: false, ...weather.function }],
  })
  assert.equal(response.output.at(-1)?.type, 'function_call', 'responses count too')
  const states = await Promise.all(ids.map(async (id) => (await service.client.run(id)).body.status))
  assert.deepEqual(states, [...Array<string>(8).fill('cancelled'), 'interrupted', 'interrupted'])
  const together = await Promise.all(Array.from({ length: 8 }, () => openai.chat.completions.create(asked)))
  assert.ok(together.every(({ choices }) => choices[0]?.finish_reason === 'tool_calls'))
  const late = await openai.chat.completions.create({
    ...asked,
    tool_choice: 'auto',
    messages: answered('The weather?', completions[0]!, 'fog'),
  })
  assert.equal(late.choices[0]?.message.content, 'It is: fog')
  const last = answered('The weather?', together.at(-1)!, 'sun')
  assert.match((await openai.chat.completions.create({ ...asked, messages: last })).choices[0]?.message.content ?? '', /^It is: sun/)
  assert.equal((await (await as('bob')).chat.completions.create(asked)).choices[0]?.finish_reason, 'tool_calls')
})
