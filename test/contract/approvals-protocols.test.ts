import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Role, TaskState, type Part, type StreamResponse, type Task } from '@a2a-js/sdk'
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import OpenAI from 'openai'
import type { Tool } from '../../src/agent/tool.ts'
import { sending } from '../fixtures/approvals.ts'
import type { ModelScript } from '../fixtures/model-server.ts'
import { startService, type TestService, type Who } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const asks: ModelScript = [{ ...callOf('send', { to: 'Bob' }), text: 'One moment.' }, { text: 'It is done.' }, { text: 'Again.' }]
const model = 'agent-core'
const messages = [{ role: 'user' as const, content: 'Write to Bob.' }]

async function start(t: TestContext, { script = asks, traits }: { script?: ModelScript; traits?: Partial<Tool> } = {}) {
  const { sent, tool } = sending(traits)
  return { service: await startService(t, { script, tools: [tool] }), sent }
}

const approve = (service: TestService, requestId: string, callId: string) =>
  service.client.request('POST', `/core/v1/runs/${requestId}/approvals`, { body: { tool_call_id: callId, decision: 'approve' } })

async function openAi(service: TestService, headers: Record<string, string> = {}) {
  return new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key, defaultHeaders: headers })
}

/** The fields that this service adds to an answer. */
const waitingOf = (answer: unknown) => (answer as { approval_required?: any }).approval_required

test('Approval: an interrupted chat completion ends with a text and a field; the same request returns the rest after the decision', async (t) => {
  const { service, sent } = await start(t)
  const openai = await openAi(service, { 'request-id': 'r1', 'session-id': 's1' })
  const ask = () => openai.chat.completions.create({ model, messages })
  const first = await ask()
  const [choice] = first.choices
  const sentence = 'A call of send waits for the approval of a person, who decides with POST /core/v1/runs/r1/approvals.'
  assert.deepEqual(
    { finish_reason: choice?.finish_reason, content: choice?.message.content },
    { finish_reason: 'stop', content: `One moment.\n\n${sentence}` },
  )
  const waiting = waitingOf(first)
  const callId = waiting.calls[0].tool_call_id
  assert.deepEqual(waiting, {
    request_id: 'r1',
    calls: [{ tool_call_id: callId, tool: 'send', tool_input: { to: 'Bob' } }],
  })
  assert.ok(first.usage)
  assert.deepEqual(sent, [])
  assert.equal((await approve(service, 'r1', callId)).status, 200)
  const second = await ask()
  assert.deepEqual(
    { content: second.choices[0]?.message.content, waitingOf: waitingOf(second) },
    { content: 'It is done.', waitingOf: undefined },
  )
  assert.deepEqual(sent, [{ to: 'Bob' }])
})

test('Approval: a chat in a held session is refused to OpenAI clients at once, without a retry', async (t) => {
  const { service } = await start(t)
  await (await openAi(service, { 'session-id': 's1' })).chat.completions.create({ model, messages })
  const asked = service.service.app.server.listenerCount('request')
  assert.ok(asked > 0)
  let requests = 0
  service.service.app.server.on('request', () => requests++)
  const again = (await openAi(service, { 'session-id': 's1' })).chat.completions.create({ model, messages })
  await assert.rejects(again, (error: InstanceType<typeof OpenAI.APIError>) => error.status === 409 && error.code === 'session_interrupted')
  assert.equal(requests, 1)
})

test('Approval: an interrupted streamed completion ends with the text, the field and [DONE]', async (t) => {
  const { service } = await start(t)
  const openai = await openAi(service, { 'request-id': 'r1' })
  const ask = async () => {
    const stream = await openai.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    return { chunks, text, finish: chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []) }
  }
  const first = await ask()
  assert.match(first.text, /^One moment\.\n\nA call of send waits for the approval of a person, [^.]+\.$/)
  assert.deepEqual(first.finish, ['stop'])
  const [waiting] = first.chunks.flatMap((chunk) => waitingOf(chunk) ?? [])
  assert.equal(waiting?.calls[0].tool, 'send')
  assert.ok(first.chunks.at(-1)?.usage)
  await approve(service, 'r1', waiting?.calls[0].tool_call_id)
  // A replay shows no passed interruption.
  const second = await ask()
  assert.deepEqual({ text: second.text, finish: second.finish }, { text: 'One moment.\n\nIt is done.', finish: ['stop'] })
  assert.equal(second.chunks.flatMap((chunk) => waitingOf(chunk) ?? []).length, 0)
})

