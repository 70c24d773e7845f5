import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { startService, type TestService, type Who } from '../fixtures/service.ts'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { fakeTool } from '../fixtures/tools.ts'

const model = 'agent-core'

let service: TestService
let openai: OpenAI
const ends: (() => unknown)[] = []

const weather = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}

/** The model of these tests answers by keywords of the question. */
function script({ body }: ModelServerRequest): ModelAnswer {
  const last = body.messages.at(-1)
  if (last.role === 'tool') return { text: `The tool says ${last.content}.`, usage: { input: 20, output: 7 } }
  const question = String(last.content)
  if (body.response_format) return { text: JSON.stringify(body.messages).includes('never') ? 'none' : '{"name":"Ann"}' }
  if (question.includes('weather')) {
    return { text: 'Let me look.', calls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}' }], usage: { input: 10, output: 5 } }
  }
  if (question.includes('add'))
    return { text: 'Let me add.', calls: [{ name: 'add', arguments: '{}' }], usage: { input: 10, output: 5, cached: 4 } }
  if (question.includes('think')) return { reasoning: ['Hm', '.'], text: 'Done.' }
  if (question.includes('slow')) return { text: ['a', 'b', 'c'], pauseMs: 40 }
  if (question.includes('hang')) return { text: ['a', 'b'], silentAfter: 2 }
  const users = body.messages.filter(({ role }: { role: string }) => role === 'user').length
  return { text: [`Answer `, `${users}.`] }
}

before(async () => {
  service = await startService(
    { after: (end: () => unknown) => void ends.push(end) },
    {
      script,
      tools: [fakeTool('add', async () => ({ sum: 3 }))],
    },
  )
  openai = await as()
})
after(async () => {
  for (const end of ends) await end()
})

async function as(who?: Who): Promise<OpenAI> {
  return new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key(who)).key, maxRetries: 0 })
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const event of events) list.push(event)
  return list
}

test('a response continues the conversation of an earlier one, and branches it', async () => {
  const first = await openai.responses.create({ model, input: 'one', instructions: 'Be brief.' })
  const second = await openai.responses.create({ model, input: 'two', previous_response_id: first.id })
  assert.deepEqual([first.output_text, second.output_text, second.previous_response_id], ['Answer 1.', 'Answer 2.', first.id])
  const system = service.model.requests.slice(-2).map(({ body }) => body.messages[0].content.includes('Be brief.'))
  assert.deepEqual(system, [true, false], 'instructions are for one response')
  const branches = await Promise.all([
    openai.responses.create({ model, input: 'three', previous_response_id: first.id }),
    openai.responses.create({ model, input: 'three', previous_response_id: second.id }),
    openai.responses.create({ model, input: 'four', previous_response_id: second.id }),
  ])
  assert.deepEqual(
    branches.map(({ output_text: text }) => text),
    ['Answer 2.', 'Answer 3.', 'Answer 3.'],
  )
})

test('a response is read, its input listed, and deleted', async () => {
  const response = await openai.responses.create({ model, input: [{ role: 'user', content: 'one' }], metadata: { team: 'blue' } })
  const read = await openai.responses.retrieve(response.id)
  assert.deepEqual({ ...read, completed_at: 0 }, { ...response, completed_at: 0 })
  const items = await all(await openai.responses.inputItems.list(response.id))
  assert.deepEqual(
    items.map((item) => item.type === 'message' && item.content),
    [[{ type: 'input_text', text: 'one' }]],
  )
  const ben = await as({ sub: 'ben' })
  await assert.rejects(ben.responses.retrieve(response.id), { status: 404 })
  await assert.rejects(ben.responses.create({ model, input: 'x', previous_response_id: response.id }), {
    status: 404,
    code: 'previous_response_not_found',
    param: 'previous_response_id',
  })
  await openai.responses.delete(response.id)
  await assert.rejects(openai.responses.retrieve(response.id), { status: 404 })
})

