import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { EventType, HttpAgent, type BaseEvent, type Interrupt, type Message, type RunAgentParameters } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { startAskingMcpServer } from '../fixtures/asking-mcp-server.ts'
import { startService, type ServiceOptions, type TestService, type Who } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** The real client, which verifies the order of all events. */
async function connect({ url, key }: Pick<TestService, 'url' | 'key'>, threadId = 'thread-1', who?: Who): Promise<HttpAgent> {
  return new HttpAgent({ url: `${url}/ag-ui`, threadId, headers: { 'x-service-access': (await key(who)).key } })
}

/** Runs the agent; returns its events, which fit the schemas of the protocol. */
async function run(agent: HttpAgent, parameters: RunAgentParameters = {}) {
  const events: BaseEvent[] = []
  const { result, newMessages } = await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) })
  for (const event of events) EventSchemas.parse(event)
  return { events, types: events.map<string>(({ type }) => type), result, newMessages }
}

function say(agent: HttpAgent, content: string, id = `u${agent.messages.length}`): void {
  agent.addMessage({ id, role: 'user', content })
}

const textOf = (messages: readonly Message[]) => messages.flatMap(({ role, content }) => (role === 'assistant' && content ? [content] : []))

async function start(t: { after(work: () => unknown): void }, options: ServiceOptions) {
  const service = await startService(t, options)
  return { service, agent: await connect(service) }
}

test('AG-UI: a question is answered by a stream of a run, messages, reasoning and tool calls', async (t) => {
  const look = fakeTool('look', async ({ at }) => ({ seen: at ?? null }))
  const script = [
    { ...callOf('look', { at: 'sky' }), reasoning: 'I look.', text: 'Let me see.' },
    { text: 'It is blue.', usage: { input: 7, output: 3 } },
  ]
  const { service, agent } = await start(t, { script, tools: [look] })
  say(agent, 'Which colour?')
  const { events, types, result } = await run(agent, { runId: 'run-1' })
  assert.deepEqual(types, [
    'RUN_STARTED',
    ...['REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT', 'REASONING_MESSAGE_END', 'REASONING_END'],
    ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
    ...['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT'],
    ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
    'RUN_FINISHED',
  ])
  const [begin] = events
  assert.deepEqual(begin, {
    type: 'RUN_STARTED',
    threadId: 'thread-1',
    runId: 'run-1',
    protocolVersion: '1.0',
    metadata: { request_id: 'run-1' },
  })
  assert.deepEqual(result, { finish_reason: 'stop' })
  const end = events.at(-1)!
  assert.deepEqual(end['outcome'], { type: 'success' })
  const tokens = { inputTokens: 7, outputTokens: 3, totalTokens: 10, cachedInputTokens: 0, reasoningTokens: 0 }
  assert.deepEqual(end['usage'], [{ model: 'scripted', ...tokens }])
  assert.deepEqual(textOf(agent.messages), ['Let me see.', 'It is blue.'])
  const [toolMessage] = agent.messages.filter(({ role }) => role === 'tool')
  assert.equal(toolMessage!.content, '{"seen":"sky"}')

  const stored = await service.client.request('GET', '/core/v1/runs/run-1')
  assert.deepEqual({ status: stored.body.status, session: stored.body.session_id }, { status: 'success', session: 'thread-1' })
})

