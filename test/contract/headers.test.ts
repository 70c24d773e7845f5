import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolContext } from '../../src/agent/tool.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('Headers: absent ids are generated as UUIDv7 and echoed', async (t) => {
  const { client } = await startService(t, { script: {} })
  const reply = await client.chat('hello')
  assert.equal(reply.status, 200)
  assert.match(reply.headers.get('session-id') ?? '', uuidV7)
  assert.match(reply.headers.get('request-id') ?? '', uuidV7)
})

test('Headers: ids of the caller are echoed, on a chain and on a stream', async (t) => {
  const { client } = await startService(t, { script: {} })
  const reply = await client.chat('hello', { 'session-id': 'S1.a_b:c-d', 'request-id': 'r-1' })
  assert.deepEqual(
    { 'session-id': reply.headers.get('session-id'), 'request-id': reply.headers.get('request-id') },
    { 'session-id': 'S1.a_b:c-d', 'request-id': 'r-1' },
  )
  const stream = await client.stream('hello', { 'session-id': 'S2', 'request-id': 'r-2' })
  const events = await stream.rest()
  assert.deepEqual(
    { 'session-id': stream.headers.get('session-id'), 'request-id': stream.headers.get('request-id') },
    { 'session-id': 'S2', 'request-id': 'r-2' },
  )
  assert.ok(events.every(({ chunk }) => chunk.id === 'r-2'))
})

test('Headers: the request-id is echoed on errors too', async (t) => {
  const { client, url } = await startService(t, { script: {} })
  const invalid = await client.chat({ messages: [] }, { 'request-id': 'r-422' })
  assert.deepEqual({ status: invalid.status, 'request-id': invalid.headers.get('request-id') }, { status: 422, 'request-id': 'r-422' })
  const unknown = await client.request('GET', '/nothing', { headers: { 'request-id': 'r-404' } })
  assert.deepEqual({ status: unknown.status, 'request-id': unknown.headers.get('request-id') }, { status: 404, 'request-id': 'r-404' })
  const keyless = await fetch(`${url}/core/v1/tools`, { headers: { 'request-id': 'r-401' } })
  assert.deepEqual({ status: keyless.status, 'request-id': keyless.headers.get('request-id') }, { status: 401, 'request-id': 'r-401' })
})

test('Headers: the session-id header wins over session_id, which counts without the header', async (t) => {
  const { client } = await startService(t, { script: {} })
  const body = { messages: [{ role: 'user', content: 'hello' }], session_id: 'from-body' }
  assert.equal((await client.chat(body, { 'session-id': 'from-header' })).headers.get('session-id'), 'from-header')
  assert.equal((await client.chat(body)).headers.get('session-id'), 'from-body')
})

test('Headers: ids outside of the alphabet or longer than 128 are 422', async (t) => {
  const { client } = await startService(t, { script: {} })
  for (const id of ['-a', '.a', 'a b', 'a/b', 'ä', 'a'.repeat(129)]) {
    const header = Buffer.from(id).toString('latin1')
    const session = await client.chat('hello', { 'session-id': header })
    assert.deepEqual(
      { status: session.status, loc: session.body.details.errors[0].loc },
      { status: 422, loc: ['header', 'session-id'] },
      id,
    )
    const request = await client.chat('hello', { 'request-id': header })
    assert.deepEqual(
      { status: request.status, loc: request.body.details.errors[0].loc },
      { status: 422, loc: ['header', 'request-id'] },
      id,
    )
    assert.match(request.headers.get('request-id') ?? '', uuidV7)
    const body = await client.chat({ messages: [{ role: 'user', content: 'hello' }], session_id: id })
    assert.deepEqual({ status: body.status, loc: body.body.details.errors[0].loc }, { status: 422, loc: ['body', 'session_id'] }, id)
  }
  assert.equal((await client.chat('hello', { 'session-id': 'a'.repeat(128) })).status, 200)
})

test('Headers: a repeated request-id gets the first outcome and runs nothing twice', async (t) => {
  const { client, model } = await startService(t, { script: (_request, index) => ({ text: `answer ${index}` }) })
  const first = await client.chat('hello', { 'request-id': 'r' })
  const again = await client.chat('hello', { 'request-id': 'r' })
  assert.equal(first.body.body.output, 'answer 0')
  assert.deepEqual({ status: again.status, body: again.body }, { status: 200, body: first.body })
  assert.equal(again.headers.get('session-id'), first.headers.get('session-id'))
  assert.equal(model.requests.length, 1)
  const { body } = await client.session(first.headers.get('session-id')!)
  assert.equal(body.messages.length, 2)
})

