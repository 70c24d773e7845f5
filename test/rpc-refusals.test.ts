import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from './service-fixture.ts'

const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

for (const [path, status] of [
  ['/a2a', 200],
  ['/mcp', 400],
] as const) {
  test(`${path}: a request that holds no message of JSON-RPC is refused by an error of JSON-RPC`, async (t) => {
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

  test(`${path}: a refused key is refused as everywhere`, async (t) => {
    const service = await startService(t, { script: {} })
    const unknown = await service.client.request('POST', path, { body: '{', headers: { 'x-service-access': 'x' } })
    assert.deepEqual([unknown.status, unknown.body.details.error_type], [401, 'Unauthorized'])
    const viewer = await service.as({ roles: ['viewer'] })
    const refused = await viewer.request('POST', path, { body: '{' })
    assert.deepEqual([refused.status, refused.body.details.error_type], [403, 'Forbidden'])
  })
}