test('a response that is not stored is in no list, and is found by its request id alone', async () => {
  const client = await service.as({ sub: 'una' })
  const una = await as({ sub: 'una' })
  const hidden = await una.responses.create({ model, input: 'hidden', store: false }, { headers: { 'request-id': 'hidden' } })
  assert.ok('store' in hidden && hidden.store === false)
  const lists = async () => {
    const [sessions, found, runs] = await Promise.all(
      ['sessions', 'sessions?q=hidden', 'runs'].map(async (list) => (await client.request('GET', `/core/v1/${list}`)).body),
    )
    return [sessions.count, found.count, runs.runs.map((run: { request_id: string }) => run.request_id)]
  }
  assert.deepEqual(await lists(), [0, 0, []])
  await assert.rejects(una.responses.retrieve(hidden.id), { status: 404 })
  await assert.rejects(una.responses.create({ model, input: 'x', previous_response_id: hidden.id }), { status: 404 })
  const reference = { type: 'item_reference' as const, id: hidden.output[0]!.id! }
  await assert.rejects(una.responses.create({ model, input: [reference, { role: 'user', content: 'x' }] }), { status: 404 })
  for (const [method, part] of [
    ['GET', ''],
    ['GET', '/stream'],
    ['GET', '/trace'],
    ['DELETE', ''],
  ] as const)
    assert.equal((await client.request(method, `/core/v1/runs/hidden${part}`)).status, 404, method + part)
  const again = await una.responses.create({ model, input: 'hidden', store: false }, { headers: { 'request-id': 'hidden' } })
  assert.deepEqual([again.id, again.output_text], [hidden.id, hidden.output_text])

  const kept = await una.responses.create({ model, input: 'kept' })
  const branch = await una.responses.create({ model, input: 'two', previous_response_id: kept.id, store: false })
  const next = await una.responses.create({ model, input: 'three', previous_response_id: kept.id })
  assert.deepEqual([branch.output_text, next.output_text], ['Answer 2.', 'Answer 2.'])
  const { id } = await una.conversations.create({})
  await una.responses.create({ model, input: 'four', conversation: id, store: false })
  assert.equal((await all(await una.conversations.items.list(id))).length, 2)
  const [sessions, , runs] = await lists()
  assert.deepEqual([sessions, runs.length], [2, 2])
})

test('while a response that is not stored runs, its caller follows and cancels its run', async () => {
  const client = await service.as({ sub: 'uli' })
  const uli = await as({ sub: 'uli' })
  const asked = { model, input: 'hang', store: false, stream: true } as const
  const stream = await uli.responses.create(asked, { headers: { 'request-id': 'open' } })
  const reading = all(stream)
  assert.equal((await client.request('GET', '/core/v1/runs/open')).body.status, 'running')
  assert.equal((await client.request('GET', '/core/v1/sessions')).body.count, 0)
  assert.equal((await client.request('DELETE', '/core/v1/runs/open')).body.status, 'cancelled')
  await reading
  assert.equal((await client.request('GET', '/core/v1/runs/open')).status, 404)
})

test('function tools: the client runs the calls, and the next response goes on', async () => {
  const asked = await openai.responses.create({ model, input: 'weather?', tools: [weather] })
  const [message, call] = asked.output
  assert.ok(message?.type === 'message' && call?.type === 'function_call')
  assert.deepEqual(
    { status: asked.status, name: call.name, arguments: call.arguments },
    { status: 'completed', name: 'get_weather', arguments: '{"city":"Oslo"}' },
  )
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: '3 degrees' }
  const answer = await openai.responses.create({
    model,
    input: [output],
    tools: [weather],
    previous_response_id: asked.id,
    metadata: { turn: '2' },
  })
  assert.deepEqual([answer.output_text, answer.id, answer.metadata], ['The tool says 3 degrees.', `${asked.id}~2`, { turn: '2' }])
  assert.deepEqual([asked.usage?.input_tokens, answer.usage?.input_tokens], [10, 20])
  assert.deepEqual({ ...(await openai.responses.retrieve(asked.id)) }, { ...asked })
  assert.deepEqual({ ...(await openai.responses.retrieve(answer.id)), completed_at: 0 }, { ...answer, completed_at: 0 })
  const events = await all(await openai.responses.retrieve(answer.id, { stream: true }))
  assert.equal(events.at(-1)?.type, 'response.completed')
  const next = await openai.responses.create({ model, input: 'thanks', previous_response_id: answer.id })
  assert.equal(next.output_text, 'Answer 2.')
})

test('a stream is read again from any event, with the same numbers', async () => {
  const events = await all(await openai.responses.create({ model, input: 'add', stream: true }))
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  )
  const created = events[0]!
  assert.ok(created.type === 'response.created')
  const again = await all(await openai.responses.retrieve(created.response.id, { stream: true }))
  assert.deepEqual(again.slice(0, -1), events.slice(0, -1))
  const rest = await all(await openai.responses.retrieve(created.response.id, { stream: true, starting_after: 4 }))
  assert.deepEqual(rest, again.slice(5))
})