test('Headers: a repeat of a running request waits for its outcome', async (t) => {
  const gate = gatedTool('wait')
  const { client, model } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'done' }] })
  const first = client.chat('go', { 'request-id': 'r' })
  await gate.entered
  const again = client.chat('go', { 'request-id': 'r' })
  gate.open()
  assert.deepEqual((await again).body, (await first).body)
  assert.equal(gate.inputs.length, 1)
  assert.equal(model.requests.length, 2)
})

test('Headers: a repeated stream has the SSE ids and chunks of the first', async (t) => {
  const { client, model } = await startService(t, { script: { text: ['a', 'b', 'c'], pauseMs: 5, usage: { input: 3, output: 4 } } })
  const first = await (await client.stream('hello', { 'request-id': 'r' })).rest()
  const again = await (await client.stream('hello', { 'request-id': 'r' })).rest()
  assert.deepEqual(
    first.map(({ id }) => id),
    ['r:1', 'r:2', 'r:3', 'r:4'],
  )
  assert.deepEqual(again, first)
  assert.equal(model.requests.length, 1)
})

test('Headers: a request-id with another body, operation or session is 409 RequestIdReused', async (t) => {
  const { client } = await startService(t, { script: {}, config: { tools: [{ name: 'calculator' }] } })
  await client.chat('hello', { 'request-id': 'r', 'session-id': 's' })
  const stream = await client.stream('hello', { 'request-id': 'r', 'session-id': 's' })
  const input = { tool_name: 'calculator', tool_input: { expression: '1+1' } }
  const others = [
    await client.chat('other', { 'request-id': 'r', 'session-id': 's' }),
    await client.chat('hello', { 'request-id': 'r', 'session-id': 's2' }),
    await client.request('POST', '/core/v1/tool/execute', { body: input, headers: { 'request-id': 'r', 'session-id': 's' } }),
    stream,
  ]
  for (const { status, body } of others)
    assert.deepEqual({ status, details: body.details }, { status: 409, details: { error_type: 'RequestIdReused' } })
})

test('Headers: two callers may use the same request-id and session-id independently', async (t) => {
  const { client, as, model } = await startService(t, { script: (_request, index) => ({ text: `answer ${index}` }) })
  const bob = await as({ sub: 'bob' })
  const stranger = await as({ tenant: 'other' })
  const ids = { 'request-id': 'r', 'session-id': 's' }
  const answers = []
  for (const one of [client, bob, stranger]) answers.push((await one.chat('hello', ids)).body.body.output)
  assert.deepEqual(answers, ['answer 0', 'answer 1', 'answer 2'])
  assert.equal(model.requests.length, 3)
  for (const one of [client, bob, stranger]) assert.equal((await one.session('s')).body.messages.length, 2)
})

test('Headers: tool/execute supports request ids', async (t) => {
  let runs = 0
  const count = fakeTool('count', async () => ({ runs: ++runs }))
  const { client } = await startService(t, { tools: [count], script: {} })
  const execute = (tool_input: object) =>
    client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'count', tool_input }, headers: { 'request-id': 'r' } })
  const first = await execute({})
  assert.deepEqual(first.body.output, { runs: 1 })
  assert.deepEqual((await execute({})).body, first.body)
  assert.equal((await execute({})).headers.get('session-id'), first.headers.get('session-id'))
  assert.equal((await execute({ other: 1 })).body.details.error_type, 'RequestIdReused')
  assert.equal(runs, 1)
  // The reused id is reported before the fault of an attachment, as for a chat's id.
  const chat = await client.chat({ messages: [{ role: 'user', content: 'Hello' }], context_files: ['missing.md'] }, { 'request-id': 'r' })
  assert.equal(chat.body.details.error_type, 'RequestIdReused')
})

test('Headers: a run that ended in a 502 is continued: recorded calls are not repeated, the human message is not doubled', async (t) => {
  let runs = 0
  const count = fakeTool('count', async () => ({ runs: ++runs }), { effect: 'write' })
  const script = [callOf('count'), { status: 400, body: { error: { message: 'no' } } }, { text: 'went on' }]
  const { client, model } = await startService(t, { tools: [count], script })
  const ids = { 'request-id': 'r', 'session-id': 's' }
  assert.equal((await client.chat('go', ids)).status, 502)
  const failed = await client.session('s')
  assert.deepEqual(
    failed.body.messages.map((message: { role: string }) => message.role),
    ['human'],
  )
  const again = await client.chat('go', ids)
  assert.deepEqual({ status: again.status, output: again.body.body.output }, { status: 200, output: 'went on' })
  assert.equal(again.body.body.intermediate_steps.length, 1)
  assert.equal(runs, 1)
  assert.equal(model.requests[2]?.body.messages.at(-1).role, 'tool')
  const { body } = await client.session('s')
  assert.deepEqual(
    body.messages.map((message: { content: string }) => message.content),
    ['go', 'went on'],
  )
  // Afterwards the run is like any other.
  assert.deepEqual((await client.chat('go', ids)).body, again.body)
})

