import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

for (const [path, status] of [
  ['/a2a', 200],
  ['/mcp', 400],
] as const) {
  test(`${path}: a request without a JSON-RPC message is refused with a JSON-RPC error`, async (t) => {
    const service = await startService(t, { script: {} })
    const send = async (body: unknown, headers: Record<string, string> = {}) => {
      const reply = await service.client.request('POST', path, { body, headers })
      assert.deepEqual([reply.body.jsonrpc, reply.body.id], ['2.0', null], reply.text)
      return { status: reply.status, code: reply.body.error.code, text: reply.body.error.message }
    }
    for (const text of ['{', '{"id": 1,}', '{"__proto__": {}}']) {
      const { text: said, ...refusal } = await send(text)
      assert.deepEqual([refusal, said], [{ status, code: -32_700 }, 'The body is not valid JSON.'])
    }
    for (const value of ['[]', '7', 'null', '""', JSON.stringify([message])]) {
      const { text, ...refusal } = await send(value)
      assert.deepEqual(refusal, { status, code: -32_600 }, value)
      assert.match(text, /^body: must be object/)
    }
    const xml = await send('<a/>', { 'content-type': 'application/xml' })
    assert.deepEqual([xml.status, xml.code], [415, -32_600])
    const header = await send(message, { 'session-id': '../up' })
    assert.deepEqual([header.status, header.code], [422, -32_600])
    assert.match(header.text, /^header\.session-id: /)
  })

  test(`${path}: a refused key is a plain HTTP error`, async (t) => {
    const service = await startService(t, { script: {} })
    const unknown = await service.client.request('POST', path, { body: '{', headers: { 'x-service-access': 'x' } })
    assert.deepEqual([unknown.status, unknown.body.details.error_type], [401, 'Unauthorized'])
    const viewer = await service.as({ roles: ['viewer'] })
    const refused = await viewer.request('POST', path, { body: '{' })
    assert.deepEqual([refused.status, refused.body.details.error_type], [403, 'Forbidden'])
  })
}

test('/a2a: an object that is not a JSON-RPC request is an invalid request, and the error names the fault', async (t) => {
  const service = await startService(t, { script: {} })
  const cases: [request: Record<string, unknown>, id: unknown, message: RegExp][] = [
    [{ x: 1 }, null, /^jsonrpc must be/],
    [{ jsonrpc: '1.0', id: 7, method: 'GetTask', params: { id: 'x' } }, 7, /^jsonrpc must be/],
    [{ jsonrpc: '2.0', id: 'a' }, 'a', /^method must be/],
    [{ jsonrpc: '2.0', id: 1, method: 5 }, 1, /^method must be/],
    [{ jsonrpc: '2.0', id: 1.5, method: 'GetTask', params: { id: 'x' } }, null, /^id must be/],
    [{ jsonrpc: '2.0', id: {}, method: 'GetTask', params: { id: 'x' } }, null, /^id must be/],
    [{ jsonrpc: '2.0', method: 'GetTask', params: { id: 'x' } }, null, /^id must be/],
  ]
  for (const [body, id, message] of cases) {
    const reply = await service.client.request('POST', '/a2a', { body, headers: { 'a2a-version': '1.0' } })
    assert.deepEqual([reply.status, reply.body.jsonrpc, reply.body.id, reply.body.error.code], [200, '2.0', id, -32_600], reply.text)
    assert.match(reply.body.error.message, message)
  }
})
