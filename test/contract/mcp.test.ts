import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  Client,
  ProtocolError,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client'
import { startService, type TestService, type Who } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

type Mode = NonNullable<VersionNegotiationOptions['mode']>

const modes = ['legacy', 'auto'] as const
const revisions = { legacy: '2025-11-25', auto: '2026-07-28' }

interface Connecting {
  mode?: Mode
  who?: Who
  headers?: Record<string, string>
}

async function connect(t: TestContext, service: TestService, { mode = 'auto', who, headers }: Connecting = {}): Promise<Client> {
  const { key } = await service.key(who)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { 'x-service-access': key, ...headers } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  return client
}

function textOf(result: CallToolResult): string {
  const [first] = result.content
  return first?.type === 'text' ? first.text : ''
}

const noted: Record<string, string>[] = []
const note = fakeTool(
  'take note',
  async (input, { headers }) => {
    noted.push({ ...headers })
    return { got: input }
  },
  { effect: 'write', schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
)
const broken = fakeTool('broken', async () => {
  throw new Error('the disk is full')
})
const drawing = fakeTool('drawing', async (_input, context) => {
  await context.artifact('plan.svg', 'image/svg+xml', Buffer.from('<svg/>'))
  return 'drawn'
})

for (const mode of modes) {
  test(`MCP: a client of revision ${revisions[mode]} asks the agent, and continues in the returned session`, async (t) => {
    const service = await startService(t, {
      script: [{ text: 'Hello Ann.' }, { text: 'Ann.' }],
      config: { name: 'Helper', description: 'Knows names.' },
    })
    const client = await connect(t, service, { mode })
    assert.equal(client.getNegotiatedProtocolVersion(), revisions[mode])
    assert.equal(client.getServerVersion()?.name, 'Helper')
    const first = await client.callTool({ name: 'ask', arguments: { message: 'I am Ann.' } })
    const { output, session_id, request_id } = first.structuredContent as Record<string, string>
    assert.deepEqual({ output, textOf: textOf(first) }, { output: 'Hello Ann.', textOf: 'Hello Ann.' })
    await client.callTool({ name: 'ask', arguments: { message: 'Who am I?', session_id } })
    const texts = service.model.requests[1]!.body.messages.map((message: { content: string }) => message.content)
    assert.deepEqual(texts.slice(-3), ['I am Ann.', 'Hello Ann.', 'Who am I?'])
    assert.equal(
      (await service.client.run(request_id!)).body.body?.session_id ?? (await service.client.run(request_id!)).body.session_id,
      session_id,
    )
  })

  test(`MCP: tools are listed by valid names and run directly, with the caller's context (${mode})`, async (t) => {
    noted.length = 0
    const service = await startService(t, { tools: [note, broken, drawing, fakeTool('ask', async () => 'not the agent')] })
    const client = await connect(t, service, { mode, headers: { 'stix-team': 'red', 'stix-desk': '7' } })
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name).filter((name) => !['calculator', 'current_time'].includes(name)),
      ['ask', 'take_note', 'broken', 'drawing', 'ask_2'],
    )
    assert.equal(tools.find(({ name }) => name === 'take_note')?.annotations?.readOnlyHint, false)

    const result = await client.callTool({ name: 'take_note', arguments: { text: 'milk' }, _meta: { 'Stix-Team': 'blue', other: 'x' } })
    assert.deepEqual(result.structuredContent, { got: { text: 'milk' } })
    assert.deepEqual(noted, [{ 'stix-team': 'blue', 'stix-desk': '7' }])

    const failed = await client.callTool({ name: 'broken', arguments: {} })
    assert.deepEqual({ isError: failed.isError, textOf: textOf(failed) }, { isError: true, textOf: 'the disk is full' })
    const unfit = await client.callTool({ name: 'take_note', arguments: {} })
    assert.equal(unfit.isError, true)
    assert.match(textOf(unfit), /^InvalidInput: .*text/)
    await assert.rejects(
      client.callTool({ name: 'nothing', arguments: {} }),
      (error: unknown) => error instanceof ProtocolError && error.code === -32602,
    )

    const drawn = await client.callTool({ name: 'drawing', arguments: {} })
    const link = drawn.content.find((part) => part.type === 'resource_link')
    assert.equal(link?.name, 'plan.svg')
    assert.equal(await (await fetch(link?.uri ?? '')).text(), '<svg/>')
  })

  test(`MCP: the content that a tool returns is embedded beside the links, also in a repeat (${mode})`, async (t) => {
    const bytes = Buffer.from('some bytes')
    const large = Buffer.alloc(5 * 1024 * 1024)
    const tool = fakeTool('returns', async (_input, { artifact }) => {
      await artifact('a.png', 'image/png', bytes, { isReturned: true })
      await artifact('a.wav', 'audio/wav', bytes, { isReturned: true })
      await artifact('a.txt', 'text/plain', bytes, { isReturned: true, uri: 'test://a' })
      await artifact('a.bin', 'application/octet-stream', bytes, { isReturned: true })
      await artifact('kept.png', 'image/png', bytes)
      await artifact('large.png', 'image/png', large, { isReturned: true })
      return 'Done.'
    })
    const service = await startService(t, { tools: [tool] })
    const client = await connect(t, service, { mode, headers: { 'request-id': 'again' } })
    for (let time = 0; time < 2; time++) {
      const { content } = await client.callTool({ name: 'returns', arguments: {} })
      const types = content.map(({ type }) => type)
      assert.deepEqual(types.slice(0, 5), ['text', 'image', 'audio', 'resource', 'resource'])
      assert.deepEqual(
        types.slice(5),
        Array.from({ length: 6 }, () => 'resource_link'),
      )
      const data = bytes.toString('base64')
      assert.deepEqual(content[1], { type: 'image', mimeType: 'image/png', data })
      assert.deepEqual(content[2], { type: 'audio', mimeType: 'audio/wav', data })
      assert.deepEqual(content[3], { type: 'resource', resource: { uri: 'test://a', mimeType: 'text/plain', text: 'some bytes' } })
      const [, , , , blob, ...links] = content
      assert.ok(blob?.type === 'resource' && 'blob' in blob.resource && blob.resource.blob === data)
      const link = links.find((one) => one.type === 'resource_link' && one.name === 'a.bin')
      assert.ok(link?.type === 'resource_link' && (await fetch(link.uri)).ok)
    }
  })

  test(`MCP: steps are progress notifications for a request with a progress token (${mode})`, async (t) => {
    const service = await startService(t, { script: [callOf('drawing'), { text: 'Done.' }], tools: [drawing] })
    const client = await connect(t, service, { mode })
    const told: (string | undefined)[] = []
    const onprogress = ({ message }: { message?: string | undefined }) => void told.push(message)
    const result = await client.callTool({ name: 'ask', arguments: { message: 'Draw.' } }, { onprogress })
    assert.equal(textOf(result), 'Done.')
    assert.deepEqual(told, ['drawing has started.', 'drawing has ended: success.'])
  })

  test(`MCP: a cancelled request ends at once, down to the socket of the model (${mode})`, async (t) => {
    const service = await startService(t, { script: { text: ['a', 'b'], silentAfter: 1 }, config: { limits: { reconnect_grace: 600 } } })
    const client = await connect(t, service, { mode })
    const leaving = new AbortController()
    const asked = client.callTool({ name: 'ask', arguments: { message: 'Go on for ever.' } }, { signal: leaving.signal })
    while (service.model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    leaving.abort()
    await assert.rejects(asked)
    assert.equal(await service.model.requests[0]!.closedEarly, true)
  })

  test(`MCP: a tool is told of its cancellation (${mode})`, async (t) => {
    const slow = gatedTool('slow')
    const service = await startService(t, { tools: [slow.tool] })
    const client = await connect(t, service, { mode })
    const leaving = new AbortController()
    const called = client.callTool({ name: 'slow', arguments: {} }, { signal: leaving.signal })
    await slow.entered
    leaving.abort()
    await assert.rejects(called)
    await slow.cancelled
    slow.open()
  })
}

