import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const chat = { messages: [{ role: 'user', content: 'hello' }] }

test('Errors: an unknown path is 404, a wrong method 405 with the allowed ones', async (t) => {
  const { client } = await startService(t, { script: {} })
  const unknown = await client.request('GET', '/core/v1/nothing?q=secret-in-query')
  assert.deepEqual(
    { status: unknown.status, status_code: unknown.body.status_code, details: unknown.body.details },
    { status: 404, status_code: 404, details: { error_type: 'NotFound' } },
  )
  assert.doesNotMatch(unknown.text, /secret-in-query/)
  for (const [method, path, allow] of [
    ['GET', '/core/v1/chain', 'POST'],
    ['PUT', '/core/v1/chain_streaming', 'POST'],
    ['PUT', '/core/v1/sessions/s', 'GET, HEAD, DELETE'],
    ['POST', '/core/v1/runs/r', 'GET, HEAD, DELETE'],
    ['PATCH', '/health', 'GET'],
  ] as const) {
    const { status, headers, body } = await client.request(method, path)
    assert.deepEqual({ status, details: body.details }, { status: 405, details: { error_type: 'MethodNotAllowed' } }, path)
    const allowed = headers.get('allow')?.split(', ') ?? []
    for (const one of allow.split(', ').filter((name) => name !== 'HEAD'))
      assert.ok(allowed.includes(one), `${path}: ${allowed.join(', ')}`)
  }
})

test('Errors: a path that cannot be decoded is 404 in the same shape', async (t) => {
  const { client } = await startService(t, { script: {} })
  for (const path of ['/core/v1/sessions/%zz', `/core/v1/runs/${'a'.repeat(600)}`]) {
    const { status, headers, body } = await client.request('GET', path, { headers: { 'request-id': 'r' } })
    assert.deepEqual(
      { status, status_code: body.status_code, details: body.details, 'request-id': headers.get('request-id') },
      { status: 404, status_code: 404, details: { error_type: 'NotFound' }, 'request-id': 'r' },
      path,
    )
  }
})

test('Errors: another content type, or none, is 415', async (t) => {
  const { client } = await startService(t, { script: {} })
  for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
    const { status, body } = await client.request('POST', '/core/v1/chain', { body: 'x', headers: { 'content-type': type } })
    assert.deepEqual({ status, details: body.details }, { status: 415, details: { error_type: 'UnsupportedMediaType' } }, type)
  }
  const charset = { 'content-type': 'application/json; charset=utf-8' }
  assert.equal((await client.request('POST', '/core/v1/chain', { body: chat, headers: charset })).status, 200)
})

test('Errors: malformed JSON and an empty body are 422, in the shape of the operation', async (t) => {
  const { client } = await startService(t, { script: {} })
  for (const body of ['{"messages": [', 'nonsense', '', '{"__proto__": {}}x']) {
    const chain = await client.request('POST', '/core/v1/chain', { body })
    assert.deepEqual(
      { status: chain.status, status_code: chain.body.status_code, error_type: chain.body.details.error_type },
      { status: 422, status_code: 422, error_type: 'ValidationError' },
      body,
    )
    assert.equal(chain.body.details.errors[0].loc[0], 'body')
    for (const path of ['/core/v1/chain_streaming', '/core/v1/tool/execute']) {
      const { status, body: reply } = await client.request('POST', path, { body })
      assert.deepEqual([status, Object.keys(reply), reply.detail[0].loc[0]], [422, ['detail'], 'body'], `${path} ${body}`)
      assert.deepEqual(Object.keys(reply.detail[0]).sort(), ['loc', 'msg', 'type'])
    }
  }
  for (const body of ['[]', '"text"', 'null', '1']) {
    assert.equal((await client.request('POST', '/core/v1/chain', { body })).status, 422, body)
  }
})

test('Errors: the 422 of chain lists every fault under details.errors, of streaming under detail', async (t) => {
  const { client } = await startService(t, { script: {} })
  const body = { messages: [{ role: 'nobody', content: 1 }], data_filter_hints: [{}], on_disconnect: 'maybe' }
  const chain = await client.chat(body)
  const stream = await client.stream(body)
  assert.deepEqual(chain.body.details.errors, stream.body.detail)
  const places = stream.body.detail.map((fault: { loc: unknown[] }) => fault.loc.join('.'))
  for (const place of ['body.messages.0.role', 'body.messages.0.content', 'body.data_filter_hints.0.tool_name', 'body.on_disconnect']) {
    assert.ok(places.includes(place), `${place} in ${places}`)
  }
})