test('a background response is queued, polled and cancelled', async () => {
  const queued = await openai.responses.create({ model, input: 'slow', background: true })
  assert.deepEqual([queued.status, queued.output, queued.background], ['queued', [], true])
  let response = queued
  while (response.status === 'queued' || response.status === 'in_progress') response = await openai.responses.retrieve(queued.id)
  assert.deepEqual([response.status, response.output_text], ['completed', 'abc'])
  const events = await all(await openai.responses.create({ model, input: 'slow', background: true, stream: true }))
  assert.deepEqual(
    events.slice(0, 3).map(({ type }) => type),
    ['response.created', 'response.queued', 'response.in_progress'],
  )
  const hanging = await openai.responses.create({ model, input: 'hang', background: true })
  const cancelled = await openai.responses.cancel(hanging.id)
  assert.equal(cancelled.status, 'cancelled')
  assert.equal((await openai.responses.cancel(hanging.id)).status, 'cancelled')
})

test('thoughts are reasoning items where the request asks for summaries', async () => {
  const events = await all(await openai.responses.create({ model, input: 'think', stream: true, reasoning: { summary: 'auto' } }))
  const last = events.at(-1)!
  assert.ok(last.type === 'response.completed')
  assert.deepEqual(
    last.response.output.map(({ type }) => type),
    ['reasoning', 'message'],
  )
  const plain = await openai.responses.create({ model, input: 'think' })
  assert.deepEqual(
    plain.output.map(({ type }) => type),
    ['message'],
  )
})

test('a client may refer to items of earlier responses', async () => {
  const first = await openai.responses.create({ model, input: 'one' })
  const input = [
    { role: 'user' as const, content: 'one' },
    { type: 'item_reference' as const, id: first.output[0]!.id! },
    { role: 'user' as const, content: 'two' },
  ]
  const second = await openai.responses.create({ model, input })
  assert.equal(second.output_text, 'Answer 2.')
  assert.equal(service.model.requests.at(-1)!.body.messages.at(-2).content, 'Answer 1.')
  await assert.rejects(openai.responses.create({ model, input: [{ type: 'item_reference', id: 'msg_x_0' }, ...input] }), { status: 404 })
})

test('a conversation keeps the turns of its responses', async () => {
  const conversation = await openai.conversations.create({
    metadata: { topic: 'numbers' },
    items: [{ type: 'message', role: 'user', content: 'zero' }],
  })
  assert.deepEqual(conversation.metadata, { topic: 'numbers' })
  const response = await openai.responses.create({ model, input: 'one', conversation: conversation.id })
  assert.deepEqual([response.output_text, response.conversation], ['Answer 2.', { id: conversation.id }])
  await openai.conversations.items.create(conversation.id, { items: [{ type: 'message', role: 'user', content: 'two' }] })
  const items = await all(await openai.conversations.items.list(conversation.id, { order: 'asc' }))
  assert.deepEqual(
    items.map((item) => item.type === 'message' && [item.role, (item.content[0] as { text: string }).text]),
    [
      ['user', 'zero'],
      ['user', 'one'],
      ['assistant', 'Answer 2.'],
      ['user', 'two'],
    ],
  )
  const item = await openai.conversations.items.retrieve(items[1]!.id!, { conversation_id: conversation.id })
  assert.deepEqual(item, items[1])
  const updated = await openai.conversations.update(conversation.id, { metadata: { topic: 'sums' } })
  assert.deepEqual(
    [updated.metadata, (await openai.conversations.retrieve(conversation.id)).metadata],
    [{ topic: 'sums' }, { topic: 'sums' }],
  )
  const ben = await as({ sub: 'ben' })
  await assert.rejects(ben.conversations.retrieve(conversation.id), { status: 404 })
  await openai.conversations.delete(conversation.id)
  await assert.rejects(openai.conversations.retrieve(conversation.id), { status: 404 })
  await assert.rejects(openai.responses.retrieve(response.id), { status: 404 })
})

test('an answer with a schema is parsed; commentary and links stay out', async () => {
  const format = {
    type: 'json_schema' as const,
    name: 'person',
    schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false },
  }
  const text = { format }
  const parsed = await openai.responses.parse({ model, input: 'json: add', text })
  assert.deepEqual(
    [parsed.output_parsed, parsed.output.length, parsed.text],
    [{ name: 'Ann' }, 1, { format: { ...format, description: null, strict: false } }],
  )
  const streamed = await openai.responses.stream({ model, input: 'json: add', text }).finalResponse()
  assert.deepEqual(streamed.output_parsed, { name: 'Ann' })
  assert.deepEqual((await openai.responses.retrieve(streamed.id)).output_text, '{"name":"Ann"}')
  await assert.rejects(openai.responses.create({ model, input: 'json: never', text }), { status: 502, code: 'schema_mismatch' })
})

