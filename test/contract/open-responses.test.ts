import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { faultsOfEvent, faultsOfResponse } from '../fixtures/open-responses.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { makeImage } from '../fixtures/make-images.ts'

/*
 * The acceptance cases of the Open Responses specification: each request as its suite describes it, each answer and event checked against the
 * required shapes.
 */

let service: TestService
const ends: (() => unknown)[] = []

function script({ body }: ModelServerRequest): ModelAnswer {
  const asksWeather = JSON.stringify(body.messages.at(-1).content).includes('weather')
  if (asksWeather && body.tools) return { calls: [{ name: 'get_weather', arguments: ['{"location":', '"San Francisco, CA"}'] }] }
  return { reasoning: 'Hm.', text: ['One, ', 'two.'], usage: { input: 10, output: 4 } }
}

let socket: WebSocket

before(async () => {
  service = await startService({ after: (end: () => unknown) => void ends.push(end) }, { script })
  socket = new WebSocket(`${service.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${(await service.key()).key}` },
  })
  await once(socket, 'open')
})
after(async () => {
  socket.close()
  for (const end of ends) await end()
})

const message = (role: string, content: unknown, fields: object = {}) => ({ type: 'message', role, content, ...fields })

const tools = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'The current weather of a place',
    parameters: { type: 'object', properties: { location: { type: 'string', description: 'City and state' } }, required: ['location'] },
  },
]

interface Event {
  type: string
  sequence_number: number
  [field: string]: any
}

async function respond(body: object): Promise<any> {
  const { status, body: response } = await service.client.request('POST', '/v1/responses', { body: { model: 'agent-core', ...body } })
  assert.equal(status, 200, JSON.stringify(response))
  assert.deepEqual(faultsOfResponse(response), [])
  assert.ok(response.output.length > 0)
  return response
}