for (const [effect, result] of [
  ['read', '{"done":2}'],
  ['write', /outcome.*unknown/i],
] as const) {
  test(`Headers: a run cancelled by a disconnect is continued; an interrupted ${effect} call`, async (t) => {
    const gate = gatedTool('wait', { effect })
    const { client, model } = await startService(t, {
      tools: [gate.tool],
      script: [callOf('wait'), { text: 'done' }],
      config: { limits: { reconnect_grace: 0.05 } },
    })
    const ids = { 'request-id': 'r', 'session-id': 's' }
    const leaving = new AbortController()
    const first = client.chat('go', ids, leaving.signal).catch(() => undefined)
    await gate.entered
    leaving.abort()
    await first
    await gate.cancelled
    gate.open()
    const again = await client.chat('go', ids)
    assert.deepEqual({ status: again.status, output: again.body.body.output }, { status: 200, output: 'done' })
    const shown = model.requests[1]?.body.messages
    assert.deepEqual(
      shown.map((message: { role: string }) => message.role),
      ['user', 'assistant', 'tool'],
    )
    if (typeof result === 'string') assert.equal(shown[2].content, result)
    else assert.match(shown[2].content, result)
    assert.equal(gate.inputs.length, effect === 'read' ? 2 : 1)
    const { messages } = (await client.session('s')).body
    assert.equal(messages.filter((message: { role: string }) => message.role === 'human').length, 1)
    assert.equal(messages.at(-1).content, 'done')
  })
}

test('Headers: a refusal before the run is stored is not remembered', async (t) => {
  const { client } = await startService(t, { script: {} })
  assert.equal((await client.chat({ messages: [] }, { 'request-id': 'r' })).status, 422)
  assert.equal((await client.chat('hello', { 'request-id': 'r' })).status, 200)
})

test('Headers: every stix header reaches the tools of a chain, a stream and a direct execution, and no log', async (t) => {
  const seen: ToolContext['headers'][] = []
  const look = fakeTool('look', async (_input, { headers }) => {
    seen.push(headers)
    return {}
  })
  const { client, log } = await startService(t, { tools: [look], script: [callOf('look'), {}, callOf('look'), {}] })
  const headers = { 'STIX-Trace': 'context-value', stixy: 'b', other: 'c' }
  await client.chat('go', headers)
  await (await client.stream('go', headers)).rest()
  await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'look', tool_input: {} }, headers })
  const expected = { 'stix-trace': 'context-value', stixy: 'b' }
  assert.deepEqual(seen, [expected, expected, expected])
  assert.ok(!log.join('').includes('context-value'))
})

test('Headers: the trace of a caller reaches the tools of a chain and of a direct execution', async (t) => {
  const seen: ToolContext['traceparent'][] = []
  const look = fakeTool('look', async (_input, context) => {
    seen.push(context.traceparent)
    return {}
  })
  const { client } = await startService(t, { tools: [look], script: [callOf('look'), {}] })
  const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
  const body = { tool_name: 'look', tool_input: {} }
  await client.chat('go', headers)
  await client.request('POST', '/core/v1/tool/execute', { body, headers })
  await client.request('POST', '/core/v1/tool/execute', { body, headers: { traceparent: 'nonsense' } })
  assert.deepEqual(seen, [headers.traceparent, headers.traceparent, undefined])
})

test('Headers: the session-id is echoed on refusals too, and generated when absent', async (t) => {
  const { client, url } = await startService(t, { script: {} })
  const ids = { 'session-id': 's' }
  await client.chat('hello', { ...ids, 'request-id': 'r' })
  const replies = [
    await client.chat({ messages: [] }, ids),
    await client.chat('other', { ...ids, 'request-id': 'r' }),
    await client.chat('x'.repeat(200_001), ids),
    await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'none' }, headers: ids }),
    await fetch(`${url}/core/v1/chain`, { method: 'POST', headers: ids }),
  ]
  assert.deepEqual(
    replies.map(({ status, headers }) => [status, headers.get('session-id')]),
    [422, 409, 413, 404, 401].map((status) => [status, 's']),
  )
  assert.match((await client.chat({ messages: [] })).headers.get('session-id') ?? '', uuidV7)
})

