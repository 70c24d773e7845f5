import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TaskState, type Task } from '@a2a-js/sdk'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ask as message, connect } from '../fixtures/a2a-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** The first call of the model costs 0.001 USD, so that the second one finds the budget used up. */
const usage = { input: 100, output: 300 }
const script = [
  { ...callOf('refund'), usage },
  { text: 'It is done.', usage },
]
const budgets = [{ name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.0015 }, on_exceeded: 'pause' }]
const messages = [{ role: 'user', content: 'Refund order 7.' }]

async function start(t: TestContext) {
  const tools = [fakeTool('refund', async () => 'refunded', { effect: 'write' })]
  const service = await startService(t, { script, tools, modelFields: { prices: { input: 1, output: 3 } }, config: { budgets } })
  const { client } = service
  const post = (path: string, body: object) => client.request('POST', path, { body, headers: { 'request-id': 'r1' } })
  const extend = async () => {
    const body = { decision: 'extend', limit: { usd: 0.1 } }
    return (await service.as({ sub: 'root', roles: ['admin'] })).request('POST', '/core/v1/runs/r1/approvals', { body })
  }
  return { service, client, post, extend }
}

const sentence = /^The run waits, because budget caller-day is used up until \S+T00:00:00\.000Z\./

/** The data of server-sent events. */
const eventsIn = (text: string) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))

test('Pause: OpenAI clients read which budget is used up, and get the rest with the same request', async (t) => {
  const { post, extend } = await start(t)
  const ask = () => post('/v1/chat/completions', { model: 'agent-core', messages })
  const paused = await ask()
  const [{ message, finish_reason }] = paused.body.choices
  assert.match(message.content, sentence)
  assert.deepEqual([finish_reason, paused.body.budget_required.budget, paused.body.approval_required], ['stop', 'caller-day', undefined])
  assert.equal((await extend()).status, 200)
  assert.equal((await ask()).body.choices[0].message.content, 'It is done.')
})

test('Pause: clients of Anthropic read which budget is used up, and get the rest with the same request', async (t) => {
  const { post, extend } = await start(t)
  const ask = () => post('/v1/messages', { model: 'agent-core', max_tokens: 32_000, messages })
  const { body } = await ask()
  assert.match(body.content[0].text, sentence)
  assert.deepEqual([body.stop_reason, body.budget_required.budget, body.approval_required], ['end_turn', 'caller-day', undefined])
  assert.equal((await extend()).status, 200)
  assert.equal((await ask()).body.content[0].text, 'It is done.')
})

test('Pause: a response of OpenAI is incomplete and names the budget', async (t) => {
  const { post } = await start(t)
  const { body } = await post('/v1/responses', { model: 'agent-core', input: 'Refund order 7.' })
  assert.deepEqual(
    [body.status, body.incomplete_details, body.budget_required.budget],
    ['incomplete', { reason: 'approval_required' }, 'caller-day'],
  )
})

test('Pause: AG-UI has an interrupt without a tool call, which a cancellation ends', async (t) => {
  const { post, client } = await start(t)
  const input = { threadId: 't1', runId: 'r1', state: {}, tools: [], context: [], forwardedProps: {} }
  const asked = { ...input, messages: [{ id: 'm1', role: 'user', content: 'Refund order 7.' }] }
  const { outcome } = eventsIn((await post('/ag-ui', asked)).text).at(-1)
  const [interrupt] = outcome.interrupts
  const { reason, message, toolCallId, metadata } = interrupt
  assert.deepEqual(
    [outcome.type, reason, toolCallId, metadata.by, metadata.budget],
    ['interrupt', 'budget_required', undefined, 'budget', 'caller-day'],
  )
  assert.match(message, sentence)
  const resume = [{ interruptId: interrupt.id, status: 'cancelled' }]
  const ended = await client.request('POST', '/ag-ui', { body: { ...asked, runId: 'r2', resume }, headers: { 'request-id': 'r2' } })
  assert.deepEqual([eventsIn(ended.text).at(-1).type, eventsIn(ended.text).at(-1).code], ['RUN_ERROR', 'BudgetExceeded'])
})

test('Pause: a page of the AI SDK gets the budget as data, and no call to decide', async (t) => {
  const { post } = await start(t)
  const body = { id: 's1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Refund order 7.' }] }] }
  const parts = eventsIn((await post('/ui/chat', body)).text)
  const data = parts.find(({ type }) => type === 'data-budget').data
  const finish = parts.find(({ type }) => type === 'finish')
  assert.deepEqual([data.budget, finish.finishReason, finish.messageMetadata.finish_reason], ['caller-day', 'other', 'approval_required'])
  assert.equal(
    parts.some(({ type }) => type === 'tool-approval-request'),
    false,
  )
})

test('Pause: an A2A task requires input, names the budget, and is ended by the text "reject"', async (t) => {
  const { service } = await start(t)
  const a2a = await connect(service)
  const waiting = (await a2a.sendMessage(message('Refund order 7.'))) as Task
  assert.equal(waiting.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
  const [first, second] = waiting.status.message!.parts.map(({ content }) => content)
  assert.ok(first?.$case === 'text' && second?.$case === 'data')
  assert.match(first.value, sentence)
  assert.equal(second.value.budget_required.budget, 'caller-day')
  await assert.rejects(a2a.sendMessage(message('approve', { taskId: waiting.id })), /waits for a budget: extend or reject/)
  const ended = (await a2a.sendMessage(message('reject', { taskId: waiting.id }))) as Task
  assert.equal(ended.status?.state, TaskState.TASK_STATE_FAILED)
})

test('Pause: an MCP client reads which budget is used up, and how it is raised', async (t) => {
  const { service } = await start(t)
  const { key } = await service.key()
  const mcp = new McpClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { 'x-service-access': key, 'request-id': 'r1' } }
  await mcp.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => mcp.close())
  const paused = await mcp.callTool({ name: 'ask', arguments: { message: 'Refund order 7.' } })
  const { budget_required: required } = paused.structuredContent as { budget_required?: { budget: string } }
  const [content] = paused.content as { text: string }[]
  assert.equal(required?.budget, 'caller-day')
  assert.match(content!.text, sentence)
  assert.match(content!.text, /For the budget: \{"decision": "extend"/)
})