test('a request id repeated gets the first response, also where it continues a conversation', async () => {
  const first = await openai.responses.create({ model, input: 'one' })
  const headers = { 'request-id': 'repeated-1' }
  const body = { model, input: 'two', previous_response_id: first.id }
  const [once, twice] = [await openai.responses.create(body, { headers }), await openai.responses.create(body, { headers })]
  assert.deepEqual([once.id, twice.id, twice.output_text], ['resp_repeated-1', 'resp_repeated-1', 'Answer 2.'])
  await assert.rejects(openai.responses.create({ ...body, input: 'three' }, { headers }), { status: 409, code: 'request_id_reused' })
  const background = { model, input: 'one', background: true }
  const ids = { 'request-id': 'repeated-2' }
  await openai.responses.create(background, { headers: ids })
  assert.equal((await openai.responses.create(background, { headers: ids })).id, 'resp_repeated-2')
  await assert.rejects(openai.responses.create({ ...background, input: 'two' }, { headers: ids }), {
    status: 409,
    code: 'request_id_reused',
  })
})

test('calls that a client remembers are history; a call without its output is refused', async () => {
  const call = { type: 'function_call' as const, call_id: 'call_elsewhere', name: 'lookup', arguments: '{}' }
  const output = { type: 'function_call_output' as const, call_id: 'call_elsewhere', output: 'found' }
  const answer = await openai.responses.create({ model, input: [{ role: 'user', content: 'one' }, call, output] })
  assert.equal(answer.output_text, 'The tool says found.')
  await assert.rejects(openai.responses.create({ model, input: [{ role: 'user', content: 'one' }, call] }), {
    status: 400,
    param: 'input[1].call_id',
  })
  const asked = await openai.responses.create({ model, input: 'weather?', tools: [weather] })
  const waits = openai.responses.create({ model, input: 'and?', previous_response_id: asked.id })
  await assert.rejects(waits, { status: 400, param: 'input' })
  await openai.responses.cancel(asked.id)
  assert.equal((await openai.responses.retrieve(asked.id)).status, 'completed')
})

test('items of a conversation may have calls; other items are refused by name', async () => {
  const conversation = await openai.conversations.create({})
  const items = [
    { type: 'message', role: 'developer', content: 'Be brief.' },
    { type: 'message', role: 'user', content: 'one' },
    { type: 'function_call', call_id: 'call_1', name: 'lookup', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'found' },
    { type: 'message', role: 'assistant', content: 'Found.' },
  ]
  await openai.conversations.items.create(conversation.id, { items: items as never })
  const response = await openai.responses.create({ model, input: 'two', conversation: { id: conversation.id } })
  assert.equal(response.output_text, 'Answer 2.')
  const roles = service.model.requests.at(-1)!.body.messages.map(({ role }: { role: string }) => role)
  assert.deepEqual(roles, ['system', 'user', 'assistant', 'tool', 'assistant', 'user'])
  const late = openai.conversations.items.create(conversation.id, { items: [{ type: 'message', role: 'system', content: 'x' }] })
  await assert.rejects(late, { status: 400, param: 'items[0].role' })
  await assert.rejects(openai.conversations.items.retrieve('msg_x', { conversation_id: conversation.id }), { status: 404 })
  await assert.rejects(openai.responses.create({ model, input: 'x', conversation: 'conv_missing' }), { status: 404, param: 'conversation' })
})

test('keys need the permissions of the service: runs.read, runs.write, sessions.read, sessions.write', async () => {
  const viewer = await as({ sub: 'viewer', roles: ['viewer'] })
  const forbidden = { status: 403, code: 'insufficient_permissions' }
  await assert.rejects(viewer.responses.create({ model, input: 'x' }), forbidden)
  await assert.rejects(viewer.responses.cancel('resp_x'), forbidden)
  await assert.rejects(viewer.responses.delete('resp_x'), forbidden)
  await assert.rejects(viewer.conversations.create({}), forbidden)
  await assert.rejects(viewer.responses.retrieve('resp_x'), { status: 404 })
  await assert.rejects(viewer.conversations.retrieve('conv_x'), { status: 404 })
})
