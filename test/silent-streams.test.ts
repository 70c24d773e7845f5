import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService, type TestService } from './service-fixture.ts'
import { callOf, gatedTool } from './service-tools.ts'

const message = { role: 'user', content: 'go' }
const rpc = { jsonrpc: '2.0', id: 1 }

/** What comes of a stream up to its first keep-alive, with its status. */
async function firstOf(service: TestService, path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: {
      'x-service-access': (await service.key()).key,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const { value } = await reader.read()
  return { status: response.status, type: response.headers.get('content-type')!, first: value, reader }
}

async function restOf(reader: ReadableStreamDefaultReader<string>): Promise<string> {
  let text = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
  return text
}

test('Streaming: a stream that has to wait begins with a keep-alive, before its run has a turn, on every door', async (t) => {
  const gate = gatedTool('wait', { timeoutMs: 60_000 })
  const service = await startService(t, {
    tools: [gate.tool],
    script: [callOf('wait'), { text: 'done' }],
    config: { name: 'agent', limits: { max_session_wait: 20 } },
  })
  const running = service.client.chat('go', { 'session-id': 's' })
  await gate.entered
  const busy = { 'session-id': 's' }
  const a2a = {
    ...rpc,
    method: 'SendStreamingMessage',
    params: { message: { messageId: 'm', contextId: 's', role: 'ROLE_USER', parts: [{ text: 'go' }] } },
  }
  const mcp = { ...rpc, method: 'tools/call', params: { name: 'ask', arguments: { message: 'go', session_id: 's' } } }
  const opened = await Promise.all([
    firstOf(service, '/core/v1/chain_streaming', { messages: [message] }, busy),
    firstOf(service, '/v1/chat/completions', { model: 'agent', messages: [message], stream: true }, busy),
    firstOf(service, '/v1/responses', { model: 'agent', input: 'go', stream: true }, busy),
    firstOf(service, '/a2a', a2a, { 'a2a-version': '1.0' }),
    firstOf(service, '/mcp', mcp, { 'mcp-protocol-version': '2025-06-18' }),
  ])
  for (const { status, type, first } of opened) {
    assert.deepEqual([status, type], [200, 'text/event-stream; charset=utf-8'])
    assert.equal(first, ': keep-alive\n\n')
  }
  // None of them had its turn in time.
  const [own, completion, response, task] = await Promise.all(opened.map(({ reader }) => restOf(reader)))
  const last = JSON.parse(/data: (.*)\n\n$/.exec(own!)![1]!)
  assert.deepEqual([last.finish_reason, last.error.status_code, last.error.details.error_type], ['error', 409, 'SessionBusy'])
  for (const text of [completion, response, task]) assert.match(text!, /data: .*session.*\n\n/i)
  gate.open()
  assert.equal((await running).status, 200)
})