test('Access: /mcp needs the permission chat, and a 401 names the authentication scheme', async (t) => {
  const service = await startService(t)
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const none = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.deepEqual(
    { status: none.status, 'www-authenticate': none.headers.get('www-authenticate') },
    { status: 401, 'www-authenticate': 'Bearer' },
  )
  assert.match(((await none.json()) as { body: string }).body, /^JWT verification failed/)
  const viewer = await service.as({ sub: 'vera', roles: ['viewer'] })
  const refused = await viewer.request('POST', '/mcp', { body })
  assert.equal(refused.status, 403)
  assert.match(refused.body.body, /^RBAC: access denied.*chat/)
  await assert.rejects(connect(t, service, { who: { roles: ['viewer'] } }))
})

test('Access: a tool call through /mcp needs tools.execute; without it only ask is listed', async (t) => {
  noted.length = 0
  const service = await startService(t, { script: { text: 'Hello.' }, tools: [note], config: { access: { roles: { talker: ['chat'] } } } })
  const client = await connect(t, service, { who: { sub: 'tom', roles: ['talker'] } })
  assert.deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ['ask'],
  )
  await assert.rejects(client.callTool({ name: 'take_note', arguments: { text: 'x' } }), /tools\.execute/)
  assert.deepEqual(noted, [])
  assert.equal(textOf(await client.callTool({ name: 'ask', arguments: { message: 'Hi' } })), 'Hello.')
})

