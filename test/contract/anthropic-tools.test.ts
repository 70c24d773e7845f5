import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { makeImage } from '../fixtures/make-images.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const base = { model: 'agent-core', max_tokens: 1000 }
const question = 'The weather?'
const input_schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const weather = { name: 'weather', description: 'The weather.', input_schema }
const look = fakeTool('look', async () => 'seen')

type Sent = { role: string; content: string; tool_calls?: unknown[] }

/** Calls `weather` and a tool of the agent once, then answers with the results of the turn and what came behind them. */
function script({ body }: ModelServerRequest) {
  const messages: Sent[] = body.messages
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  const behind = messages.slice(messages.findLastIndex(({ role }) => role === 'tool') + 1).map(({ content }) => content)
  if (results.length > 0) return { text: ['It is: ', [...results, ...behind].join(', ')], usage: { input: 20, output: 7 } }
  const calls = [...callOf('weather', { city: 'Basel' }).calls, ...callOf('look').calls]
  return { text: 'I look.', calls, usage: { input: 10, output: 5 } }
}

async function start(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(t, { script, tools: [look], ...options })
  const as = async (sub?: string) =>
    new Anthropic({ baseURL: service.url, apiKey: (await service.key(sub === undefined ? {} : { sub })).key, maxRetries: 0 })
  return { service, anthropic: await as(), as }
}

type Results = Anthropic.ToolResultBlockParam['content']

/** The messages behind a message with calls, each call answered. */
function answered({ content }: Pick<Anthropic.Message, 'content'>, output: Results, ...beside: Anthropic.ContentBlockParam[]) {
  const uses = content.filter((block) => block.type === 'tool_use')
  const results = uses.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: output }))
  return [
    { role: 'user' as const, content: question },
    { role: 'assistant' as const, content },
    { role: 'user' as const, content: [...results, ...beside] },
  ]
}

const textOf = ({ content }: Pick<Anthropic.Message, 'content'>) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

test('Anthropic tools: the tool runner runs the tools of the client, and the run goes on with their outputs', async (t) => {
  const { service, anthropic } = await start(t)
  const cities: string[] = []
  const run = betaTool({
    ...{ name: 'weather', description: 'The weather.', inputSchema: input_schema as never },
    run: async (input) => {
      const { city } = input as { city: string }
      cities.push(city)
      return `sunny in ${city}`
    },
  })
  const asked = { ...base, messages: [{ role: 'user' as const, content: question }], tools: [run] }
  const message = await anthropic.beta.messages.toolRunner(asked)
  assert.equal(textOf(message as never), 'It is: sunny in Basel, seen')
  const streamed = await anthropic.beta.messages.toolRunner({ ...asked, stream: true })
  assert.equal(textOf(streamed as never), 'It is: sunny in Basel, seen')
  assert.deepEqual(cities, ['Basel', 'Basel'])
  assert.equal(service.model.requests.length, 4, 'a run goes on, no other begins')
})

test('Anthropic tools: a message ends with calls, the next one has the rest of the same run', async (t) => {
  const { service, anthropic } = await start(t)
  const create = anthropic.messages.create({ ...base, messages: [{ role: 'user', content: question }], tools: [weather] })
  const { data: first, response } = await create.withResponse()
  const [text, use] = first.content
  assert.ok(text?.type === 'text' && use?.type === 'tool_use')
  assert.deepEqual([first.stop_reason, text.text, use.name, use.input], ['tool_use', 'I look.', 'weather', { city: 'Basel' }])
  assert.match(use.id, /^toolu_[0-9a-f-]{36}$/)
  const requestId = response.headers.get('request-id')!
  const next = { ...base, messages: answered(first, 'sunny'), tools: [weather] }
  const { data: second, response: rest } = await anthropic.messages.create(next).withResponse()
  assert.equal(textOf(second), 'It is: sunny, seen')
  assert.deepEqual([first.id, second.id], [`msg_${requestId}`, `msg_${requestId}-1`])
  assert.deepEqual([first.usage.input_tokens, second.usage.input_tokens], [10, 20], 'each message has its own usage')
  assert.deepEqual([rest.headers.get('request-id'), rest.headers.get('session-id')], [requestId, response.headers.get('session-id')])
  const again = await anthropic.messages.create(next)
  assert.deepEqual([again.id, again.content], [second.id, second.content], 'the same outputs again')
  const run = await service.client.run(requestId)
  const steps = run.body.outcome.intermediate_steps.map(({ tool, output }: { tool: string; output: unknown }) => [tool, output])
  assert.deepEqual(Object.fromEntries(steps), { look: 'seen', weather: 'sunny' })
})

