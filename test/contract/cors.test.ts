import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, test } from 'node:test'
import { startService, type TestService } from '../fixtures/service.ts'

const origin = 'https://app.example'
const listed = { CORS_ORIGINS: `${origin}, http://localhost:3000` }

let service: TestService
let key: string
before(async (t) => {
  service = await startService(t as never, { environment: listed })
  ;({ key } = await service.key())
})

async function send(method: string, path: string, headers: Record<string, string> = {}, body?: object) {
  const json = body && { 'content-type': 'application/json' }
  const init = { method, headers: { origin, ...json, ...headers }, ...(body && { body: JSON.stringify(body) }) }
  const response = await fetch(service.url + path, init)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

function preflight(path: string, headers: Record<string, string> = {}) {
  return send('OPTIONS', path, { 'access-control-request-method': 'POST', ...headers })
}

const question = { messages: [{ role: 'user', content: 'What is 2 + 2?' }] }

/** The headers of CORS of a reply; undefined for absent ones. */
function corsOf({ headers }: { headers: Headers }) {
  const value = (name: string) => headers.get(name) ?? undefined
  return { origin: value('access-control-allow-origin'), credentials: value('access-control-allow-credentials'), vary: value('vary') }
}

const allowed = { origin, credentials: undefined, vary: 'origin' }

test('CORS: a preflight is answered without a key, for every door, an unknown path and a path that cannot be decoded', async () => {
  const doors = [
    '/core/v1/chain',
    '/core/v1/runs/r',
    '/v1/chat/completions',
    '/v1/messages',
    '/mcp',
    '/a2a',
    '/health',
    '/docs/',
    '/nothing',
    '/core/v1/runs/%ff',
  ]
  for (const path of doors) {
    const headers = { 'access-control-request-headers': 'content-type, x-service-access, stix-user' }
    const reply = await preflight(path, headers)
    assert.equal(reply.status, 204, path)
    assert.equal(reply.text, '')
    assert.deepEqual(corsOf(reply), { ...allowed, vary: 'origin, access-control-request-headers' })
    assert.equal(reply.headers.get('access-control-allow-methods'), 'GET, HEAD, POST, PUT, PATCH, DELETE')
    assert.equal(reply.headers.get('access-control-allow-headers'), headers['access-control-request-headers'])
    assert.equal(reply.headers.get('access-control-max-age'), '7200')
  }
})

test('CORS: answers of every kind can be read: JSON, streams, errors, files, cached pages', async () => {
  const access = { 'x-service-access': key }
  const replies = {
    json: await send('POST', '/core/v1/chain', access, question),
    stream: await send('POST', '/core/v1/chain_streaming', access, question),
    keyless: await send('POST', '/core/v1/chain', {}, question),
    invalid: await send('POST', '/core/v1/chain', access, {}),
    unknown: await send('GET', '/nothing', access),
    otherMethod: await send('DELETE', '/core/v1/chain', access),
    undecodable: await send('GET', '/core/v1/runs/%ff', access),
    openAi: await send('POST', '/v1/chat/completions', access, { model: 'x', messages: [] }),
    rpc: await send('POST', '/a2a', access, { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } }),
    public: await send('GET', '/health'),
  }
  const statuses = Object.fromEntries(Object.entries(replies).map(([name, { status }]) => [name, status]))
  assert.deepEqual(statuses, {
    json: 200,
    stream: 200,
    keyless: 401,
    invalid: 422,
    unknown: 404,
    otherMethod: 405,
    undecodable: 404,
    openAi: 400,
    rpc: 200,
    public: 200,
  })
  for (const [name, reply] of Object.entries(replies)) {
    assert.deepEqual(corsOf(reply), allowed, name)
    assert.match(reply.headers.get('access-control-expose-headers') ?? '', /session-id, request-id,.*etag, retry-after,.*www-authenticate/)
  }
  assert.match(replies.stream.text, /"finish_reason":"stop"/)
})

test('CORS: a route that varies by another header says so too', async () => {
  const { key: admin } = await service.key({ roles: ['admin'] })
  const reply = await send('GET', '/core/v1/agent/config', { 'x-service-access': admin })
  assert.deepEqual(corsOf(reply), { ...allowed, vary: 'accept, origin' })
})

test('CORS: other origins get no header, and caches know it', async () => {
  const others = ['https://app.example.evil', 'http://app.example', 'https://app.example:8443', 'https://sub.app.example', 'null']
  for (const other of others) {
    const refused = await preflight('/core/v1/chain', { origin: other })
    assert.deepEqual(
      { status: refused.status, ...corsOf(refused) },
      { status: 405, origin: undefined, credentials: undefined, vary: 'origin' },
    )
    const health = await send('GET', '/health', { origin: other })
    assert.deepEqual(
      { status: health.status, ...corsOf(health) },
      { status: 200, origin: undefined, credentials: undefined, vary: 'origin' },
    )
  }
})

test('CORS: OPTIONS without a preflight is still a method that routes lack', async () => {
  const reply = await send('OPTIONS', '/core/v1/chain')
  assert.deepEqual({ status: reply.status, ...corsOf(reply) }, { status: 405, ...allowed })
})

test('CORS: an early refusal of a body that is still being sent can be read', async () => {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  const head = ['POST /core/v1/chain HTTP/1.1', 'host: x', `origin: ${origin}`, 'content-type: application/json', 'content-length: 9000000']
  socket.write(`${head.join('\r\n')}\r\n\r\n{`)
  const text = String(await new Promise((resolve) => socket.once('data', resolve)))
  socket.destroy()
  assert.match(text, /^HTTP\/1.1 401 /)
  assert.match(text, /\r\naccess-control-allow-origin: https:\/\/app\.example\r\n/)
})

test('CORS: /mcp accepts pages of the listed origins alone', async () => {
  const message = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const headers = { 'x-service-access': key, accept: 'application/json, text/event-stream' }
  const reply = await send('POST', '/mcp', headers, message)
  assert.deepEqual({ status: reply.status, ...corsOf(reply) }, { status: 200, ...allowed })
  const refused = await send('POST', '/mcp', { ...headers, origin: 'https://other.example' }, message)
  assert.equal(refused.status, 403)
})

test('CORS: without CORS_ORIGINS no answer mentions it', async (t) => {
  const plain = await startService(t)
  const headers = { origin, 'access-control-request-method': 'POST' }
  const response = await fetch(`${plain.url}/core/v1/chain`, { method: 'OPTIONS', headers })
  assert.equal(response.status, 405)
  const health = await fetch(`${plain.url}/health`, { headers: { origin } })
  for (const { headers } of [response, health])
    assert.deepEqual(
      [...headers.keys()].filter((name) => /^(access-control|vary)/.test(name)),
      [],
    )
})