test('Approval: an interrupted response is incomplete and gives the reason', async (t) => {
  const { service } = await start(t)
  const openai = await openAi(service, { 'request-id': 'r1' })
  const first = await openai.responses.create({ model, input: 'Write to Bob.' })
  assert.deepEqual(
    { status: first.status, incomplete_details: first.incomplete_details },
    { status: 'incomplete', incomplete_details: { reason: 'approval_required' } },
  )
  assert.match(first.output_text, /^One moment\.\n\nA call of send waits/)
  await approve(service, 'r1', waitingOf(first)?.calls[0].tool_call_id)
  const second = await openai.responses.create({ model, input: 'Write to Bob.' })
  assert.deepEqual(
    { status: second.status, output_text: second.output_text, waitingOf: waitingOf(second) },
    { status: 'completed', output_text: 'One moment.\n\nIt is done.', waitingOf: undefined },
  )
})

test('Approval: a streamed response ends as response.incomplete', async (t) => {
  const { service } = await start(t)
  const openai = await openAi(service, { 'request-id': 'r1' })
  const ask = async () => {
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    for await (const event of openai.responses.stream({ model, input: 'Write to Bob.' })) events.push(event)
    return events
  }
  const first = await ask()
  const last = first.at(-1)!
  assert.ok(last.type === 'response.incomplete', last.type)
  assert.deepEqual(
    last.response.output.map((item: any) => [item.phase, item.status, item.content[0].text.slice(0, 11)]),
    [
      ['commentary', 'completed', 'One moment.'],
      ['final_answer', 'incomplete', 'A call of s'],
    ],
  )
  assert.deepEqual(
    first.map((event) => event.sequence_number),
    first.map((_event, at) => at),
  )
  await approve(service, 'r1', waitingOf(last.response)?.calls[0].tool_call_id)
  assert.equal((await ask()).at(-1)?.type, 'response.completed')
})

async function mcp(t: TestContext, service: TestService, headers: Record<string, string> = {}): Promise<McpClient> {
  const { key } = await service.key()
  const client = new McpClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { 'x-service-access': key, ...headers } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  return client
}

test('Approval: ask through /mcp lists the pending calls and how to decide them, and holds the session until then', async (t) => {
  const { service, sent } = await start(t)
  const client = await mcp(t, service)
  // The client checks the structured content against the tool's own schema.
  await client.listTools()
  const ask = (more: object = {}) => client.callTool({ name: 'ask', arguments: { message: 'Write to Bob.', ...more } })
  const first = await ask()
  const { request_id: id, session_id, output, approval_required: waiting } = first.structuredContent as Record<string, any>
  assert.deepEqual(
    { isError: first.isError, output, request_id: waiting.request_id, tool_input: waiting.calls[0].tool_input },
    { isError: undefined, output: 'One moment.', request_id: id, tool_input: { to: 'Bob' } },
  )
  const [content] = first.content
  const text = content?.type === 'text' ? content.text : ''
  for (const part of ['One moment.', `POST /core/v1/runs/${id}/approvals`, waiting.calls[0].tool_call_id, '"decision"']) {
    assert.ok(text.includes(part), text)
  }
  const held = await ask({ session_id })
  assert.equal(held.isError, true)
  assert.match(JSON.stringify(held.content), /SessionInterrupted: /)
  await approve(service, id, waiting.calls[0].tool_call_id)
  while ((await service.client.run(id)).body.status !== 'success');
  assert.equal((await service.client.run(id)).body.outcome.output, 'It is done.')
  assert.equal(((await ask({ session_id })).structuredContent as any).output, 'Again.')
  assert.deepEqual(sent, [{ to: 'Bob' }])
})

