import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test, type TestContext } from 'node:test'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { WebSocket } from 'ws'
import { maxConnections } from '../../src/http/doors/openai/responses/websocket.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { faultsOfEvent } from '../fixtures/open-responses.ts'
import { startService, type ServiceOptions, type TestService, type Who } from '../fixtures/service.ts'

const model = 'agent-core'

/** Answers with what the model was shown. */
function script({ body }: ModelServerRequest) {
  const shown = body.messages.filter(({ role }: { role: string }) => role !== 'system')
  return { text: `${shown.length}: ${JSON.stringify(shown.at(-1).content)}` }
}

/** A WebSocket whose messages are read one after another. */
class Socket {
  readonly ws: WebSocket
  private readonly messages: any[] = []
  private wake = () => {}

  constructor(url: string, headers: Record<string, string>) {
    this.ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers })
    this.ws.on('message', (data) => {
      this.messages.push(JSON.parse(String(data)))
      this.wake()
    })
    this.ws.on('error', () => undefined)
  }

  send(body: object | string): void {
    this.ws.send(typeof body === 'string' ? body : JSON.stringify({ type: 'response.create', model, ...body }))
  }

  async next(): Promise<any> {
    while (this.messages.length === 0) await new Promise<void>((resolve) => (this.wake = resolve))
    return this.messages.shift()
  }

  /** The events up to the end of a response, or the error. */
  async turn(body?: object | string): Promise<any[]> {
    if (body !== undefined) this.send(body)
    const events = []
    for (;;) {
      events.push(await this.next())
      if (/^(error|response\.(completed|failed|incomplete))$/.test(events.at(-1).type)) return events
    }
  }

  async ask(body: object | string): Promise<any> {
    const last = (await this.turn(body)).at(-1)
    return last.response ?? last
  }
}

async function start(t: TestContext, options: ServiceOptions = { script }) {
  const service = await startService(t, options)
  const connect = async (who?: Who, headers: Record<string, string> = {}) => {
    const socket = new Socket(service.url, { authorization: `Bearer ${(await service.key(who)).key}`, ...headers })
    t.after(() => socket.ws.terminate())
    await once(socket.ws, 'open')
    return socket
  }
  return { service, connect }
}

/** Sends questions to a model that falls silent in the middle of its first answer. */
async function openSilent(t: TestContext, inputs: readonly string[], options: ServiceOptions = {}) {
  const begun = Promise.withResolvers<void>()
  const { service, connect } = await start(t, {
    ...options,
    script: () => {
      begun.resolve()
      return { text: ['a', 'b'], silentAfter: 1 }
    },
  })
  const socket = await connect()
  for (const input of inputs) socket.send({ input })
  await begun.promise
  return { service, socket }
}

const textOf = ({ output }: any): string => output.at(-1).content[0].text

/** Resolves once the only run is cancelled. */
async function cancelled({ client }: TestService): Promise<void> {
  for (;;) {
    const { runs } = (await client.request('GET', '/core/v1/runs')).body
    if (runs[0]?.status === 'cancelled') return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The answer to an upgrade that is refused. */
async function refusalOf(service: TestService, headers: Record<string, string>): Promise<{ status: number; body: any }> {
  const ws = new WebSocket(`${service.url.replace('http', 'ws')}/v1/responses`, { headers })
  ws.on('error', () => undefined)
  const [, reply] = await once(ws, 'unexpected-response')
  const chunks = await reply.toArray()
  return { status: reply.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) }
}

test('WebSocket: the client of OpenAI has the events of a stream, and continues the response', async (t) => {
  const { service } = await start(t)
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key })
  const ws = new ResponsesWS(client)
  t.after(() => ws.close())
  const ask = async (body: object) => {
    ws.send({ type: 'response.create', model, ...body } as never)
    const events = []
    for await (const event of ws) {
      if (event.type !== 'message') continue
      events.push(event.message as any)
      if (event.message.type === 'response.completed') break
    }
    return events
  }
  const events = await ask({ input: 'One?' })
  for (const event of events) assert.deepEqual(faultsOfEvent(event), [])
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  )
  assert.equal(events[0].type, 'response.created')
  const { id } = events.at(-1).response
  const second = (await ask({ input: 'Two?', previous_response_id: id })).at(-1).response
  assert.deepEqual([textOf(second), second.previous_response_id], ['3: "Two?"', id])
  assert.equal((await service.client.request('GET', `/v1/responses/${second.id}`)).body.id, second.id, 'a response like any other')
})