test('Access: a session of another caller cannot be reached through /mcp', async (t) => {
  const service = await startService(t, { script: { text: 'A secret.' } })
  const ann = await connect(t, service)
  const first = await ann.callTool({ name: 'ask', arguments: { message: 'My secret is 42.' } })
  const { session_id } = first.structuredContent as { session_id: string }
  const bob = await connect(t, service, { who: { sub: 'bob' } })
  await bob.callTool({ name: 'ask', arguments: { message: 'What is it?', session_id } })
  assert.ok(!JSON.stringify(service.model.requests[1]!.body).includes('42'))
})

test('MCP: invalid messages are refused before anything runs', async (t) => {
  const service = await startService(t, { script: { text: 'Hello.' }, environment: { PUBLIC_URL: 'https://agents.example' } })
  const client = await connect(t, service)
  const asked = (input: Record<string, unknown>) => client.callTool({ name: 'ask', arguments: input })
  for (const [input, field] of [
    [{}, 'message'],
    [{ message: 7 }, 'message'],
    [{ message: 'x', session_id: '../up' }, 'session_id'],
    [{ message: 'x', sesion_id: 'a' }, 'sesion_id'],
  ] as const) {
    const result = await asked(input)
    assert.equal(result.isError, true)
    assert.match(textOf(result), new RegExp(`^ValidationError: .*${field}`))
  }
  const unfit = await client.callTool({ name: 'ask', arguments: { message: 'x' }, _meta: { 'stix-a': 'two\r\nlines' } })
  assert.match(textOf(unfit), /stix-a/)
  assert.equal(service.model.requests.length, 0)

  const batch = (body: unknown[], revision: string) =>
    service.client.request('POST', '/mcp', { body, headers: { 'mcp-protocol-version': revision } })
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  for (const [messages, revision, fault] of [
    [[list], '2025-06-18', /has no batches/],
    [[{ ...list, method: 'initialize' }], '2025-03-26', /initialize/],
    [[], '2025-03-26', /must have 1 to 50 messages, but has 0/],
    [Array.from({ length: 51 }, () => list), '2025-03-26', /must have 1 to 50 messages, but has 51/],
    [[7], '2025-03-26', /must be object/],
  ] as const) {
    const refused = await batch([...messages], revision)
    assert.deepEqual({ status: refused.status, code: refused.body.error.code }, { status: 400, code: -32600 })
    assert.match(refused.body.error.message, fault)
  }
  const from = (origin: string) =>
    service.client.request('POST', '/mcp', { body: list, headers: { origin, accept: 'application/json, text/event-stream' } })
  assert.equal((await from('https://evil.example')).status, 403)
  assert.equal((await from('https://agents.example')).status, 200)
  assert.equal((await service.client.request('GET', '/mcp')).status, 405)
})

