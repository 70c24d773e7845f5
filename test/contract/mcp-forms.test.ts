import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport, type ElicitRequest, type ElicitResult } from '@modelcontextprotocol/client'
import { Suspended } from '../../src/agent/approval.ts'
import type { Tool } from '../../src/agent/tool.ts'
import { startAskingMcpServer } from '../fixtures/asking-mcp-server.ts'
import { startService, type TestService, type Who } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'
import type { ModelScript } from '../fixtures/model-server.ts'

const modes = ['legacy', 'auto'] as const

const asks: ModelScript = [{ ...callOf('send', { to: 'Bob' }), text: 'One moment.' }, { text: 'It is done.' }]

async function start(t: TestContext, { script = asks, traits }: { script?: ModelScript; traits?: Partial<Tool> } = {}) {
  const sent: unknown[] = []
  const send = fakeTool('send', async (input) => sent.push(input), { effect: 'write', approval: { by: 'caller' }, ...traits })
  return { service: await startService(t, { script, tools: [send] }), sent }
}

const says: ModelScript = ({ body }) => {
  const { role, content } = body.messages.at(-1)
  return role === 'tool' ? { text: content } : callOf('desk__visit')
}

interface Connecting {
  mode: (typeof modes)[number]
  who?: Who
  /** Answers a form; absent: the client shows no forms. */
  answer?: (form: ElicitRequest['params']) => Promise<ElicitResult> | ElicitResult
  /** Modes of questions that the client takes; default: forms. */
  elicitation?: { form?: object; url?: object }
}