test('WebSocket: the upgrade needs a key with chat, and pages of other origins are refused', async (t) => {
  const origin = 'https://app.example.com'
  const { service, connect } = await start(t, { script, environment: { CORS_ORIGINS: origin } })
  const none = await refusalOf(service, {})
  assert.deepEqual([none.status, none.body.error.code], [401, 'invalid_api_key'])
  const viewer = await refusalOf(service, { authorization: `Bearer ${(await service.key({ roles: ['viewer'] })).key}` })
  assert.deepEqual([viewer.status, viewer.body.error.code], [403, 'insufficient_permissions'])
  const { key } = await service.key()
  const foreign = await refusalOf(service, { 'x-api-key': key, origin: 'https://evil.example' })
  assert.equal(foreign.status, 403)
  assert.equal(textOf(await (await connect(undefined, { origin })).ask({ input: 'x' })), '1: "x"')
  const plain = await service.client.request('GET', '/v1/responses')
  assert.deepEqual([plain.status, plain.headers.get('allow')], [405, 'POST'])
  const offer = request(`${service.url}/health`, { headers: { connection: 'upgrade', upgrade: 'h2c' } }).end()
  assert.equal((await once(offer, 'response'))[0].statusCode, 200, 'other offers of an upgrade are ignored')
})

test('WebSocket: a key that is revoked counts no more for the next message', async (t) => {
  const { service } = await start(t)
  const { key, claims } = await service.key({ sub: 'eve' })
  const socket = new Socket(service.url, { authorization: `Bearer ${key}` })
  t.after(() => socket.ws.terminate())
  await once(socket.ws, 'open')
  assert.equal((await socket.ask({ input: 'x' })).status, 'completed')
  await service.revoke(claims)
  await service.client.request('GET', '/v1/models')
  let refused
  do refused = await socket.ask({ input: 'x' })
  while (refused.type !== 'error')
  assert.deepEqual([refused.status, refused.error.code], [401, 'invalid_api_key'])
})

test('WebSocket: messages that are no requests are errors, and the connection stays', async (t) => {
  const { connect } = await start(t)
  const socket = await connect()
  for (const [message, status, code] of [
    ['{', 400, 'invalid_json'],
    ['[]', 400, 'invalid_json'],
    ['null', 400, 'invalid_json'],
    ['{"type":"session.update"}', 400, 'invalid_value'],
    ['{"type":"response.steer"}', 400, 'steering_not_supported'],
    [`{"type":"response.create","x":${'['.repeat(5000)}`, 400, 'input_too_large'],
    ['{"type":"response.create","__proto__":{}}', 400, 'invalid_json'],
    [JSON.stringify({ type: 'response.create', model }), 400, 'missing_required_parameter'],
    [JSON.stringify({ type: 'response.create', model: 'other', input: 'x' }), 404, 'model_not_found'],
    [JSON.stringify({ type: 'response.create', model, input: 'x', background: true }), 400, 'unsupported_parameter'],
    [JSON.stringify({ type: 'response.create', model, input: 'x', stream_id: 'a' }), 400, 'unsupported_parameter'],
    [JSON.stringify({ type: 'response.create', model, input: 'x', previous_response_id: 'resp_none' }), 404, 'previous_response_not_found'],
  ] as const) {
    const { type, ...rest } = await socket.ask(message)
    assert.deepEqual([type, rest.status, rest.error?.code], ['error', status, code], message.slice(0, 60))
  }
  socket.ws.send(Buffer.from('{"type":"response.create"}'), { binary: true })
  assert.equal((await socket.next()).status, 400)
  assert.equal(textOf(await socket.ask({ input: 'still there' })), '1: "still there"')
  socket.ws.send('x'.repeat(17 * 1024 * 1024))
  const [code] = await once(socket.ws, 'close')
  assert.equal(code, 1009)
})