test('Anthropic tools: a stream ends with the calls, and the stream behind it begins with the answer', async (t) => {
  const { anthropic } = await start(t)
  const first = await anthropic.messages
    .stream({ ...base, messages: [{ role: 'user', content: question }], tools: [weather] })
    .finalMessage()
  assert.deepEqual(
    first.content.map((block) => (block.type === 'tool_use' ? block.input : block.type)),
    ['text', { city: 'Basel' }],
  )
  const second = await anthropic.messages.stream({ ...base, messages: answered(first, 'rain'), tools: [weather] }).finalMessage()
  assert.equal(textOf(second), 'It is: rain, seen')
  assert.deepEqual(
    [first.stop_reason, second.stop_reason, first.usage.output_tokens, second.usage.output_tokens],
    ['tool_use', 'end_turn', 5, 7],
  )
})

test('Anthropic tools: a text beside the outputs reaches the run once, however often the request is repeated', async (t) => {
  const { service, anthropic } = await start(t)
  const first = await anthropic.messages.create({ ...base, messages: [{ role: 'user', content: question }], tools: [weather] })
  const messages = answered(first, 'snow', { type: 'text', text: 'In degrees, please.' })
  const second = await anthropic.messages.create({ ...base, messages, tools: [weather] })
  assert.equal(textOf(second), 'It is: snow, seen, In degrees, please.')
  const again = await anthropic.messages.create({ ...base, messages, tools: [weather] })
  assert.deepEqual([again.id, textOf(again)], [second.id, textOf(second)])
  assert.equal(service.model.requests.length, 2)
})

test('Anthropic tools: an output that is an error fails its call', async (t) => {
  const { service, anthropic } = await start(t)
  const create = anthropic.messages.create({ ...base, messages: [{ role: 'user', content: question }], tools: [weather] })
  const { data: first, response } = await create.withResponse()
  const messages = answered(first, 'no signal')
  for (const block of messages[2]!.content) Object.assign(block as object, { is_error: true })
  assert.equal(textOf(await anthropic.messages.create({ ...base, messages, tools: [weather] })), 'It is: no signal, seen')
  const { body } = await service.client.run(response.headers.get('request-id')!)
  const step = body.outcome.intermediate_steps.find(({ tool }: { tool: string }) => tool === 'weather')
  assert.deepEqual([step.status, step.output], ['error', { error: 'no signal' }])
})

test('Anthropic tools: outputs that no run waits for, and outputs with pictures, are history', async (t) => {
  const { service, anthropic, as } = await start(t)
  const first = await anthropic.messages.create({ ...base, messages: [{ role: 'user', content: question }], tools: [weather] })
  const other = await (await as('bob')).messages.create({ ...base, messages: answered(first, 'fog'), tools: [weather] })
  assert.equal(textOf(other), 'It is: fog', 'the outputs of another caller resume nothing')
  const data = (await makeImage('png')).toString('base64')
  const image = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data } }
  await anthropic.messages.create({ ...base, messages: answered(first, [image]), tools: [weather] })
  const shown: Sent[] = service.model.requests.at(-1)!.body.messages.filter(({ role }: Sent) => role !== 'system')
  assert.deepEqual(
    shown.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'user'],
  )
  assert.equal(shown[2]!.content, '[image]')
  assert.match(JSON.stringify(shown[3]), /data:image/)
  const use = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'toolu_1' }
  const asked = { role: 'user', content: question }
  for (const [broken, param] of [
    [[asked, { role: 'assistant', content: [use] }], 'messages[1].content[0].id'],
    [[asked, { role: 'assistant', content: [use] }, asked], 'messages[1].content[0].id'],
    [[{ role: 'user', content: [result] }], 'messages[0].content[0].tool_use_id'],
    [
      [asked, { role: 'assistant', content: [use] }, { role: 'user', content: [{ ...result, content: [{ type: 'audio' }] }] }],
      'messages[2].content[0].content[0].type',
    ],
    [[asked, { role: 'assistant', content: [use] }, { role: 'user', content: [result, result] }], 'messages[2].content[1].tool_use_id'],
  ] as const) {
    const refused = anthropic.messages.create({ ...base, messages: broken as never, tools: [weather] })
    await assert.rejects(refused, (error: Error) => error instanceof Anthropic.BadRequestError && error.message.includes(param), param)
  }
})