test('Errors: __proto__ and constructor in a body change nothing', async (t) => {
  const seen: object[] = []
  const look = fakeTool('look', async (input) => {
    seen.push(input)
    return {}
  })
  const { client } = await startService(t, { tools: [look], script: {} })
  for (const key of ['__proto__', 'constructor']) {
    const inner = key === '__proto__' ? '{"polluted": true}' : '{"prototype": {"polluted": true}}'
    const replies = [
      await client.request('POST', '/core/v1/chain', { body: `{"messages": [{"role": "user", "content": "x"}], "${key}": ${inner}}` }),
      await client.request('POST', '/core/v1/tool/execute', { body: `{"tool_name": "look", "tool_input": {"${key}": ${inner}}}` }),
    ]
    for (const { status } of replies) assert.ok(status === 200 || status === 422, `${key}: ${status}`)
  }
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
  for (const input of seen) assert.equal((input as { polluted?: boolean }).polluted, undefined)
})

test('Errors: a body over HTTP_BODY_LIMIT is 413, by its declared length or while it arrives', async (t) => {
  const { client, url, key } = await startService(t, { script: {}, environment: { HTTP_BODY_LIMIT: '1kb' } })
  const large = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(2000) }] })
  for (const path of ['/core/v1/chain', '/core/v1/chain_streaming', '/core/v1/tool/execute']) {
    const { status, body } = await client.request('POST', path, { body: large })
    assert.deepEqual(
      { status, status_code: body.status_code, details: body.details },
      { status: 413, status_code: 413, details: { error_type: 'MaxInputException' } },
      path,
    )
  }
  assert.equal(await postInPieces(`${url}/core/v1/chain`, (await key()).key, large), 413)
  assert.equal((await client.chat('hello')).status, 200)
})

/** The request has no content-length. */
async function postInPieces(address: string, key: string, body: string): Promise<number | undefined> {
  const headers = { 'x-service-access': key, 'content-type': 'application/json' }
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const request = httpRequest(address, { method: 'POST', headers, agent: false }, (response) => {
    response.resume()
    resolve(response.statusCode)
  })
  request.on('error', reject)
  request.write(body.slice(0, 100))
  request.end(body.slice(100))
  return promise
}

test('Errors: a bug is an opaque 500 Exception; the log has it under the request id', async (t) => {
  const { client, service, log } = await startService(t, { script: {} })
  service.agent.tools.list = () => {
    throw new TypeError('internal-detail')
  }
  const listed = await client.request('GET', '/core/v1/tools', { headers: { 'request-id': 'r-list' } })
  const chained = await client.chat('hello', { 'request-id': 'r-chain' })
  for (const { status, body } of [listed, chained]) {
    assert.deepEqual(
      { status, body },
      { status: 500, body: { body: 'Internal server error.', status_code: 500, details: { error_type: 'Exception' } } },
    )
  }
  for (const id of ['r-list', 'r-chain']) {
    assert.ok(
      log.some((line) => line.includes('internal-detail') && line.includes(id)),
      id,
    )
  }
})

test('Errors: a stopping service finishes its runs, and refuses new chats with 503 and retry-after', async (t) => {
  const gate = gatedTool('wait')
  const { client, close } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'done' }] })
  const running = client.chat('go')
  await gate.entered
  const closing = close(10_000)
  const { status, headers, body } = await client.chat('hello')
  assert.deepEqual({ status, details: body.details }, { status: 503, details: { error_type: 'Overloaded' } })
  assert.ok(headers.has('retry-after'))
  assert.equal((await client.request('GET', '/health/ready')).status, 503)
  assert.equal((await client.request('GET', '/health')).status, 200)
  gate.open()
  assert.equal((await running).body.body.output, 'done')
  await closing
})