async function stream(body: object): Promise<Event[]> {
  const { key } = await service.key()
  const reply = await fetch(`${service.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'agent-core', stream: true, ...body }),
  })
  assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/)
  const blocks = (await reply.text()).split('\n\n').filter((block) => block.startsWith('event: '))
  return blocks.map((block) => {
    const [name, data] = block.split('\n').map((line) => line.slice(line.indexOf(': ') + 2))
    const event: Event = JSON.parse(data!)
    assert.equal(event.type, name)
    assert.deepEqual(faultsOfEvent(event), [], event.type)
    return event
  })
}

test('Open Responses: a text', async () => {
  const response = await respond({ input: [message('user', 'Greet me in three words.')] })
  assert.equal(response.status, 'completed')
})

test('Open Responses: phases of earlier assistant messages', async () => {
  const input = [
    message('assistant', 'I take the saved number.', { phase: 'commentary' }),
    message('assistant', 'It is four.', { phase: 'final_answer' }),
    message('user', 'Only the number.'),
  ]
  const response = await respond({ input })
  assert.deepEqual([response.status, response.output.at(-1).phase], ['completed', 'final_answer'])
})

test('Open Responses: a stream', async () => {
  const events = await stream({ input: [message('user', 'Count to two.')], reasoning: { summary: 'auto' } })
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  )
  assert.deepEqual(
    [events[0]?.type, events.at(-1)?.type, events.at(-1)?.response.status],
    ['response.created', 'response.completed', 'completed'],
  )
  const types = new Set(events.map(({ type }) => type))
  assert.ok(types.has('response.reasoning_summary_text.delta') && types.has('response.output_text.delta'))
})

test('Open Responses: a system message', async () => {
  const response = await respond({ input: [message('system', 'Talk like a pirate.'), message('user', 'Greet me.')] })
  assert.equal(response.status, 'completed')
})

test('Open Responses: a call of a function', async () => {
  const response = await respond({ input: [message('user', 'How is the weather in San Francisco?')], tools })
  assert.ok(response.output.some(({ type }: { type: string }) => type === 'function_call'))
  assert.deepEqual(response.tools[0].parameters, tools[0]!.parameters)
})

test('Open Responses: a streamed call of a function', async () => {
  const events = await stream({ input: [message('user', 'How is the weather in San Francisco?')], tools })
  const steps = events.filter((event) => event.type.startsWith('response.function_call') || event['item']?.type === 'function_call')
  assert.deepEqual(
    steps.map(({ type }) => type.slice('response.'.length)),
    ['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done'],
  )
  assert.equal(steps.at(-1)?.['item'].arguments, '{"location":"San Francisco, CA"}')
})

test('Open Responses: an image', async () => {
  const image = `data:image/png;base64,${(await makeImage('png')).toString('base64')}`
  const content = [
    { type: 'input_text', text: 'What is this?' },
    { type: 'input_image', image_url: image },
  ]
  const response = await respond({ input: [message('user', content)] })
  assert.equal(response.status, 'completed')
})

test('Open Responses: several turns', async () => {
  const input = [message('user', 'I am Ann.'), message('assistant', 'Hello Ann.'), message('user', 'Who am I?')]
  const response = await respond({ input })
  assert.equal(response.status, 'completed')
})

/** The events that answer a message of the WebSocket, each checked; the last one ends the response, or is an error. */
async function exchange(body: object): Promise<Event[]> {
  const events: Event[] = []
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const take = (data: unknown) => {
    const event: Event = JSON.parse(String(data))
    events.push(event)
    if (/^(?:error|response\.(?:completed|incomplete|failed))$/.test(event.type)) resolve()
  }
  socket.on('message', take)
  socket.send(JSON.stringify({ type: 'response.create', model: 'agent-core', ...body }))
  await ended
  socket.off('message', take)
  for (const event of events) if (event.type !== 'error') assert.deepEqual(faultsOfEvent(event), [], event.type)
  return events
}

test('Open Responses over WebSocket: a text', async () => {
  const events = await exchange({ input: [message('user', 'Count to two.')] })
  assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['response.created', 'response.completed'])
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  )
})

test('Open Responses over WebSocket: responses one after another, each with its events', async () => {
  const [first, second] = [await exchange({ input: 'One.' }), await exchange({ input: 'Two.' })]
  assert.notEqual(first.at(-1)?.response.id, second.at(-1)?.response.id)
  assert.deepEqual([first[0]?.sequence_number, second[0]?.sequence_number], [0, 0])
})

test('Open Responses over WebSocket: a response is continued by its id', async () => {
  const { id } = (await exchange({ input: 'I am Ann.' })).at(-1)!.response
  const { response } = (await exchange({ input: 'Who am I?', previous_response_id: id })).at(-1)!
  assert.deepEqual([response.status, response.previous_response_id], ['completed', id])
})

test('Open Responses over WebSocket: a response that is not stored is continued on its connection', async () => {
  const { id } = (await exchange({ input: 'I am Ann.', store: false })).at(-1)!.response
  const { response } = (await exchange({ input: 'Who am I?', store: false, previous_response_id: id })).at(-1)!
  assert.deepEqual([response.status, response.previous_response_id, response.store], ['completed', id, false])
})

test('Open Responses over WebSocket: an unknown previous response is an error, and the connection stays', async () => {
  const [error, ...rest] = await exchange({ input: 'Who am I?', previous_response_id: 'resp_unknown' })
  assert.deepEqual([error?.type, error?.['error'].code, rest], ['error', 'previous_response_not_found', []])
  assert.equal((await exchange({ input: 'Greet me.' })).at(-1)?.type, 'response.completed')
})

test('Open Responses over WebSocket: a call of a function, and its output', async () => {
  const { response } = (await exchange({ input: 'How is the weather in San Francisco?', tools })).at(-1)!
  const { call_id: callId } = response.output.find(({ type }: { type: string }) => type === 'function_call')
  const input = [{ type: 'function_call_output', call_id: callId, output: 'Sunny.' }]
  assert.equal((await exchange({ input, tools, previous_response_id: response.id })).at(-1)?.type, 'response.completed')
})

async function compact(body: object): Promise<any> {
  const { status, body: compaction } = await service.client.request('POST', '/v1/responses/compact', {
    body: { model: 'agent-core', ...body },
  })
  assert.equal(status, 200, JSON.stringify(compaction))
  assert.equal(compaction.object, 'response.compaction')
  const { type, id, encrypted_content: content } = compaction.output.at(-1)
  assert.deepEqual([type, typeof id, typeof content], ['compaction', 'string', 'string'])
  return compaction
}

const known = [message('user', 'I am Ann.'), message('assistant', 'Hello Ann.')]

test('Open Responses: a conversation is compacted', async () => {
  const { output, usage } = await compact({ input: known })
  assert.deepEqual(output[0].content, [{ type: 'input_text', text: 'I am Ann.' }])
  assert.equal(typeof usage.total_tokens, 'number')
})

test('Open Responses: a compacted conversation goes on', async () => {
  const { output } = await compact({ input: known })
  assert.equal((await respond({ input: [...output, message('user', 'Who am I?')] })).status, 'completed')
})

test('Open Responses: a response is compacted by its id, and goes on over WebSocket', async () => {
  const { id } = await respond({ input: known.slice(0, 1) })
  const { output } = await compact({ previous_response_id: id })
  assert.equal((await exchange({ input: [...output, message('user', 'Who am I?')] })).at(-1)?.type, 'response.completed')
})
