import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

const message = { role: 'user', content: 'go' }
const rpc = { jsonrpc: '2.0', id: 1 }

/** The text of a stream up to its first keep-alive, with its status. */
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
  const { status, headers: sent } = response
  return { status, type: sent.get('content-type')!, session: sent.get('session-id'), first: value, reader }
}

async function restOf(reader: ReadableStreamDefaultReader<string>): Promise<string> {
  let text = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
  return text
}

test('Streaming: over every protocol, the stream of a queued run begins with a keep-alive before the run starts', async (t) => {
  const gate = gatedTool('wait', { timeoutMs: 60_000 })
  const service = await startService(t, {
    tools: [gate.tool],
    script: [callOf('wait'), { text: 'done' }],
    config: { name: 'agent', limits: { max_session_wait: 5 } },
    streamKeepAliveMs: 200,
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
    firstOf(service, '/v1/messages', { model: 'agent', messages: [message], max_tokens: 9, stream: true }, busy),
    firstOf(service, '/a2a', a2a, { 'a2a-version': '1.0' }),
    firstOf(service, '/mcp', mcp, { 'mcp-protocol-version': '2025-06-18' }),
  ])
  for (const { status, type, first } of opened) {
    assert.deepEqual({ status, type }, { status: 200, type: 'text/event-stream; charset=utf-8' })
    assert.match(first!, /^(: keep-alive\n\n)+$/)
  }
  // No queued run started in time.
  const [own, completion, response, task] = await Promise.all(opened.map(({ reader }) => restOf(reader)))
  const last = JSON.parse(/data: (.*)\n\n$/.exec(own!)![1]!)
  assert.deepEqual(
    { finish_reason: last.finish_reason, status_code: last.error.status_code, error_type: last.error.details.error_type },
    { finish_reason: 'error', status_code: 409, error_type: 'SessionBusy' },
  )
  for (const text of [completion, response, task]) assert.match(text!, /data: .*session.*\n\n/i)
  gate.open()
  assert.equal((await running).status, 200)
})

test('Headers: a repeat without session-id gets the session of the first, also when its stream begins before the run', async (t) => {
  const gate = gatedTool('wait', { timeoutMs: 60_000 })
  const service = await startService(t, {
    tools: [gate.tool],
    script: [callOf('wait'), { text: 'done' }, { text: 'next' }, { text: 'next' }, { text: 'next' }],
    config: { name: 'agent' },
    streamKeepAliveMs: 200,
  })
  const running = service.client.chat('go', { 'session-id': 's' })
  await gate.entered
  const chats = [
    ['/core/v1/chain_streaming', { messages: [message] }],
    ['/v1/chat/completions', { model: 'agent', messages: [message], stream: true }],
    ['/v1/responses', { model: 'agent', input: 'go', stream: true }],
    ['/v1/messages', { model: 'agent', messages: [message], max_tokens: 9, stream: true }],
  ] as const
  const pairs = chats.map(async ([path, body], n) => {
    const id = { 'request-id': `r${n}` }
    const first = firstOf(service, path, body, { ...id, 'session-id': 's' })
    await until(
      () => service.client.run(id['request-id']),
      ({ status }) => status === 200,
    )
    return Promise.all([first, firstOf(service, path, body, id)])
  })
  const opened = (await Promise.all(pairs)).flat()
  for (const { first, session } of opened) {
    assert.match(first!, /^(: keep-alive\n\n)+$/)
    assert.equal(session, 's')
  }
  gate.open()
  assert.equal((await running).status, 200)
  for (const { reader } of opened) assert.match(await restOf(reader), /next/)
})

test('Headers: a repeat without session-id that ends while queued names the session of the first', async (t) => {
  const gate = gatedTool('wait', { timeoutMs: 60_000 })
  const { client } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'done' }] })
  const running = client.chat('go', { 'session-id': 's' })
  await gate.entered
  const first = client.chat('go', { 'request-id': 'r', 'session-id': 's' })
  await until(
    () => client.run('r'),
    ({ status }) => status === 200,
  )
  const repeat = client.chat('go', { 'request-id': 'r' })
  // The refusal shows that the repeat, sent before it, has arrived.
  assert.equal((await client.chat('other', { 'request-id': 'r' })).status, 409)
  assert.equal((await client.request('DELETE', '/core/v1/runs/r')).status, 200)
  for (const { status, body, headers } of await Promise.all([first, repeat])) {
    assert.deepEqual(
      { status, error_type: body.details.error_type, 'session-id': headers.get('session-id') },
      { status: 409, error_type: 'Cancelled', 'session-id': 's' },
    )
  }
  gate.open()
  assert.equal((await running).status, 200)
})