test('AG-UI: the service has the earlier turns, so they are neither stored nor shown to the model twice', async (t) => {
  const { service, agent } = await start(t, { script: [{ text: 'First.' }, { text: 'Second.' }] })
  say(agent, 'One?')
  await run(agent)
  say(agent, 'Two?')
  await run(agent, { context: [{ description: 'Open page', value: 'Prices' }] })
  const { messages } = service.model.requests[1]!.body
  assert.deepEqual(
    messages.slice(1).map(({ content }: { content: string }) => content),
    ['One?', 'First.', 'Two?'],
  )
  assert.match(messages[0].content, /# What the application shows to the user now\n- Open page: Prices$/)
  const session = await service.client.request('GET', '/core/v1/sessions/thread-1')
  assert.deepEqual(
    session.body.messages.map(({ content }: { content: string }) => content),
    ['One?', 'First.', 'Two?', 'Second.'],
  )
})

test('AG-UI: a thread that begins elsewhere brings its turns, and what the page shows lasts for one question', async (t) => {
  const { service, agent } = await start(t, { script: [{ text: 'A.' }, { text: 'B.' }] })
  agent.setMessages([
    { id: '1', role: 'developer', content: 'Be brief.' },
    { id: '2', role: 'user', content: 'Hello.' },
    { id: '3', role: 'assistant', content: 'Hi.' },
    { id: '4', role: 'user', content: [{ type: 'text', text: 'Who am I?' }] },
  ])
  await run(agent, { context: [{ description: 'User', value: 'Ann' }] })
  say(agent, 'And now?')
  await run(agent)
  const [first, second] = service.model.requests.map(({ body }) => body.messages)
  assert.match(first[0].content, /Be brief\.[^]*- User: Ann$/)
  assert.deepEqual(
    first.slice(1).map(({ content }: { content: string }) => content),
    ['Hello.', 'Hi.', 'Who am I?'],
  )
  assert.match(second[0].content, /Be brief\.$/)
})

test('AG-UI: an approval is an interrupt, which a further run of the thread resumes', async (t) => {
  const { sent, tool } = sending()
  const script = [{ ...sendTo('Bob', 'Eve'), text: 'One moment.' }, { text: 'Done.' }]
  const { service, agent } = await start(t, { script, tools: [tool] })
  say(agent, 'Write to both.')
  const first = await run(agent, { runId: 'run-1' })
  assert.deepEqual(first.types.slice(-7), [
    ...['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END'],
    'RUN_FINISHED',
  ])
  const [bob, eve] = agent.pendingInterrupts as [Interrupt, Interrupt]
  assert.deepEqual([bob.reason, bob.message, bob.toolCallId], ['tool_call', 'Approve the call of send?', bob.id])
  assert.deepEqual(bob.responseSchema?.['required'], ['approved'])
  assert.deepEqual(sent, [])

  const resume = [
    { interruptId: bob.id, status: 'resolved' as const, payload: { approved: true, editedArgs: { to: 'Rob' } } },
    { interruptId: eve.id, status: 'cancelled' as const },
  ]
  const second = await run(agent, { runId: 'run-2', resume })
  assert.deepEqual(second.types, [
    'RUN_STARTED',
    ...['TOOL_CALL_RESULT', 'TOOL_CALL_RESULT'],
    ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
    'RUN_FINISHED',
  ])
  assert.deepEqual(second.events[0]!.metadata, { request_id: 'run-1' })
  assert.deepEqual(sent, [{ to: 'Rob' }])
  assert.deepEqual(agent.pendingInterrupts, [])
  assert.deepEqual(textOf(agent.messages), ['One moment.', 'Done.'])
  const results = agent.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
  assert.ok(results.includes('sent to Rob') && results.some((text) => text.includes('rejected')), results.join())

  // A repeat of the answers changes nothing.
  const repeat = await run(await connect(service), { runId: 'run-2', resume })
  assert.deepEqual(repeat.types, second.types)
  assert.equal(sent.length, 1)
})

test('AG-UI: input that does not fit a waiting thread ends in RUN_ERROR', async (t) => {
  const { tool } = sending()
  const { service, agent } = await start(t, { script: sendTo('Bob', 'Eve'), tools: [tool] })
  say(agent, 'Write to both.')
  await run(agent)
  const [bob, eve] = agent.pendingInterrupts as [Interrupt, Interrupt]
  const answer = (interruptId: string, payload: object = { approved: true }) => ({ interruptId, status: 'resolved' as const, payload })
  async function errorOf(parameters: RunAgentParameters, thread?: string) {
    const other = await connect(service, thread)
    say(other, 'Hello?')
    const { types, events } = await run(other, parameters)
    assert.deepEqual(types, ['RUN_STARTED', 'RUN_ERROR'])
    return { code: events[1]!['code'], message: events[1]!['message'] }
  }
  assert.equal((await errorOf({})).code, 'SessionInterrupted')
  assert.match(
    String((await errorOf({ resume: [answer(bob.id)] })).message),
    new RegExp(`must answer every open interrupt; missing: ${eve.id}`),
  )
  assert.match(
    String((await errorOf({ resume: [answer('x'), answer(bob.id), answer(eve.id)] })).message),
    /no interrupt x of the thread waits/,
  )
  assert.match(String((await errorOf({ resume: [answer(bob.id, {}), answer(eve.id)] })).message), /approved: must be true or false/)
  assert.equal((await errorOf({ resume: [answer(bob.id)] }, 'thread-2')).code, 'NotInterrupted')
})

test('AG-UI: a plan is state, and its running step a step of the run', async (t) => {
  const script = [{ text: '["Look.", "Tell."]' }, { text: 'Seen.' }, { text: 'Told.' }, { text: 'All done.' }]
  const { agent } = await start(t, { script, config: { workflow_type: 'plan_execute' } })
  agent.setState({ theme: 'dark' })
  say(agent, 'Do it.')
  const { events } = await run(agent)
  assert.deepEqual(agent.state, {
    theme: 'dark',
    plan: [
      { step: 'Look.', status: 'done' },
      { step: 'Tell.', status: 'done' },
    ],
  })
  const steps = events.filter(({ type }) => type.startsWith('STEP')).map(({ type, stepName }) => `${type} ${String(stepName)}`)
  assert.deepEqual(steps, ['STEP_STARTED 1. Look.', 'STEP_FINISHED 1. Look.', 'STEP_STARTED 2. Tell.', 'STEP_FINISHED 2. Tell.'])
  assert.deepEqual(textOf(agent.messages), ['All done.'])
})

test('AG-UI: a run that fails ends in RUN_ERROR; refusals are HTTP errors', async (t) => {
  const { service, agent } = await start(t, { script: { status: 400, body: { error: { message: 'no' } } } })
  say(agent, 'Hello?')
  const { events } = await run(agent)
  assert.deepEqual(
    events.map(({ type, code }) => [type, code]),
    [
      ['RUN_STARTED', undefined],
      ['RUN_ERROR', 'ModelUnavailable'],
    ],
  )
  const viewer = await connect(service, 'thread-2', { roles: ['viewer'] })
  t.mock.method(console, 'error', () => undefined)
  say(viewer, 'Hello?')
  await assert.rejects(viewer.runAgent(), /HTTP 403: .*RBAC: access denied/)
  const faulty = await service.client.request('POST', '/ag-ui', { body: { threadId: 'a b', runId: 'r', messages: [] } })
  assert.deepEqual({ status: faulty.status, loc: faulty.body.detail[0].loc }, { status: 422, loc: ['body', 'threadId'] })
})

test('AG-UI: images of a question reach the model; files at other addresses are refused', async (t) => {
  const { service, agent } = await start(t, { script: { text: 'A dot.' }, config: {} })
  const value = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  agent.addMessage({
    id: '1',
    role: 'user',
    content: [
      { type: 'text', text: 'What is it?' },
      { type: 'image', source: { type: 'data', value, mimeType: 'image/png' } },
    ],
  })
  await run(agent)
  assert.ok(JSON.stringify(service.model.requests[0]!.body).includes('data:image/'))
  const other = await connect(service, 'thread-2')
  other.addMessage({ id: '1', role: 'user', content: [{ type: 'audio', source: { type: 'url', value: 'https://example.org/a.mp3' } }] })
  const { events } = await run(other)
  assert.match(String(events[1]!['message']), /files are not fetched from other addresses/)
})

const place = {
  name: 'get_place',
  description: 'The place of the device.',
  parameters: { type: 'object', properties: { precision: { type: 'integer' } }, required: ['precision'] },
}

test('AG-UI: a tool of the page is answered by the next run of the thread, also after a restart', async (t) => {
  const script = [{ ...callOf('get_place', { precision: 3 }), text: 'I look it up.' }, { text: 'You are in Basel.' }]
  const { service, agent } = await start(t, { script })
  say(agent, 'Where am I?')
  const first = await run(agent, { runId: 'run-1', tools: [place] })
  assert.deepEqual(first.types.slice(-4), ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'RUN_FINISHED'])
  const call = agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))[0]!
  assert.deepEqual(call.function, { name: 'get_place', arguments: '{"precision":3}' })
  assert.deepEqual(first.events.at(-1)!['outcome'], { type: 'success', pendingToolCallIds: [call.id] })
  assert.deepEqual(agent.pendingInterrupts, [])
  assert.equal(service.model.requests[0]!.body.tools.at(-1).function.description, place.description)

  await service.restart()
  agent.url = `${service.url}/ag-ui`
  agent.addMessage({ id: 't1', role: 'tool', toolCallId: call.id, content: 'Basel' })
  const second = await run(agent, { runId: 'run-2', tools: [place] })
  assert.deepEqual(second.types, ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'])
  assert.deepEqual(textOf(agent.messages), ['I look it up.', 'You are in Basel.'])
  assert.equal(agent.messages.filter(({ role }) => role === 'tool').length, 1)
  assert.equal(service.model.requests[1]!.body.messages.at(-1).content, 'Basel')
  const stored = await service.client.request('GET', '/core/v1/runs/run-1')
  assert.equal(stored.body.status, 'success')

  const clash = await connect(service, 'thread-2')
  say(clash, 'Hello?')
  const refused = await run(clash, { tools: [{ ...place, name: 'find_tools' }] })
  assert.match(String(refused.events[1]!['message']), /body\.tools\.0\.name: the agent has a tool find_tools of its own/)
})