test('MCP: a batch of revision 2025-03-26 is answered message by message, and each message counts as a request', async (t) => {
  const limits = { access: { rate_limits: { default: { requests_per_minute: 4 } } } }
  const service = await startService(t, { script: { text: 'Hello.' }, tools: [drawing], config: limits })
  const { key } = await service.key()
  const post = async (body: object[]) => {
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: { 'x-service-access': key, 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26', 'request-id': 'batch' },
      body: JSON.stringify(body),
    })
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
    return { status: response.status, messages: lines.map((line) => JSON.parse(line.slice('data: '.length))) }
  }
  const call = (id: number, params: object) => ({ jsonrpc: '2.0', id, method: 'tools/call', params })
  const ask = { name: 'ask', arguments: { message: 'Hi' } }
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
  const { messages } = await post([initialized, call(1, ask), call(2, { name: 'nothing' }), call(3, ask), call(4, ask)])
  assert.deepEqual(
    messages.map(({ id, result, error }) => [id, result?.structuredContent.request_id ?? error.code]),
    [
      [1, 'batch:1'],
      [2, -32602],
      [3, 'batch:3'],
      [4, -32000],
    ],
  )
  assert.match(messages[3].error.message, /More than 4 requests/)
})

test('Tools: a tool that needs approval is not run through /mcp, and its description says so', async (t) => {
  const made: unknown[] = []
  const send = fakeTool('send', async (input) => made.push(input), { effect: 'write', approval: { by: 'role' } })
  const service = await startService(t, { tools: [send] })
  const client = await connect(t, service)
  const { tools } = await client.listTools()
  assert.match(tools.find(({ name }) => name === 'send')?.description ?? '', /^The tool send\. .*approv/)
  const result = await client.callTool({ name: 'send', arguments: {} })
  assert.equal(result.isError, true)
  assert.match(textOf(result), /^ApprovalRequired: .*send needs the approval of a person/)
  assert.deepEqual(made, [])
})

test('Headers: a call with a repeated request-id runs once through /mcp', async (t) => {
  noted.length = 0
  const service = await startService(t, { script: { text: 'Hello.' }, tools: [note] })
  const asking = await connect(t, service, { headers: { 'request-id': 'ask-1' } })
  const ask = () => asking.callTool({ name: 'ask', arguments: { message: 'Hi' } })
  assert.deepEqual((await ask()).structuredContent, (await ask()).structuredContent)
  assert.equal(service.model.requests.length, 1)
  const noting = await connect(t, service, { headers: { 'request-id': 'note-1' } })
  await noting.callTool({ name: 'take_note', arguments: { text: 'milk' } })
  await noting.callTool({ name: 'take_note', arguments: { text: 'milk' } })
  assert.equal(noted.length, 1)
  const other = await noting.callTool({ name: 'take_note', arguments: { text: 'eggs' } })
  assert.match(textOf(other), /^RequestIdReused/)
})

test('Limits: runs opened through /mcp count as runs of the caller', async (t) => {
  const limits = { access: { rate_limits: { default: { concurrent_runs: 1 } } } }
  const service = await startService(t, { script: { text: ['a'], silentAfter: 1 }, config: limits })
  const client = await connect(t, service)
  const leaving = new AbortController()
  const first = client.callTool({ name: 'ask', arguments: { message: 'one' } }, { signal: leaving.signal })
  while (service.model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const second = await client.callTool({ name: 'ask', arguments: { message: 'two' } })
  assert.match(textOf(second), /^RateLimited/)
  leaving.abort()
  await assert.rejects(first)
})

/** Schemas as servers and API documents send them, several drafts and oddities included. */
const foreign: Record<string, Record<string, unknown>> = {
  booleans: { type: 'object', properties: { anything: true, nothing: false } },
  draft7: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    definitions: { a: { type: 'string' } },
    properties: { a: { $ref: '#/definitions/a' } },
  },
  draft2020: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { a: { type: 'string' } },
    properties: { a: { $ref: '#/$defs/a' } },
  },
  untyped: { properties: { a: { type: ['string', 'null'] } } },
  combined: {
    type: 'object',
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
    properties: { a: { enum: [1, 'x', null] }, b: { const: 2 } },
  },
  empty: {},
}