test('WebSocket: responses that are not stored are continued on their connection alone', async (t) => {
  const { service, connect } = await start(t)
  const socket = await connect()
  const first = await socket.ask({ input: 'One?', store: false })
  const second = await socket.ask({ input: 'Two?', store: false, previous_response_id: first.id })
  assert.deepEqual([textOf(second), second.previous_response_id], ['3: "Two?"', first.id])
  const third = await socket.ask({ input: 'Three?', store: false, previous_response_id: second.id })
  assert.equal(textOf(third), '5: "Three?"')
  for (const stranger of [await connect(), await connect({ sub: 'bob' }), await connect({ tenant: 'other' })]) {
    const refused = await stranger.ask({ input: 'x', previous_response_id: third.id })
    assert.deepEqual([refused.status, refused.error.param], [404, 'previous_response_id'])
  }
  const stored = await socket.ask({ input: 'Stored.' })
  const branch = await socket.ask({ input: 'Branch.', store: false, previous_response_id: stored.id })
  assert.equal(textOf(await socket.ask({ input: 'On.', store: false, previous_response_id: branch.id })), '5: "On."')
  const failed = await socket.ask({ input: 'x', store: false, previous_response_id: third.id })
  assert.equal(failed.error.code, 'previous_response_not_found', 'only the last one is kept')
  assert.equal((await service.client.request('GET', '/core/v1/sessions')).body.sessions.length, 1)
})

test('WebSocket: the client runs its tools, with and without the storing of responses', async (t) => {
  const tools = [{ type: 'function', name: 'place', parameters: { type: 'object', properties: {} } }]
  const calls = ({ body }: ModelServerRequest) => {
    const last = body.messages.at(-1)
    return last.role === 'tool' ? { text: `There: ${last.content}` } : { calls: [{ name: 'place', arguments: ['{}'] }] }
  }
  const { connect } = await start(t, { script: calls })
  const socket = await connect()
  for (const store of [true, false]) {
    const first = await socket.ask({ input: 'Where?', tools, store })
    const call = first.output.find(({ type }: any) => type === 'function_call')
    const input = [{ type: 'function_call_output', call_id: call.call_id, output: 'Basel' }]
    const second = await socket.ask({ input, tools, store, previous_response_id: first.id })
    assert.match(textOf(second), /There: .*Basel/)
  }
})

test('WebSocket: one response at a time; the next message waits, and a few more', async (t) => {
  const gate = Promise.withResolvers<void>()
  const { connect } = await start(t, {
    script: ({ body }) => ({ begins: gate.promise, text: String(body.messages.at(-1).content) }),
  })
  const socket = await connect()
  for (let index = 0; index < 10; index++) socket.send({ input: `m${index}` })
  const refused = await socket.next()
  assert.deepEqual([refused.status, refused.error.code], [429, 'too_many_messages'])
  gate.resolve()
  const answers: string[] = []
  while (answers.length < 9) {
    const event = await socket.next()
    if (event.type === 'response.completed') answers.push(textOf(event.response))
  }
  assert.deepEqual(
    answers,
    answers.map((_, index) => `m${index}`),
  )
})

test('WebSocket: a client that disconnects cancels its run', async (t) => {
  const { service, socket } = await openSilent(t, ['x'])
  socket.ws.terminate()
  await cancelled(service)
})

test('WebSocket: a caller has so many connections, and another caller its own', async (t) => {
  const { service, connect } = await start(t)
  for (let index = 0; index < maxConnections.owner; index++) await connect()
  const { key } = await service.key()
  const refused = await refusalOf(service, { authorization: `Bearer ${key}` })
  assert.deepEqual([refused.status, refused.body.error.type], [429, 'rate_limit_error'])
  assert.equal(textOf(await (await connect({ sub: 'bob' })).ask({ input: 'x' })), '1: "x"')
})

test('WebSocket: a service that stops closes connections with 1001', async (t) => {
  const { service, connect } = await start(t)
  const socket = await connect()
  await socket.ask({ input: 'x' })
  const closed = once(socket.ws, 'close')
  await service.close(1000)
  assert.equal((await closed)[0], 1001)
})

test('WebSocket: messages count for the rate limit as requests', async (t) => {
  const { connect } = await start(t, { script, config: { access: { rate_limits: { user: { requests_per_minute: 3 } } } } })
  const socket = await connect()
  const seen = []
  for (let index = 0; index < 4; index++) seen.push(await socket.ask({ input: 'x' }))
  assert.equal(seen.at(-1).status, 429)
  assert.equal(seen.at(-1).error.type, 'rate_limit_error')
})