test('AG-UI: calls of the page and calls that wait for approval are answered in any order', async (t) => {
  const { sent, tool } = sending()
  const calls = [...callOf('get_place', { precision: 1 }).calls, ...sendTo('Bob').calls]
  const { service, agent } = await start(t, { script: [{ calls }, { text: 'Done.' }], tools: [tool] })
  say(agent, 'Tell Bob where I am.')
  await run(agent, { tools: [place] })
  const [interrupt] = agent.pendingInterrupts as [Interrupt]
  const called = agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  const callId = called.find((call) => call.function.name === 'get_place')!.id
  const approved = await run(agent, { resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] })
  assert.deepEqual(approved.types, ['RUN_STARTED', 'RUN_FINISHED'])
  assert.deepEqual(approved.events[1]!['outcome'], { type: 'success', pendingToolCallIds: [callId] })
  agent.addMessage({ id: 't1', role: 'tool', toolCallId: callId, content: '', error: 'no signal' })
  const ended = await run(agent)
  assert.deepEqual(ended.types.slice(0, 2), ['RUN_STARTED', 'TOOL_CALL_RESULT'])
  assert.deepEqual([sent, textOf(agent.messages)], [[{ to: 'Bob' }], ['Done.']])
  assert.match(JSON.stringify(service.model.requests[1]!.body.messages), /no signal/)
})