async function connect(
  t: TestContext,
  service: TestService,
  { mode, who, answer, elicitation = { form: {} } }: Connecting,
): Promise<Client> {
  const { key } = await service.key(who)
  const capabilities = answer ? { elicitation: elicitation as { form: {} } } : {}
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } })
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params))
  const requestInit = { headers: { 'x-service-access': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  return client
}

const writeToBob = { name: 'ask', arguments: { message: 'Write to Bob.' } }

function outputOf({ structuredContent }: { structuredContent?: unknown }) {
  return structuredContent as { output: string; request_id: string; approval_required?: { calls: { tool_call_id: string }[] } }
}

for (const mode of modes) {
  test(`MCP: the user of a client that shows forms approves a call, and the answer follows (${mode})`, async (t) => {
    const { service, sent } = await start(t)
    const forms: ElicitRequest['params'][] = []
    const told: (string | undefined)[] = []
    const client = await connect(t, service, {
      mode,
      answer(form) {
        forms.push(form)
        return { action: 'accept', content: { decision: 'approve' } }
      },
    })
    const result = await client.callTool(writeToBob, { onprogress: ({ message }) => void told.push(message) })
    const { output, approval_required: waiting } = outputOf(result)
    assert.deepEqual({ output, waiting }, { output: 'It is done.', waiting: undefined })
    assert.deepEqual(sent, [{ to: 'Bob' }])
    assert.equal(forms.length, 1)
    assert.match(forms[0]!.message, /approval to call send with \{"to":"Bob"\}/)
    assert.deepEqual(told.slice(-2), ['send has started.', 'send has ended: success.'])
  })

  test(`MCP: a question of a server behind a tool is put to the user as the server asked it (${mode})`, async (t) => {
    const schema = { type: 'object', properties: { seat: { type: 'string', enum: ['aisle', 'window'] } }, required: ['seat'] }
    const book = fakeTool('book', async (_, { resumed }) => {
      if (!resumed)
        throw new Suspended('state', [{ name: '1_1', input: { server: 'desk', question: 'Which seat?', answer_schema: schema } }])
      const decision = resumed.answerTo('1_1')
      return decision?.decision === 'approve' ? `Booked ${String(decision.input?.['seat'])}` : 'Not booked'
    })
    const script: ModelScript = ({ body }) => {
      const { role, content } = body.messages.at(-1)
      return role === 'tool' ? { text: content } : callOf('book')
    }
    const service = await startService(t, { script, tools: [book] })
    const forms: ElicitRequest['params'][] = []
    const answers: ElicitResult[] = [{ action: 'accept', content: { seat: 'window' } }, { action: 'decline' }]
    const client = await connect(t, service, { mode, answer: (form) => (forms.push(form), answers.shift()!) })
    assert.equal(outputOf(await client.callTool(writeToBob)).output, 'Booked window')
    assert.equal(outputOf(await client.callTool(writeToBob)).output, 'Not booked')
    const [form] = forms
    assert.equal(form?.message, 'The server desk asks: Which seat?')
    assert.deepEqual(form && 'requestedSchema' in form && form.requestedSchema, schema)
  })

  test(`MCP: what a server behind the service asks for reaches the client, and the call is repeated with the answer (${mode})`, async (t) => {
    const desk = await startAskingMcpServer()
    t.after(() => desk.close())
    const script: ModelScript = ({ body }) => {
      const { role, content } = body.messages.at(-1)
      return role === 'tool' ? { text: content } : callOf('desk__book')
    }
    const tool = { name: 'desk', type: 'mcp', config: { url: desk.url, include: ['book'], elicitation: 'allow' } }
    const service = await startService(t, { script, config: { tools: [tool] } })
    const forms: ElicitRequest['params'][] = []
    const client = await connect(t, service, {
      mode,
      answer: (form) => (forms.push(form), { action: 'accept', content: { seat: 'aisle' } }),
    })
    assert.match(outputOf(await client.callTool(writeToBob)).output, /Booked .*aisle/)
    assert.deepEqual(
      forms.map(({ message }) => message),
      ['The server desk asks: Which seat?'],
    )
    assert.deepEqual(desk.bookings, [{ seat: 'aisle', meal: 'none' }])
    const calls = desk.requests.flatMap(({ body }) => (body?.method === 'tools/call' ? [body.params.requestState] : []))
    assert.deepEqual(calls, [undefined, 'opaque-state'])
  })

  test(`MCP: a page that a server asks to visit is put to a client that opens pages, with its address as text (${mode})`, async (t) => {
    const desk = await startAskingMcpServer()
    t.after(() => desk.close())
    const tool = { name: 'desk', type: 'mcp', config: { url: desk.url, include: ['visit'], elicitation: 'allow' } }
    const service = await startService(t, { script: says, config: { tools: [tool] } })
    const pages: ElicitRequest['params'][] = []
    const answers: ElicitResult[] = [{ action: 'accept' }, { action: 'decline' }, { action: 'cancel' }]
    const answer = (page: ElicitRequest['params']) => (pages.push(page), answers.shift()!)
    const client = await connect(t, service, { mode, elicitation: { form: {}, url: {} }, answer })
    assert.equal(outputOf(await client.callTool(writeToBob)).output, 'Visit: accept')
    assert.equal(outputOf(await client.callTool(writeToBob)).output, 'Visit: decline')
    assert.equal(outputOf(await client.callTool(writeToBob)).approval_required?.calls.length, 1)
    const [page] = pages
    assert.deepEqual(page && [page.mode, page.message, 'url' in page && page.url], [
      'url',
      'The server desk asks to open https://pay.example/1: Please pay.',
      'https://pay.example/1',
    ])
    const formsOnly = await connect(t, service, { mode, answer: () => assert.fail('a form for a page') })
    const waiting = await formsOnly.callTool(writeToBob)
    assert.equal(outputOf(waiting).approval_required?.calls.length, 1)
    assert.match(JSON.stringify(waiting.content), /https:\/\/pay\.example\/1/)
  })

  test(`MCP: an answer that does not fit the question leaves the call waiting, and ends the request (${mode})`, async (t) => {
    const desk = await startAskingMcpServer()
    t.after(() => desk.close())
    const tool = { name: 'desk', type: 'mcp', config: { url: desk.url, include: ['visit'], elicitation: 'allow' } }
    const service = await startService(t, { script: says, config: { tools: [tool] } })
    const answer = (): ElicitResult => ({ action: 'accept', content: { paid: true } })
    const client = await connect(t, service, { mode, elicitation: { form: {}, url: {} }, answer })
    const result = await client.callTool(writeToBob, { timeout: 8000 }).catch((error: unknown) => ({ error }))
    assert.match(JSON.stringify(result), /approval_required|must be absent/)
  })

  test(`MCP: a rejected, a declined and a dismissed form decide as they say (${mode})`, async (t) => {
    const call = { ...callOf('send', { to: 'Bob' }), text: 'One moment.' }
    const { service, sent } = await start(t, { script: [call, { text: 'Not sent.' }, call, { text: 'Not sent either.' }, call] })
    const answers: ElicitResult[] = [
      { action: 'accept', content: { decision: 'reject', reason: 'Not now.' } },
      { action: 'decline' },
      { action: 'cancel' },
    ]
    const client = await connect(t, service, { mode, answer: () => answers.shift()! })
    assert.equal(outputOf(await client.callTool(writeToBob)).output, 'Not sent.')
    assert.match(JSON.stringify(service.model.requests[1]!.body.messages), /rejected by a person: Not now/)
    assert.equal(outputOf(await client.callTool(writeToBob)).output, 'Not sent either.')
    const dismissed = outputOf(await client.callTool(writeToBob))
    assert.equal(dismissed.approval_required?.calls.length, 1)
    assert.equal((await service.client.run(dismissed.request_id)).body.status, 'interrupted')
    assert.deepEqual(sent, [])
  })

  test(`MCP: several calls and several rounds are put to the user (${mode})`, async (t) => {
    const twice = { calls: [...callOf('send', { to: 'Ann' }).calls, ...callOf('send', { to: 'Bob' }).calls] }
    const { service, sent } = await start(t, { script: [twice, callOf('send', { to: 'Eve' }), { text: 'All sent.' }] })
    let forms = 0
    const client = await connect(t, service, {
      mode,
      answer() {
        forms++
        return { action: 'accept', content: { decision: 'approve', reason: '' } }
      },
    })
    assert.equal(outputOf(await client.callTool(writeToBob)).output, 'All sent.')
    assert.deepEqual({ forms, sent: sent.length }, { forms: 3, sent: 3 })
  })

  test(`MCP: calls that somebody else decides, or the key may not decide, are not put to the user (${mode})`, async (t) => {
    const answer = () => assert.fail('a form')
    const others = await start(t, { traits: { approval: { by: 'role' } } })
    const waiting = outputOf(await (await connect(t, others.service, { mode, answer })).callTool(writeToBob))
    assert.equal(waiting.approval_required?.calls.length, 1)
    const service = await startService(t, {
      script: asks,
      tools: [fakeTool('send', async () => 'sent', { approval: { by: 'caller' } })],
      config: { access: { roles: { talker: ['chat'] } } },
    })
    const talker = await connect(t, service, { mode, answer, who: { roles: ['talker'] } })
    assert.equal(outputOf(await talker.callTool(writeToBob)).approval_required?.calls.length, 1)
  })
}

test('MCP: an answer to a form of a legacy client counts on any stream and in any process, for the owner of the run alone', async (t) => {
  const { service, sent } = await start(t)
  const waiting = outputOf(await (await connect(t, service, { mode: 'legacy' })).callTool(writeToBob))
  const id = `approval ${waiting.request_id} ${waiting.approval_required!.calls[0]!.tool_call_id}`
  const body = { jsonrpc: '2.0', id, result: { action: 'accept', content: { decision: 'approve' } } }
  const bob = await service.as({ sub: 'bob' })
  assert.equal((await bob.request('POST', '/mcp', { body })).status, 202)
  assert.equal((await service.client.run(waiting.request_id)).body.status, 'interrupted')
  await service.restart()
  assert.equal((await service.client.request('POST', '/mcp', { body })).status, 202)
  while ((await service.client.run(waiting.request_id)).body.status !== 'success');
  assert.deepEqual(sent, [{ to: 'Bob' }])
})

test('MCP: a request state continues the run of its owner alone', async (t) => {
  const { service } = await start(t)
  const waiting = outputOf(await (await connect(t, service, { mode: 'auto' })).callTool(writeToBob))
  const request = async (who: Who | undefined, requestState: string) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'ask', accept: '*/*' }
    const callId = waiting.approval_required!.calls[0]!.tool_call_id
    const inputResponses = { [callId]: { action: 'accept', content: { decision: 'approve' } } }
    const params = { ...writeToBob, requestState, inputResponses, _meta }
    const { key } = await service.key(who)
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, 'x-service-access': key, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    return response.text()
  }
  assert.match(await request({ sub: 'bob' }, waiting.request_id), /There is no run/)
  assert.match(await request(undefined, 'not a run'), /requestState/)
  assert.match(await request(undefined, waiting.request_id), /It is done/)
})