async function a2a(service: TestService, who?: Who) {
  const { key } = await service.key(who)
  const fetchImpl: typeof fetch = (url, init) => {
    const headers = new Headers(init?.headers)
    headers.set('x-service-access', key)
    return fetch(url, { ...init, headers })
  }
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  return new ClientFactory(options).createFromUrl(service.url)
}

const textPart = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
})
const dataPart = (value: object): Part => ({
  content: { $case: 'data', value },
  metadata: undefined,
  filename: '',
  mediaType: 'application/json',
})

let count = 0
function message(part: Part, place: { taskId?: string; contextId?: string } = {}) {
  const rest = { role: Role.ROLE_USER, metadata: undefined, extensions: [], referenceTaskIds: [] }
  const whole = { messageId: `m${++count}`, contextId: '', taskId: '', ...place, parts: [part], ...rest }
  return { tenant: '', message: whole, configuration: undefined, metadata: undefined }
}

function callsOf(task: Task): any[] {
  const [, data] = task.status!.message!.parts
  return data?.content?.$case === 'data' ? data.content.value.approval_required.calls : []
}

const answerOf = (task: Task) => task.artifacts.map(({ parts: [part] }) => (part?.content?.$case === 'text' ? part.content.value : ''))[0]

test('Approval: an interrupted A2A task requires input; a text decides and the task runs to its end', async (t) => {
  const { service, sent } = await start(t)
  const client = await a2a(service)
  const waiting = (await client.sendMessage(message(textPart('Write to Bob.')))) as Task
  assert.equal(waiting.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
  const [said] = waiting.status.message!.parts
  assert.match(
    said?.content?.$case === 'text' ? said.content.value : '',
    /^Approval is required: send \{"to":"Bob"\}\. Answer in this task/,
  )
  assert.equal(callsOf(waiting)[0].tool, 'send')
  const place = { taskId: waiting.id, contextId: waiting.contextId }
  await assert.rejects(client.sendMessage(message(textPart('Sure, go on'), place)), /The task waits for approval/)
  await assert.rejects(client.sendMessage(message(textPart('approve'), { ...place, contextId: 'other' })), /contextId/)
  await assert.rejects(client.sendMessage(message(dataPart({ tool_call_id: 'x', decision: 'approve' }), place)), /No call x/)
  assert.deepEqual(sent, [])
  const done = (await client.sendMessage(message(textPart(' Approve '), place))) as Task
  assert.deepEqual(
    { id: done.id, state: done.status?.state, answerOf: answerOf(done) },
    { id: waiting.id, state: TaskState.TASK_STATE_COMPLETED, answerOf: 'It is done.' },
  )
  assert.deepEqual(sent, [{ to: 'Bob' }])
  await assert.rejects(client.sendMessage(message(textPart('approve'), place)), /does not wait for a message/)
})

async function all(events: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const list: StreamResponse[] = []
  for await (const event of events) list.push(event)
  return list
}

const statesOf = (events: StreamResponse[]) =>
  events.flatMap(({ payload }) => (payload?.$case === 'statusUpdate' ? [payload.value.status!.state] : []))

test('Approval: A2A streams end when input is required; data parts decide call by call', async (t) => {
  const two = [
    { calls: [callOf('send', { to: 'Bob' }), callOf('send', { to: 'Eve' })].flatMap(({ calls }) => calls) },
    { text: 'It is done.' },
  ]
  const { service, sent } = await start(t, { script: two })
  const client = await a2a(service)
  const first = await all(client.sendMessageStream(message(textPart('Write.'))))
  assert.deepEqual(statesOf(first), [TaskState.TASK_STATE_INPUT_REQUIRED])
  const [begin] = first
  const taskId = begin?.payload?.$case === 'task' ? begin.payload.value.id : ''
  const calls = callsOf(await client.getTask({ tenant: '', id: taskId, historyLength: undefined }))
  assert.deepEqual(
    calls.map((call) => call.tool_input),
    [{ to: 'Bob' }, { to: 'Eve' }],
  )
  const decide = (at: number, decision: object) =>
    all(client.sendMessageStream(message(dataPart({ tool_call_id: calls[at].tool_call_id, ...decision }), { taskId })))
  const second = await decide(0, { decision: 'approve', tool_input: { to: 'Ann' } })
  assert.deepEqual(statesOf(second), [TaskState.TASK_STATE_INPUT_REQUIRED])
  const left = callsOf(await client.getTask({ tenant: '', id: taskId, historyLength: undefined }))
  assert.deepEqual(
    left.map((call) => call.tool_input),
    [{ to: 'Eve' }],
  )
  await assert.rejects(decide(0, { decision: 'reject' }), /waits for approval|was decided/)
  const third = await decide(1, { decision: 'reject', reason: 'Not her.' })
  assert.equal(statesOf(third).at(-1), TaskState.TASK_STATE_COMPLETED)
  assert.deepEqual(sent, [{ to: 'Ann' }])
  assert.match(JSON.stringify(service.model.requests.at(-1)?.body), /rejected by a person: Not her\./)
})

test('Approval: a subscription to an interrupted A2A task stays open through the decisions until the end', async (t) => {
  const script = [callOf('send', { to: 'Bob' }), callOf('send', { to: 'Eve' }), { text: 'It is done.' }]
  const { service } = await start(t, { script })
  const client = await a2a(service)
  const waiting = (await client.sendMessage(message(textPart('Write.')))) as Task
  const stream = client.resubscribeTask({ tenant: '', id: waiting.id })
  const begin = ((await stream.next()).value as StreamResponse).payload
  assert.ok(begin?.$case === 'task')
  assert.deepEqual(begin.value.status, waiting.status)
  const answered: Task[] = []
  const events: StreamResponse[] = []
  const approveFirst = client.sendMessage(message(textPart('approve'), { taskId: waiting.id }))
  for await (const event of stream) {
    events.push(event)
    if (event.payload?.$case !== 'statusUpdate' || event.payload.value.status?.state !== TaskState.TASK_STATE_INPUT_REQUIRED) continue
    await approveFirst
    answered.push((await client.sendMessage(message(textPart('approve'), { taskId: waiting.id }))) as Task)
  }
  const { TASK_STATE_WORKING: works, TASK_STATE_INPUT_REQUIRED: asks, TASK_STATE_COMPLETED: completed } = TaskState
  assert.deepEqual(statesOf(events), [works, works, asks, works, works, completed])
  assert.equal(answered[0]?.status?.state, completed)
  const texts = events.flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? payload.value.artifact!.parts : []))
  assert.equal(texts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join(''), 'It is done.')
})

