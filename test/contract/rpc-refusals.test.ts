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
      assert.deepEqual({ jsonrpc: reply.body.jsonrpc, id: reply.body.id }, { jsonrpc: '2.0', id: null }, reply.text)
      return { status: reply.status, code: reply.body.error.code, text: reply.body.error.message }
    }
    for (const text of ['{', '{"id": 1,}', '{"__proto__": {}}']) {
      const { text: said, ...refusal } = await send(text)
      assert.deepEqual({ refusal, said }, { refusal: { status, code: -32_700 }, said: 'The body is not valid JSON.' })
    }
    // Revision 2025-03-26 of MCP has batches.
    const batch = JSON.stringify([path === '/mcp' ? 7 : message])
    for (const value of ['[]', '7', 'null', '""', batch]) {
      const { text, ...refusal } = await send(value)
      assert.deepEqual(refusal, { status, code: -32_600 }, value)
      assert.match(text, /^body(\.0)?: must (be object|have 1 to 50 messages, but has 0)/, value)
    }
    const xml = await send('<a/>', { 'content-type': 'application/xml' })
    assert.deepEqual({ status: xml.status, code: xml.code }, { status: 415, code: path === '/a2a' ? -32_005 : -32_600 })
    const header = await send(message, { 'session-id': '../up' })
    assert.deepEqual({ status: header.status, code: header.code }, { status: 422, code: -32_600 })
    assert.match(header.text, /^header\.session-id: /)
  })

  test(`${path}: a refused key is a plain HTTP error`, async (t) => {
    const service = await startService(t, { script: {} })
    const unknown = await service.client.request('POST', path, { body: '{', headers: { 'x-service-access': 'x' } })
    assert.deepEqual({ status: unknown.status, error_type: unknown.body.details.error_type }, { status: 401, error_type: 'Unauthorized' })
    const viewer = await service.as({ roles: ['viewer'] })
    const refused = await viewer.request('POST', path, { body: '{' })
    assert.deepEqual({ status: refused.status, error_type: refused.body.details.error_type }, { status: 403, error_type: 'Forbidden' })
  })
}

test('/mcp: a method that is no text is an invalid request', async (t) => {
  const { client } = await startService(t, { script: {} })
  for (const method of [5, null, [], { toString: 1, valueOf: 1 }]) {
    const reply = await client.request('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method } })
    assert.deepEqual({ status: reply.status, code: reply.body.error.code }, { status: 400, code: -32_600 }, reply.text)
  }
})

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
    assert.deepEqual(
      { status: reply.status, jsonrpc: reply.body.jsonrpc, id: reply.body.id, code: reply.body.error.code },
      { status: 200, jsonrpc: '2.0', id, code: -32_600 },
      reply.text,
    )
    assert.match(reply.body.error.message, message)
  }
})