test('Errors: no answer, header or log line contains a key, a message or a tool input', async (t) => {
  const look = fakeTool('look', async () => ({ result: 'tool-output-text' }))
  const { client, key, log, url } = await startService(t, {
    tools: [look],
    script: [{ calls: [{ name: 'look', arguments: '{"a":"tool-input-text"}' }] }, { text: 'answer-text' }],
  })
  await client.chat('message-text', { 'session-id': 's' })
  await client.chat('x'.repeat(200_001))
  await client.request('POST', '/core/v1/chain', { body: '{"message-text": ' })
  const { key: secret } = await key()
  await fetch(`${url}/core/v1/tools`, { headers: { 'x-service-access': `${secret}x` } })
  const logged = log.join('')
  assert.match(logged, /"route":"\/core\/v1\/chain"/)
  for (const text of [
    'message-text',
    'answer-text',
    'tool-input-text',
    'tool-output-text',
    'model-secret-key',
    secret.slice(0, 40),
    'eyJ',
  ]) {
    assert.ok(!logged.includes(text), text)
  }
})

test('Errors: an unsupported method of a path is 405; HEAD is allowed with GET', async (t) => {
  const { client, url, key } = await startService(t, { script: {} })
  const headers = { 'x-service-access': (await key()).key }
  for (const method of ['OPTIONS', 'PROPFIND', 'QUERY', 'HEAD']) {
    const { status, headers: answered } = await client.request(method, '/core/v1/chain')
    assert.deepEqual({ status, allow: answered.get('allow') }, { status: 405, allow: 'POST' }, method)
    assert.equal((await client.request(method, '/core/v1/nothing')).status, 404, method)
  }
  for (const [path, status] of [
    ['/health', 200],
    ['/core/v1/sessions', 200],
    ['/core/v1/runs/none', 404],
    ['/core/v1/runs/none/stream', 405],
  ] as const) {
    const reply = await fetch(url + path, { method: 'HEAD', headers })
    assert.deepEqual({ status: reply.status, text: await reply.text() }, { status, text: '' }, path)
  }
})

test('Errors: malformed HTTP and oversized headers are answered in the same shape', async (t) => {
  const { url } = await startService(t, { script: {} })
  for (const [request, status, errorType] of [
    ['NONSENSE / HTTP/1.1\r\n\r\n', 400, 'BadRequest'],
    ['GET /health HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n', 400, 'BadRequest'],
    [`GET /health HTTP/1.1\r\nhost: a\r\nlong: ${'x'.repeat(40_000)}\r\n\r\n`, 431, 'HeadersTooLarge'],
  ] as const) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(request)
    const [head, body] = (await text(socket)).split('\r\n\r\n')
    assert.match(head!, new RegExp(`^HTTP/1.1 ${status} [^]*content-type: application/json`))
    const { status_code, details } = JSON.parse(body!)
    assert.deepEqual({ status_code, details }, { status_code: status, details: { error_type: errorType } })
  }
})

test('Errors: a body with an unsupported content coding is 415', async (t) => {
  const { client } = await startService(t, { script: {} })
  const reply = await client.request('POST', '/core/v1/chain', { body: chat, headers: { 'content-encoding': 'gzip' } })
  assert.deepEqual({ status: reply.status, details: reply.body.details }, { status: 415, details: { error_type: 'UnsupportedMediaType' } })
  assert.equal((await client.request('POST', '/core/v1/chain', { body: chat, headers: { 'content-encoding': 'identity' } })).status, 200)
})

test('Errors: a 401 names the authentication scheme', async (t) => {
  const { url } = await startService(t, { script: {} })
  assert.equal((await fetch(`${url}/core/v1/tools`)).headers.get('www-authenticate'), 'Bearer')
})

test('Errors: a nullable field has one fault', async (t) => {
  const { client } = await startService(t, { script: {} })
  const { body } = await client.request('POST', '/core/v1/chain_streaming', {
    body: { ...chat, session_id: 5, images: [{ type: 'url', content: '' }], auto_memory_retain: 'x' },
  })
  assert.deepEqual(body.detail.map(({ loc }: { loc: string[] }) => loc.join('.')).toSorted(), [
    'body.auto_memory_retain',
    'body.images.0.type',
    'body.session_id',
  ])
})
