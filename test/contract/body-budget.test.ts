import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { callsIn, sending, sendTo } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

/** Requests that run at a time. Their bodies together exceed the memory that a caller may hold: half of eight times HTTP_BODY_LIMIT. */
const count = 10
const environment = { HTTP_BODY_LIMIT: '2097152' }
const padding = ' '.repeat(1_000_000)

interface Sent {
  path: string
  headers?: Record<string, string>
  body: object
}

const model = 'agent-core'
const tools = [{ type: 'function', name: 'locate' }]
const user = { role: 'user', content: 'Hi.' }
const chat = { messages: [user] }
const pageMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi.' }] }
const legacyMessage = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'Hi.' }] }
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const a2a = { 'a2a-version': '1.0' }
const mcp = { accept: '*/*', 'mcp-protocol-version': '2025-11-25' }
const modernMcp = { accept: '*/*', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'ask' }
const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
}
const ask = { name: 'ask', arguments: { message: 'Hi.' } }

/** A question at each door, in a conversation of its own. */
const questions: Record<string, (id: string) => Sent> = {
  'POST /core/v1/chain': () => ({ path: '/core/v1/chain', body: chat }),
  'POST /core/v1/chain_streaming': () => ({ path: '/core/v1/chain_streaming', body: chat }),
  'a completion': () => ({ path: '/v1/chat/completions', body: { model, ...chat } }),
  'a streamed completion': () => ({ path: '/v1/chat/completions', body: { model, ...chat, stream: true } }),
  'a response': () => ({ path: '/v1/responses', body: { model, input: 'Hi.' } }),
  'a streamed response': () => ({ path: '/v1/responses', body: { model, input: 'Hi.', stream: true } }),
  'a background response': () => ({ path: '/v1/responses', body: { model, input: 'Hi.', background: true, stream: true } }),
  'a message of Anthropic': () => ({ path: '/v1/messages', body: { model, max_tokens: 9, ...chat } }),
  'a streamed message of Anthropic': () => ({ path: '/v1/messages', body: { model, max_tokens: 9, ...chat, stream: true } }),
  'AG-UI': (id) => ({ path: '/ag-ui', body: { threadId: id, runId: id, messages: [{ id: 'u', ...user }] } }),
  'a page of the AI SDK': (id) => ({ path: '/ui/chat', body: { id, messages: [pageMessage] } }),
  A2A: () => ({ path: '/a2a', headers: a2a, body: rpc('SendMessage', { message }) }),
  'A2A, streamed': () => ({ path: '/a2a', headers: a2a, body: rpc('SendStreamingMessage', { message }) }),
  'A2A 0.3': () => ({ path: '/a2a', body: rpc('message/send', { message: legacyMessage }) }),
  'A2A over HTTP': () => ({ path: '/a2a/v1/message:send', headers: a2a, body: { message } }),
  'A2A over HTTP, streamed': () => ({ path: '/a2a/v1/message:stream', headers: a2a, body: { message } }),
  MCP: () => ({ path: '/mcp', headers: mcp, body: rpc('tools/call', ask) }),
}

interface Waiting {
  requestId: string
  sessionId: string
  callId: string
}

/** The answer to the waiting call of a run, at each door that takes answers and goes on with the run. */
const answers: Record<string, (waiting: Waiting) => Sent> = {
  'AG-UI': ({ sessionId, callId }) => {
    const resume = [{ interruptId: callId, status: 'resolved', payload: { approved: true } }]
    return { path: '/ag-ui', body: { threadId: sessionId, runId: randomUUID(), messages: [{ id: 'u', ...user }], resume } }
  },
  'a page of the AI SDK': ({ sessionId, callId }) => {
    const part = { type: 'tool-send', toolCallId: callId, state: 'approval-responded', approval: { id: callId, approved: true } }
    return { path: '/ui/chat', body: { id: sessionId, messages: [pageMessage, { id: 'a', role: 'assistant', parts: [part] }] } }
  },
  A2A: ({ requestId }) => {
    const approval = { ...message, taskId: requestId, parts: [{ text: 'approve' }] }
    return { path: '/a2a', headers: a2a, body: rpc('SendMessage', { message: approval }) }
  },
  MCP: ({ requestId, callId }) => {
    const inputResponses = { [callId]: { action: 'accept', content: { decision: 'approve' } } }
    return { path: '/mcp', headers: modernMcp, body: rpc('tools/call', { ...ask, requestState: requestId, inputResponses, _meta }) }
  },
}

/** Readers of a run that goes on, whose requests have bodies. */
const readers: Record<string, (requestId: string) => Sent> = {
  A2A: (id) => ({ path: '/a2a', headers: a2a, body: rpc('SubscribeToTask', { id }) }),
  'A2A over HTTP': (id) => ({ path: `/a2a/v1/tasks/${id}:subscribe`, headers: a2a, body: {} }),
  MCP: (taskId) => ({ path: '/mcp', headers: mcp, body: rpc('tasks/result', { taskId }) }),
}

let answering = Promise.withResolvers<void>()