for (const mode of modes) {
  test(`MCP: a client of revision ${revisions[mode]} gets tools of other servers with their current schemas`, async (t) => {
    const tools = Object.entries(foreign).map(([name, schema]) => ({ ...fakeTool(`other__${name}`, async () => name), schema }))
    const service = await startService(t, { script: {}, tools })
    const client = await connect(t, service, { mode })
    const listed = (await client.listTools()).tools
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['ask', ...tools.map(({ name }) => name)],
    )
    for (const { name, inputSchema } of listed.slice(1)) {
      const { properties, $schema: _, ...rest } = foreign[name.slice('other__'.length)]!
      assert.equal(inputSchema.type, 'object')
      for (const [key, value] of Object.entries(rest))
        assert.deepEqual((inputSchema as Record<string, unknown>)[key], value, `${name} ${key}`)
      assert.deepEqual(Object.keys(inputSchema.properties ?? {}), Object.keys(properties ?? {}))
    }
    assert.equal(textOf(await client.callTool({ name: 'other__booleans', arguments: { anything: 1 } })), 'booleans')

    // The server has other tools by now.
    const { agent } = service.service
    const listing = (name: string) => ({
      name,
      entry: 'other',
      description: '',
      status: 'ready' as const,
      schema: {},
      tool: fakeTool(name, async () => 'new'),
    })
    agent.tools.list = () => [listing('other__new'), { name: 'gone', description: '', status: 'error', reason: 'x', schema: {} }]
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['ask', 'other__new'],
    )
    assert.equal(textOf(await client.callTool({ name: 'other__new', arguments: {} })), 'new')
    await assert.rejects(client.callTool({ name: 'other__booleans', arguments: {} }), /There is no tool other__booleans/)
  })
}

test('MCP: an annotated argument is compared with its header', async (t) => {
  const region = { type: 'string', 'x-mcp-header': 'Region' }
  const schema = { type: 'object', properties: { region, count: { type: 'integer', 'x-mcp-header': 'Count' } } }
  const seen: unknown[] = []
  const tool = fakeTool('place', async (input) => seen.push(input), { schema, effect: 'write' })
  const service = await startService(t, { tools: [tool] })
  const { key } = await service.key()
  const call = async (args: object, headers: Record<string, string>) => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: {
        'x-service-access': key,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'place',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'place', arguments: args, _meta: meta } }),
    })
    return { status: response.status, text: await response.text() }
  }
  const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
  for (const [args, headers] of [
    [{ region: 'us' }, { 'mcp-param-region': 'eu' }],
    [{ region: 'us' }, {}],
    [{ region: 'us' }, { 'mcp-param-region': '=?base64?%%?=' }],
    [{ region: 'us' }, { 'mcp-param-region': encoded('eu') }],
    [{ count: 7 }, { 'mcp-param-count': '8' }],
  ] as const) {
    const { status, text } = await call(args, headers)
    assert.equal(status, 400, JSON.stringify(headers))
    assert.equal(JSON.parse(text).error.code, -32020)
  }
  assert.deepEqual(seen, [])
  for (const [args, headers] of [
    [{ region: 'us' }, { 'mcp-param-region': 'us' }],
    [{ region: 'Zürich' }, { 'mcp-param-region': encoded('Zürich') }],
    [{ count: 7 }, { 'mcp-param-count': '7' }],
    [{}, { 'mcp-param-region': 'ignored' }],
  ] as const) {
    assert.equal((await call(args, headers)).status, 200, JSON.stringify(args))
  }
  assert.equal(seen.length, 4)
  // The official client sends the headers by itself.
  const client = await connect(t, service)
  await client.listTools()
  assert.equal((await client.callTool({ name: 'place', arguments: { region: 'Zürich', count: 1 } })).isError ?? false, false)
})

test('MCP: a client that accepts any type is answered, a client that accepts neither type gets 406 as JSON-RPC', async (t) => {
  const { client } = await startService(t, { script: {} })
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const list = (accept: string) => client.request('POST', '/mcp', { body, headers: { accept } })
  for (const accept of ['*/*', 'text/html, */*;q=0.8']) {
    const { status, text } = await list(accept)
    assert.deepEqual({ status, text: text.includes('"name":"ask"') }, { status: 200, text: true }, accept)
  }
  const { status, body: refused } = await list('text/html')
  assert.deepEqual({ status, jsonrpc: refused.jsonrpc }, { status: 406, jsonrpc: '2.0' })
})