test('Anthropic tools: a tool that a client has found in the meantime is called, by a run of its own', async (t) => {
  const search = { ...weather, name: 'search', defer_loading: false }
  const found = ({ body }: ModelServerRequest) =>
    body.tools.some((tool: { function: { name: string } }) => tool.function.name === 'weather')
      ? { text: 'It rains.', calls: callOf('weather', { city: 'Bern' }).calls }
      : { calls: callOf('search', { city: 'Bern' }).calls }
  const { service, anthropic } = await start(t, { script: found })
  const first = await anthropic.messages.create({ ...base, messages: [{ role: 'user', content: question }], tools: [search] })
  const messages = answered(first, [{ type: 'tool_reference', tool_name: 'weather' }])
  const second = await anthropic.messages.create({ ...base, messages, tools: [search, { ...weather, defer_loading: true }] })
  assert.deepEqual([second.stop_reason, second.content.at(-1)?.type === 'tool_use' && second.id.endsWith('-1')], ['tool_use', false])
  const shown: Sent[] = service.model.requests.at(-1)!.body.messages
  assert.match(shown.find(({ role }) => role === 'tool')!.content, /weather/)
  const third = await anthropic.messages.create({ ...base, messages: answered(second, 'rain'), tools: [search, weather] })
  assert.equal(third.id, `${second.id}-1`, 'the same tools, or fewer, go on with the run')
})

test('Anthropic tools: the choice of tools and every parameter reach the model', async (t) => {
  const { service, anthropic } = await start(t, { script: () => ({ calls: callOf('weather', { city: 'Bern' }).calls }) })
  const messages = [{ role: 'user' as const, content: 'Hello.' }]
  const forced = await anthropic.messages.create({
    ...{ ...base, messages, tools: [weather], tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true } },
    ...{ temperature: 0.5, top_p: 0.9, stop_sequences: ['END'], system: [{ type: 'text', text: 'Be brief.' }] },
    ...{ output_config: { effort: 'low' }, metadata: { user_id: 'u' }, service_tier: 'auto' },
  })
  assert.equal(forced.stop_reason, 'tool_use')
  const { body } = service.model.requests.at(-1)!
  const { tool_choice, parallel_tool_calls, temperature, top_p, stop, max_tokens, reasoning_effort } = body
  assert.deepEqual(
    { tool_choice, parallel_tool_calls, temperature, top_p, stop, max_tokens, reasoning_effort },
    {
      ...{ tool_choice: { type: 'function', function: { name: 'weather' } }, parallel_tool_calls: false, temperature: 0.5, top_p: 0.9 },
      ...{ stop: ['END'], max_tokens: 1000, reasoning_effort: 'low' },
    },
  )
  assert.match(JSON.stringify(body.messages), /Be brief\./)
  const refused: [object, string][] = [
    [{ tool_choice: { type: 'any' } }, 'tool_choice'],
    [{ tools: [weather], tool_choice: { type: 'tool', name: 'other' } }, 'tool_choice.name'],
    [{ tools: [{ ...weather, name: 'look' }] }, 'tools[0].name'],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ name: 'x' }] }, 'tools[0].input_schema'],
    [{ tools: [{ ...weather, input_schema: { type: 'nothing' } }] }, 'tools[0].input_schema.type'],
    [{ top_k: 3 }, 'top_k'],
    [{ mcp_servers: [{}] }, 'mcp_servers'],
    [{ temperature: 1.5 }, 'temperature'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ thinking: { type: 'enabled', budget: 3 } }, 'thinking.budget'],
    [{ anything: 1 }, 'anything'],
  ]
  for (const [more, param] of refused) {
    const create = anthropic.messages.create({ ...base, messages, ...more })
    await assert.rejects(create, (error: Error) => error instanceof Anthropic.BadRequestError && error.message.includes(param), param)
  }
})

test('Anthropic tools: a run waits a limited time', async (t) => {
  const { service, anthropic } = await start(t, { config: { limits: { client_tool_wait: 1 } } })
  const create = anthropic.messages.create({ ...base, messages: [{ role: 'user', content: question }], tools: [weather] })
  const { data: first, response } = await create.withResponse()
  const requestId = response.headers.get('request-id')!
  await until(
    () => service.client.run(requestId),
    ({ body }) => body.status === 'cancelled',
  )
  const late = await anthropic.messages.create({ ...base, messages: answered(first, 'late'), tools: [weather] })
  assert.equal(textOf(late), 'It is: late', 'an output that comes too late is history')
})