test('AG-UI: a sub-agent is an invocation, to which its calls belong', async (t) => {
  const look = fakeTool('look', async () => 'seen')
  const isInner = (text: string) => text.includes('Find it.')
  const { service, agent } = await start(t, {
    script: ({ body }) => {
      const { messages } = body as { messages: { role: string; content: string }[] }
      const hasResult = messages.at(-1)!.role === 'tool'
      if (messages.some(({ role, content }) => role === 'user' && isInner(content))) return hasResult ? { text: 'Found.' } : callOf('look')
      return hasResult ? { text: 'It is there.' } : callOf('sub_agent_finder', { task: 'Find it.' })
    },
    tools: [look],
  })
  const body = { name: 'finder', description: 'Finds.', objective: 'Find.', tools: ['look'] }
  const made = await service.client.request('POST', '/core/v1/chain/sub_agents', { body })
  assert.ok(made.status < 300, made.text)
  say(agent, 'Where is it?')
  const { events } = await run(agent)
  const shown = events.flatMap(({ type, ...event }) =>
    type.startsWith('SUBAGENT') || type === EventType.TOOL_CALL_START
      ? [`${type} ${String(event['toolCallName'] ?? event['name'] ?? '')}`]
      : [],
  )
  assert.deepEqual(shown, ['TOOL_CALL_START sub_agent:finder', 'SUBAGENT_STARTED finder', 'TOOL_CALL_START look', 'SUBAGENT_FINISHED '])
  const { subagentRunId } = events.find(({ type }) => type === EventType.SUBAGENT_STARTED)!
  const inner = events.filter((event) => event['toolCallName'] === 'look')
  assert.deepEqual(
    inner.map((event) => event['subagentRunId']),
    [subagentRunId],
  )
})

/** A service with a server that asks the caller during a call; the model calls the tool that the question names. */
async function startAsking(t: TestContext) {
  const server = await startAskingMcpServer()
  t.after(() => server.close())
  const desk = { name: 'desk', type: 'mcp', config: { url: server.url, elicitation: 'allow' } }
  const script = ({ body }: { body: { messages: { role: string; content: string }[] } }) => {
    const { role, content } = body.messages.at(-1)!
    return role === 'tool' ? { text: content } : callOf(`desk__${content}`)
  }
  return { server, ...(await start(t, { script, config: { tools: [desk] } })) }
}

test('AG-UI: a form of an MCP server is an interrupt with its schema, and the payload is the answer', async (t) => {
  const { server, agent } = await startAsking(t)
  say(agent, 'book')
  const first = await run(agent)
  const [form] = agent.pendingInterrupts as [Interrupt]
  assert.deepEqual([form.reason, form.message], ['input_required', 'desk asks: Which seat?'])
  assert.deepEqual(form.responseSchema?.['required'], ['seat'])
  const call = first.events.find(({ type }) => type === EventType.TOOL_CALL_START)!
  assert.equal(form.toolCallId, call['toolCallId'])
  const answer = (payload: object) => ({ resume: [{ interruptId: form.id, status: 'resolved' as const, payload }] })
  const refused = await run(agent, answer({ seat: 'roof' }))
  assert.match(String(refused.events[1]!['message']), /does not fit its answer_schema/)
  const second = await run(agent, answer({ seat: 'aisle' }))
  assert.deepEqual(second.types.slice(0, 2), ['RUN_STARTED', 'TOOL_CALL_RESULT'])
  assert.deepEqual(server.bookings, [{ meal: 'none', seat: 'aisle' }])

  say(agent, 'visit')
  await run(agent)
  const [page] = agent.pendingInterrupts as [Interrupt]
  assert.deepEqual([page.reason, page.message], ['confirmation', 'desk asks: Please pay. https://pay.example/1'])
  await run(agent, { resume: [{ interruptId: page.id, status: 'cancelled' }] })
  assert.equal(textOf(agent.messages).at(-1), 'Visit: decline')
})