test('Approval: a subscription ends when its interrupted task is cancelled, and a disconnect logs no error', async (t) => {
  const { service } = await start(t)
  const client = await a2a(service)
  const waiting = (await client.sendMessage(message(textPart('Write.')))) as Task
  const leaving = new AbortController()
  const left = client.resubscribeTask({ tenant: '', id: waiting.id }, { signal: leaving.signal })
  await left.next()
  leaving.abort()
  await assert.rejects(all(left))
  const stream = client.resubscribeTask({ tenant: '', id: waiting.id })
  await stream.next()
  await client.cancelTask({ tenant: '', id: waiting.id, metadata: undefined })
  assert.deepEqual(statesOf(await all(stream)), [TaskState.TASK_STATE_CANCELED])
  assert.deepEqual(
    service.log.filter((line) => (JSON.parse(line) as { level: number }).level >= 50),
    [],
  )
})

test('Approval: an A2A task refuses decisions of callers without the permission, also for calls decided by role', async (t) => {
  const { service, sent } = await start(t, { traits: { approval: { by: 'role' } } })
  const client = await a2a(service)
  const waiting = (await client.sendMessage(message(textPart('Write to Bob.')))) as Task
  await assert.rejects(client.sendMessage(message(textPart('approve'), { taskId: waiting.id })), /RBAC: access denied/)
  const stranger = await a2a(service, { sub: 'eve' })
  await assert.rejects(stranger.sendMessage(message(textPart('approve'), { taskId: waiting.id })), /no task/)
  const cancelled = await client.cancelTask({ tenant: '', id: waiting.id, metadata: undefined })
  assert.equal(cancelled.status?.state, TaskState.TASK_STATE_CANCELED)
  assert.deepEqual(sent, [])
})
