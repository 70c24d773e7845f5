import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../test/fixtures/service.ts'
import { AgentCoreError, createClient } from '../src/index.ts'
import { serveReplies, type ScriptedReply } from './scripted-server.ts'

const json = (body: unknown, status = 200, headers: Record<string, string> = {}): ScriptedReply => {
  return (_, response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

async function failureOf(call: Promise<unknown>): Promise<AgentCoreError> {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.ok(error instanceof AgentCoreError, String(error))
  return error
}

test('request: a service answers with typed JSON, and errors carry what the service says', async (t) => {
  const { url, key } = await startService(t)
  const client = createClient({ baseUrl: `${url}/`, accessKey: (await key()).key })
  const body = { messages: [{ role: 'user' as const, content: 'What is 2 + 2?' }] }
  const { body: chat } = await client.request('POST', '/core/v1/chain', {
    body,
    headers: { 'request-id': 'r1', 'session-id': 's-1' },
  })
  assert.equal(chat.input, 'What is 2 + 2?')
  const run = await client.request('GET', '/core/v1/runs/{request_id}', { path: { request_id: 'r1' } })
  assert.deepEqual({ status: run.status, session: run.session_id }, { status: 'success', session: 's-1' })
  const { sessions } = await client.request('GET', '/core/v1/sessions', { query: { limit: 1 } })
  assert.equal(sessions.length, 1)
  const { status, headers } = await client.exchange('GET', '/core/v1/tools')
  assert.deepEqual({ status, hasId: headers.has('request-id') }, { status: 200, hasId: true })

  const missing = await failureOf(client.request('GET', '/core/v1/runs/{request_id}', { path: { request_id: 'a/b' } }))
  assert.equal(missing.status, 422)
  const unknown = await failureOf(
    client.request('GET', '/core/v1/runs/{request_id}', { path: { request_id: 'r2' }, headers: { 'request-id': 'q' } }),
  )
  assert.deepEqual(
    { status: unknown.status, type: unknown.errorType, id: unknown.requestId, message: unknown.message },
    { status: 404, type: 'NotFound', id: 'q', message: 'There is no run r2.' },
  )
  const wrong = await failureOf(client.request('GET', '/core/v1/sessions', { query: { limit: 1000 } }))
  assert.deepEqual([wrong.status, wrong.errorType, wrong.details.errors?.[0]?.loc], [422, 'ValidationError', ['query', 'limit']])
  assert.match(wrong.message, /^limit: /)
  const refused = await failureOf(client.request('GET', '/core/v1/agent/config'))
  assert.deepEqual([refused.status, refused.errorType], [403, 'Forbidden'])
  const keyless = await failureOf(createClient({ baseUrl: url }).request('GET', '/core/v1/tools'))
  assert.equal(keyless.status, 401)
})

test('request: the key and the headers may be functions, called for each request', async (t) => {
  const { url, requests } = await serveReplies(t, json({}), json({}), json({}))
  let count = 0
  const client = createClient({
    baseUrl: `${url}/prefix//`,
    accessKey: async () => `key ${(count += 1)}`,
    headers: (method) => ({ 'x-csrf-token': method === 'GET' ? undefined : 'token' }),
  })
  await client.request('GET', '/core/v1/sessions', { query: { limit: 2, before: 'a&b' }, headers: { stix: 'x', unset: undefined } })
  await client.request('DELETE', '/core/v1/sessions/{session_id}', { path: { session_id: 'a:b' } })
  await client.request('GET', '/core/v1/sessions', { query: { limit: undefined } })
  const seen = requests.map(({ method, url, headers }) => [
    method,
    url,
    headers['x-service-access'],
    headers['x-csrf-token'],
    headers['stix'],
  ])
  assert.deepEqual(seen, [
    ['GET', '/prefix/core/v1/sessions?limit=2&before=a%26b', 'key 1', undefined, 'x'],
    ['DELETE', '/prefix/core/v1/sessions/a%3Ab', 'key 2', 'token', undefined],
    ['GET', '/prefix/core/v1/sessions', 'key 3', undefined, undefined],
  ])
})

test('request: replies of proxies and broken replies are errors of the same class', async (t) => {
  const { url } = await serveReplies(
    t,
    (_, response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
    json({ body: 'slow down', status_code: 429, details: { error_type: 'RateLimited' } }, 429, { 'retry-after': '7', 'request-id': 'r' }),
    (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
    (_, response) =>
      void response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{', () => response.destroy()),
    (_, response) => void response.destroy(),
  )
  const client = createClient({ baseUrl: url })
  const next = async () => {
    const { status, errorType, message, requestId, retryAfter } = await failureOf(client.request('GET', '/core/v1/tools'))
    return { status, errorType, message: message.replace(url, 'URL'), requestId, retryAfter }
  }
  const none = { requestId: undefined, retryAfter: undefined }
  assert.deepEqual(await next(), { status: 502, errorType: 'Exception', message: 'The service answered with status 502.', ...none })
  assert.deepEqual(await next(), { status: 429, errorType: 'RateLimited', message: 'slow down', requestId: 'r', retryAfter: 7 })
  assert.deepEqual(await next(), { status: 200, errorType: 'InvalidReply', message: 'The reply is not valid JSON.', ...none })
  assert.deepEqual((await next()).errorType, 'NetworkError')
  const broken = await failureOf(client.request('GET', '/core/v1/tools'))
  assert.deepEqual([broken.status, broken.errorType, broken.cause instanceof Error], [0, 'NetworkError', true])
})

test('request: an aborted signal rejects with its reason', async (t) => {
  const leaving = new AbortController()
  const { url } = await serveReplies(t, () => leaving.abort(new Error('left')))
  const client = createClient({ baseUrl: url })
  await assert.rejects(client.request('GET', '/core/v1/tools', { signal: leaving.signal }), { message: 'left' })
  await assert.rejects(client.request('GET', '/core/v1/tools', { signal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('request: a redirect is not followed, so that no other address receives the key', async (t) => {
  const other = await serveReplies(t, json({}), json({}))
  const redirect: ScriptedReply = (_, response) => void response.writeHead(307, { location: `${other.url}/core/v1/tools` }).end()
  const { url } = await serveReplies(t, redirect, redirect)
  const client = createClient({ baseUrl: url, accessKey: 'secret', retries: 0 })
  const refused = await failureOf(client.request('GET', '/core/v1/tools'))
  assert.deepEqual([refused.status, refused.errorType, other.requests.length], [307, 'InvalidReply', 0])
  assert.match(refused.message, /set baseUrl/)
  const chat = await failureOf(client.chat({ messages: [{ role: 'user', content: 'hi' }] }))
  assert.deepEqual([chat.status, other.requests.length], [307, 0])
})

test('request: a parameter cannot lead to another route', async (t) => {
  const { url, requests } = await serveReplies(t)
  const client = createClient({ baseUrl: url })
  for (const id of ['.', '..', '']) await assert.rejects(client.sessions.delete(id), TypeError, id)
  assert.equal(requests.length, 0)
})