/** Calls a tool for the first message "Call.", and answers every other question when the test says so. */
function script({ body }: ModelServerRequest) {
  const { role, content } = body.messages.at(-1)
  if (role === 'user' && content === 'Call.') return sendTo('Bob')
  if (role === 'user' && content === 'Locate.') return callOf('locate')
  return { begins: answering.promise, text: 'Hello.' }
}

function start(t: TestContext): Promise<TestService> {
  return startService(t, { script, tools: [sending().tool], environment, config: { uri_id: model } })
}

/** Sends requests one after another, each when the one before is under way. All of them must be answered once the model answers. */
async function runTogether(service: TestService, requests: readonly Sent[], isUnderWay: (n: number, hasBegun: boolean) => boolean) {
  const access = { 'x-service-access': (await service.key()).key, 'content-type': 'application/json' }
  const replies: Promise<string>[] = []
  let isRefused = false
  for (const [index, { path, headers, body }] of requests.entries()) {
    let hasBegun = false
    const init = { method: 'POST', headers: { ...access, ...headers }, body: JSON.stringify(body) + padding }
    const reply = fetch(service.url + path, init).then(async (response) => {
      hasBegun = true
      isRefused ||= !response.ok
      const text = await response.text()
      return response.ok && !/"error":\{/.test(text) ? 'ok' : `${response.status} ${text}`
    })
    replies.push(reply)
    await until(async () => isRefused || isUnderWay(index + 1, hasBegun), Boolean)
    if (isRefused) break
  }
  answering.resolve()
  answering = Promise.withResolvers()
  assert.deepEqual(await Promise.all(replies), Array(requests.length).fill('ok'))
}

/** True once the model has the question of each request. */
function modelIsAsked({ model: { requests } }: TestService) {
  const before = requests.length
  return (n: number) => requests.length - before >= n
}

const each = <T>(make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

test('A question holds the memory of its body no longer than until its run begins, at every door', async (t) => {
  const service = await start(t)
  for (const [name, toRequest] of Object.entries(questions)) {
    const requests = each(() => toRequest(randomUUID()))
    await t.test(name, () => runTogether(service, requests, modelIsAsked(service)))
  }
})

test('An answer to a call holds the memory of its body no longer than until the run goes on, at every door', async (t) => {
  const service = await start(t)
  const waitForApproval = async (): Promise<Waiting> => {
    const reply = await service.client.chat('Call.')
    const [requestId, sessionId] = [reply.headers.get('request-id')!, reply.headers.get('session-id')!]
    return { requestId, sessionId, callId: callsIn(reply)[0]! }
  }
  for (const [name, toAnswer] of Object.entries(answers)) {
    const requests = (await Promise.all(each(waitForApproval))).map(toAnswer)
    await t.test(name, () => runTogether(service, requests, modelIsAsked(service)))
  }
  const question = { model, input: 'Locate.', tools }
  await t.test('a response', async () => {
    const requests = each(async () => {
      const { body } = await service.client.request('POST', '/v1/responses', { body: question })
      const input = [{ type: 'function_call_output', call_id: body.output[0].call_id, output: 'Lund' }]
      return { path: '/v1/responses', body: { model, input, previous_response_id: body.id, tools } }
    })
    await runTogether(service, await Promise.all(requests), modelIsAsked(service))
  })
  await t.test('a message of Anthropic', async () => {
    const messages = [{ role: 'user', content: 'Locate.' }]
    const brought = [{ name: 'locate', input_schema: { type: 'object' } }]
    const asked = { model, max_tokens: 9, tools: brought }
    const requests = each(async () => {
      const { body } = await service.client.request('POST', '/v1/messages', { body: { ...asked, messages } })
      const { content } = body
      const result = { type: 'tool_result', tool_use_id: content.at(-1).id, content: 'Lund' }
      const answered = [...messages, { role: 'assistant', content }, { role: 'user', content: [result] }]
      return { path: '/v1/messages', body: { ...asked, messages: answered } }
    })
    await runTogether(service, await Promise.all(requests), modelIsAsked(service))
  })
  await t.test('a completion', async () => {
    const messages = [{ role: 'user', content: 'Locate.' }]
    const functions = [{ type: 'function', function: { name: 'locate' } }]
    const requests = each(async () => {
      const { body } = await service.client.request('POST', '/v1/chat/completions', { body: { model, messages, tools: functions } })
      const { tool_calls } = body.choices[0].message
      const output = { role: 'tool', tool_call_id: tool_calls[0].id, content: 'Lund' }
      const answered = [...messages, { role: 'assistant', content: null, tool_calls }, output]
      return { path: '/v1/chat/completions', body: { model, messages: answered, tools: functions } }
    })
    await runTogether(service, await Promise.all(requests), modelIsAsked(service))
  })
})

test('A reader of a run holds the memory of its body no longer than until the run is open, at every door', async (t) => {
  const service = await start(t)
  for (const [name, toRequest] of Object.entries(readers)) {
    await t.test(name, async () => {
      const requestId = randomUUID()
      const isAsked = modelIsAsked(service)
      const run = service.client.chat('Hi.', { 'request-id': requestId })
      await until(async () => isAsked(1), Boolean)
      await runTogether(
        service,
        each(() => toRequest(requestId)),
        (_, hasBegun) => hasBegun,
      )
      assert.equal((await run).status, 200)
    })
  }
})