test('WebSocket: stored responses are continued by their caller alone', async (t) => {
  const { connect } = await start(t)
  const { id } = await (await connect()).ask({ input: 'One?' })
  for (const who of [{ sub: 'bob' }, { tenant: 'other' }, { tenant: 'other', roles: ['admin'] }]) {
    const refused = await (await connect(who)).ask({ input: 'x', previous_response_id: id })
    assert.deepEqual([refused.status, refused.error.code], [404, 'previous_response_not_found'], JSON.stringify(who))
  }
  assert.equal(textOf(await (await connect()).ask({ input: 'Two?', previous_response_id: id })), '3: "Two?"')
})

test('WebSocket: a connection ends after 10 minutes without a response', async (t) => {
  const { connect } = await start(t, { script, streamKeepAliveMs: 50 })
  const socket = await connect()
  await socket.ask({ input: 'x' })
  const closed = once(socket.ws, 'close')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 10 * 60_000 + 1000 })
  const [code, reason] = await closed
  assert.deepEqual([code, String(reason)], [1000, 'The connection was not used.'])
})

test('WebSocket: a connection ends after 60 minutes, behind the response that goes on', async (t) => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { connect } = await start(t, {
    streamKeepAliveMs: 50,
    script: () => {
      begun.resolve()
      return { begins: gate.promise, text: 'late' }
    },
  })
  const socket = await connect()
  const closed = once(socket.ws, 'close')
  socket.send({ input: 'x' })
  await begun.promise
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60 * 60_000 + 1000 })
  for (let pings = 0; pings < 3; pings++) await once(socket.ws, 'ping')
  gate.resolve()
  assert.equal(textOf((await socket.turn()).at(-1).response), 'late')
  const { status, error } = await socket.next()
  assert.deepEqual([status, error.code], [400, 'websocket_connection_limit_reached'])
  assert.equal((await closed)[0], 1000)
})

test('WebSocket: a client that reads nothing is disconnected, and its run is cancelled', async (t) => {
  const { service, socket } = await openSilent(t, ['x'], { streamKeepAliveMs: 50 })
  socket.ws.pause()
  await cancelled(service)
})

test('WebSocket: a client that reads slowly has the whole answer', async (t) => {
  const text = Array.from({ length: 200 }, (_, index) => `${index}: ${'x'.repeat(4000)} `)
  const { connect } = await start(t, { script: { text } })
  const socket = await connect()
  socket.send({ input: 'x' })
  const events: any[] = []
  while (events.at(-1)?.type !== 'response.completed') {
    events.push(await socket.next())
    socket.ws.pause()
    await new Promise((resolve) => setImmediate(resolve))
    socket.ws.resume()
  }
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
  assert.equal(deltas.join(''), text.join(''))
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  )
})

test('WebSocket: a flood of messages whose answers are not read ends the connection, and the service stays', async (t) => {
  const { connect } = await start(t)
  const socket = await connect()
  const closed = once(socket.ws, 'close')
  socket.ws.pause()
  const frame = Buffer.from('x')
  let isOpen = true
  void closed.then(() => (isOpen = false))
  for (let sent = 0; isOpen && sent < 400_000; sent += 2000) {
    for (let index = 0; index < 2000; index++) socket.ws.send(frame, { binary: true })
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.ws.resume()
  assert.equal((await closed)[0], 1006)
  assert.equal(textOf(await (await connect()).ask({ input: 'x' })), '1: "x"')
})

test('WebSocket: a client that closes in the middle of a response cancels its run', async (t) => {
  const { service, socket } = await openSilent(t, ['x', 'waits'])
  socket.ws.close()
  await cancelled(service)
  assert.equal((await service.client.request('GET', '/core/v1/runs')).body.runs.length, 1, 'the waiting message is dropped')
})

test('WebSocket: a service that stops ends the response that goes on, and takes no further message', async (t) => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { service, connect } = await start(t, {
    script: () => {
      begun.resolve()
      return { begins: gate.promise, text: 'late' }
    },
  })
  const socket = await connect()
  const closed = once(socket.ws, 'close')
  socket.send({ input: 'x' })
  await begun.promise
  const stopped = service.close(10_000)
  socket.send({ input: 'y' })
  gate.resolve()
  assert.equal(textOf((await socket.turn()).at(-1).response), 'late')
  const { status, error } = await socket.next()
  assert.deepEqual([status, error.type, error.message], [503, 'server_error', 'The service is stopping.'])
  assert.equal((await closed)[0], 1001)
  await stopped
})