test('Headers: the session_id of a body is echoed on refusals too, unless the header overrides it', async (t) => {
  const { client } = await startService(t, { script: {} })
  const long = { messages: [{ role: 'user', content: 'x'.repeat(200_001) }], session_id: 'from-body' }
  const wrong = { messages: [{ role: 'nobody', content: 'x' }], session_id: 'from-body' }
  for (const path of ['/core/v1/chain', '/core/v1/chain_streaming']) {
    for (const [body, status] of [
      [long, 413],
      [wrong, 422],
    ] as const) {
      const reply = await client.request('POST', path, { body })
      assert.deepEqual({ status: reply.status, 'session-id': reply.headers.get('session-id') }, { status, 'session-id': 'from-body' })
      const both = await client.request('POST', path, { body, headers: { 'session-id': 'from-header' } })
      assert.deepEqual({ status: both.status, 'session-id': both.headers.get('session-id') }, { status, 'session-id': 'from-header' })
    }
  }
  const event = { specversion: '1.0', type: 'ai.service.agent.chain', source: 's', id: 'e', data: wrong }
  const refused = await client.request('POST', '/core/v1/chain_async', { body: event })
  assert.deepEqual({ status: refused.status, 'session-id': refused.headers.get('session-id') }, { status: 422, 'session-id': 'from-body' })
  const body = { tool_name: 'none', session_id: 'from-body' }
  assert.match((await client.request('POST', '/core/v1/tool/execute', { body })).headers.get('session-id') ?? '', uuidV7)
})

test('Headers: both ids are echoed by every operation', async (t) => {
  const { client } = await startService(t, { script: {} })
  const headers = { 'session-id': 's', 'request-id': 'r' }
  for (const path of ['/core/v1/tools', '/core/v1/sessions', '/core/v1/runs/none', '/core/v1/metadata', '/health', '/core/v1/nothing']) {
    const reply = await client.request('GET', path, { headers })
    assert.deepEqual(
      { 'session-id': reply.headers.get('session-id'), 'request-id': reply.headers.get('request-id') },
      { 'session-id': 's', 'request-id': 'r' },
      path,
    )
  }
})

test('Headers: a duplicate or empty id header is 422', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { key: access } = await key()
  for (const name of ['session-id', 'request-id']) {
    for (const values of [['a', 'b'], ['']]) {
      const headers = new Headers({ 'x-service-access': access, 'content-type': 'application/json' })
      for (const value of values) headers.append(name, value)
      const body = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
      const reply = await fetch(`${url}/core/v1/chain`, { method: 'POST', headers, body })
      const { details } = (await reply.json()) as any
      assert.deepEqual({ status: reply.status, loc: details.errors[0].loc }, { status: 422, loc: ['header', name] })
      assert.match(reply.headers.get(name) ?? '', uuidV7)
    }
  }
})

test('Headers: an empty stix header is context too', async (t) => {
  const seen: ToolContext['headers'][] = []
  const look = fakeTool('look', async (_input, { headers }) => {
    seen.push(headers)
    return {}
  })
  const { client } = await startService(t, { tools: [look], script: [callOf('look'), {}] })
  await client.chat('go', { 'StIx-Empty': '', 'x-stix': 'no' })
  assert.deepEqual(seen, [{ 'stix-empty': '' }])
})

test('Headers: a session-id is echoed by every route, and on refusals', async (t) => {
  const { client } = await startService(t, { script: {} })
  const headers = { 'session-id': 'mine', 'request-id': 'r' }
  const asked = [
    'GET /core/v1/tools',
    'GET /core/v1/sessions/other',
    'GET /core/v1/runs/none',
    'GET /nowhere',
    'PUT /core/v1/chain',
    'GET /health',
  ]
  for (const one of asked) {
    const [method, path] = one.split(' ') as [string, string]
    const reply = await client.request(method, path, { headers })
    assert.deepEqual(
      { 'session-id': reply.headers.get('session-id'), 'request-id': reply.headers.get('request-id') },
      { 'session-id': 'mine', 'request-id': 'r' },
      one,
    )
  }
  await client.chat('hi', { 'session-id': 's' })
  assert.equal((await client.session('s')).headers.get('session-id'), 's')
})
