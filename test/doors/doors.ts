import { createHash } from 'node:crypto'
import { answerSchema, clientToolSchema, type Answer, type Scenario } from './scenarios.ts'

/** Sends a request, records the answer as it came, and returns its text. */
export type Send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<string>

export interface Visit {
  send: Send
  scenario: Scenario
  /** The name of the scenario, which is the question. */
  question: string
  /** An id that is the same in every recording. */
  id: string
}

export type Door = (visit: Visit) => Promise<void>

/** The last JSON value in a text: the body, or the data of the last event that has any. */
const values = (text: string): any[] =>
  text.startsWith('{') || text.startsWith('[')
    ? [JSON.parse(text)]
    : [...text.matchAll(/^data: ?(\{[^\n]*)$/gm)].map(([, data]) => JSON.parse(data!))

const clientTool = { name: 'get_place', description: 'The place of the device.', schema: clientToolSchema }
const functionTool = { name: 'get_place', description: 'The place of the device.', parameters: clientToolSchema }

interface Waiting {
  tool_call_id: string
}

/** The calls that a run waits for, in any of the objects of a door. */
function waitingIn(text: string, field: 'approval_required' | 'client_tool_calls'): Waiting[] {
  const found = values(text).flatMap((value) => (value[field] ?? value.response?.[field])?.calls ?? [])
  return [...new Map(found.map((call: Waiting) => [call.tool_call_id, call])).values()]
}

function decisionOf(answer: Answer | undefined): object {
  switch (answer) {
    case 'reject':
      return { decision: 'reject', reason: 'Not today.' }
    case 'edit':
      return { decision: 'approve', tool_input: { to: 'Rob' } }
    case 'output':
      return { decision: 'output', output: { rain: true } }
    case 'error':
      return { decision: 'error', error: 'No signal.' }
    default:
      return { decision: 'approve' }
  }
}

/** Decides every waiting call by the route of the interface, until the run has ended. */
async function decideAll({ send, scenario, id }: Visit, first: string, again: () => Promise<string>): Promise<void> {
  for (let text = first, round = 0; round < 4; round++) {
    const calls = [...waitingIn(text, 'approval_required'), ...waitingIn(text, 'client_tool_calls')]
    if (calls.length === 0) return
    for (const { tool_call_id } of calls) {
      await send('POST', `/core/v1/runs/${id}/approvals`, { tool_call_id, ...decisionOf(scenario.answer) })
    }
    text = await again()
  }
}

function chatBody({ question, scenario }: Visit): object {
  return {
    messages: [{ role: 'user', content: question }],
    ...(scenario.schema && { response_schema: answerSchema }),
    ...(scenario.clientTool && { client_tools: [clientTool] }),
  }
}

/** The interface itself: an answer, or a stream, then the same request again, which replays the run. */
const core =
  (operation: 'chain' | 'chain_streaming'): Door =>
  async (visit) => {
    const ask = () =>
      visit.send('POST', `/core/v1/${operation}`, chatBody(visit), { 'request-id': visit.id, 'session-id': `s-${visit.id}` })
    const first = await ask()
    await decideAll(visit, first, ask)
    await ask()
    await visit.send('GET', `/core/v1/runs/${visit.id}/stream`, undefined, { 'last-event-id': `${visit.id}:2` })
    await visit.send('GET', `/core/v1/sessions/s-${visit.id}`)
  }

const completions =
  (stream: boolean): Door =>
  async (visit) => {
    const { scenario, question, id, send } = visit
    const messages: object[] = [{ role: 'user', content: question }]
    const ask = (more: object[] = [], requestId = id) =>
      send(
        'POST',
        '/v1/chat/completions',
        {
          model: 'agent-core',
          messages: [...messages, ...more],
          ...(stream && { stream, stream_options: { include_usage: true } }),
          ...(scenario.clientTool && { tools: [{ type: 'function', function: functionTool }] }),
          ...(scenario.schema && {
            response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: answerSchema, strict: true } },
          }),
        },
        { 'request-id': requestId },
      )
    const first = await ask()
    if (!scenario.clientTool) return void (await decideAll(visit, first, () => ask()).then(() => ask()))
    const calls = functionCallsIn(first)
    if (calls.length === 0) return
    const asked = { role: 'assistant', content: null, tool_calls: calls }
    const outputs = calls.map((call) => ({
      role: 'tool',
      tool_call_id: call.id,
      content: scenario.answer === 'error' ? 'No signal.' : '{"rain":true}',
    }))
    await ask([asked, ...outputs], `${id}-2`)
  }

const anthropic =
  (stream: boolean): Door =>
  async (visit) => {
    const { scenario, question, id, send } = visit
    const asked = { role: 'user', content: question }
    const ask = (more: object[] = [], requestId = id) =>
      send(
        'POST',
        '/v1/messages',
        {
          ...{ model: 'agent-core', max_tokens: 1000, messages: [asked, ...more], thinking: { type: 'enabled', budget_tokens: 1024 } },
          ...(stream && { stream }),
          ...(scenario.clientTool && { tools: [{ ...clientTool, schema: undefined, input_schema: clientToolSchema }] }),
          ...(scenario.schema && { output_config: { format: { type: 'json_schema', schema: answerSchema } } }),
        },
        { 'request-id': requestId },
      )
    const first = await ask()
    if (!scenario.clientTool) return void (await decideAll(visit, first, () => ask()).then(() => ask()))
    const uses = values(first).flatMap(({ content = [], content_block: block }) =>
      [...content, block].filter((one) => one?.type === 'tool_use'),
    )
    if (uses.length === 0) return
    const isError = scenario.answer === 'error'
    const results = uses.map((use) => {
      const content = isError ? 'No signal.' : [{ type: 'text', text: '{"rain":true}' }]
      return { type: 'tool_result', tool_use_id: use.id, content, ...(isError && { is_error: true }) }
    })
    await ask(
      [
        { role: 'assistant', content: uses },
        { role: 'user', content: results },
      ],
      `${id}-2`,
    )
  }

interface FunctionCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

function functionCallsIn(text: string): FunctionCall[] {
  const calls = new Map<number, FunctionCall>()
  for (const { choices = [] } of values(text)) {
    for (const [at, call] of (choices[0]?.message?.tool_calls ?? []).entries()) calls.set(at, call)
    for (const { index, id, function: part } of choices[0]?.delta?.tool_calls ?? []) {
      const call = calls.get(index) ?? { id, type: 'function', function: { name: part.name, arguments: '' } }
      call.function.arguments += part.arguments ?? ''
      calls.set(index, call)
    }
  }
  return [...calls.values()]
}

const responses =
  (stream: boolean): Door =>
  async (visit) => {
    const { scenario, question, id, send } = visit
    const ask = (input: unknown, requestId: string, more: object = {}) =>
      send(
        'POST',
        '/v1/responses',
        {
          ...{ model: 'agent-core', input, ...more },
          ...(stream && { stream }),
          ...(scenario.clientTool && { tools: [{ type: 'function', ...functionTool, strict: false }] }),
          ...(scenario.schema && { text: { format: { type: 'json_schema', name: 'answer', schema: answerSchema, strict: true } } }),
        },
        { 'request-id': requestId },
      )
    const first = await ask(question, id)
    if (!scenario.clientTool) {
      await decideAll(visit, first, () => ask(question, id))
      await ask(question, id)
      const made = responseOf(first)
      if (made === undefined) return
      await send('GET', `/v1/responses/${made}`)
      await send('GET', `/v1/responses/${made}?stream=true&starting_after=3`)
      return
    }
    const output = scenario.answer === 'error' ? 'No signal.' : '{"rain":true}'
    const calls = values(first)
      .flatMap((value) => (value.response ?? value).output ?? [])
      .filter(({ type }) => type === 'function_call')
    const ids = [...new Set(calls.map((call: { call_id: string }) => call.call_id))]
    if (ids.length === 0) return
    const outputs = ids.map((call_id) => ({ type: 'function_call_output', call_id, output }))
    await ask(outputs, `${id}-2`, { previous_response_id: responseOf(first) })
  }

const responseOf = (text: string): string | undefined =>
  values(text)
    .map((value) => value.response?.id ?? value.id)
    .find(Boolean)

const agUi: Door = async (visit) => {
  const { scenario, question, id, send } = visit
  const tools = scenario.clientTool ? [functionTool] : []
  const user = { id: 'u1', role: 'user', content: question }
  const run = (runId: string, messages: object[], more: object = {}) =>
    send('POST', '/ag-ui', { ...{ threadId: `t-${id}`, runId, state: {}, messages, tools, context: [], forwardedProps: {} }, ...more })
  let text = await run(id, [user])
  for (let round = 2; round < 5; round++) {
    const interrupts = values(text).flatMap(({ type, outcome }) => (type === 'RUN_FINISHED' ? (outcome?.interrupts ?? []) : []))
    if (interrupts.length === 0) break
    const resume = interrupts.map((interrupt: { id: string }) => ({ interruptId: interrupt.id, ...agUiAnswerOf(scenario.answer) }))
    text = await run(`${id}-${round}`, [user], { resume })
  }
  if (!scenario.clientTool) return
  const calls = values(text).filter(({ type, toolCallName }) => type === 'TOOL_CALL_START' && toolCallName === 'get_place')
  if (calls.length === 0) return
  const results = calls.map(({ toolCallId }, at) =>
    scenario.answer === 'error'
      ? { id: `r${at}`, role: 'tool', toolCallId, content: '', error: 'No signal.' }
      : { id: `r${at}`, role: 'tool', toolCallId, content: '{"rain":true}' },
  )
  const asked = calls.map(({ toolCallId }) => ({ id: toolCallId, type: 'function', function: { name: 'get_place', arguments: '{}' } }))
  await run(`${id}-2`, [user, { id: 'a1', role: 'assistant', toolCalls: asked }, ...results])
}

function agUiAnswerOf(answer: Answer | undefined): object {
  if (answer === 'reject') return { status: 'cancelled' }
  const edited = answer === 'edit' ? { editedArgs: { to: 'Rob' } } : {}
  return { status: 'resolved', payload: { approved: true, ...edited } }
}

const uiChat: Door = async ({ scenario, question, id, send }) => {
  const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: question }] }
  const chat = (messages: object[]) =>
    send('POST', '/ui/chat', { id: `c-${id}`, messages, ...(scenario.clientTool && { client_tools: [clientTool] }) }, { 'request-id': id })
  let text = await chat([user])
  for (let round = 0; round < 3; round++) {
    const parts = partsIn(text, scenario.answer)
    if (parts.length === 0) return
    text = await chat([user, { id: `msg_${id}`, role: 'assistant', parts }])
  }
}

/** The parts that `useChat` sends back once a person has decided, or the client has run the call. */
function partsIn(text: string, answer: Answer | undefined): object[] {
  const events = values(text)
  const inputs = new Map(events.filter(({ type }) => type === 'tool-input-available').map((event) => [event.toolCallId, event]))
  const approvals = events.filter(({ type }) => type === 'tool-approval-request')
  const decided = approvals.map(({ approvalId, toolCallId }) => {
    const { toolName, input } = inputs.get(toolCallId)
    const approval = { id: approvalId, approved: answer !== 'reject', ...(answer === 'reject' && { reason: 'Not today.' }) }
    return { type: 'dynamic-tool', toolName, toolCallId, state: 'approval-responded', input, approval }
  })
  const ended = new Set(events.filter(({ type }) => type === 'tool-output-available').map(({ toolCallId }) => toolCallId))
  const own = [...inputs.values()].filter(({ toolName, toolCallId }) => toolName === 'get_place' && !ended.has(toolCallId))
  const outputs = own.map(({ toolName, toolCallId, input }) => ({
    ...{ type: 'dynamic-tool', toolName, toolCallId, input },
    ...(answer === 'error' ? { state: 'output-error', errorText: 'No signal.' } : { state: 'output-available', output: { rain: true } }),
  }))
  return [...decided, ...outputs]
}

const options = 'urn:agent-core:chat-options:1'

function a2aMetadata({ schema, clientTool: hasTool }: Scenario): object {
  const more = { ...(schema && { response_schema: answerSchema }), ...(hasTool && { client_tools: [clientTool] }) }
  return Object.keys(more).length > 0 ? { metadata: { [options]: more } } : {}
}

/** A message of A2A in JSON, and the answers to what its task waits for. */
const a2a =
  (post: (visit: Visit, params: object) => Promise<string>, read: (visit: Visit, taskId: string) => Promise<string>): Door =>
  async (visit) => {
    const { scenario, question, id } = visit
    const message = (n: number, parts: object[], more: object = {}) => ({
      message: { messageId: `${id}-m${n}`, role: 'ROLE_USER', parts, ...more },
    })
    let text = await post(visit, { ...message(1, [{ text: question }]), ...a2aMetadata(scenario) })
    const taskId = [...text.matchAll(/"(?:taskId|id)":"([\da-f]{8}-[\da-f-]{27})"/g)].map(([, found]) => found!)[0]
    for (let round = 2; round < 5 && taskId !== undefined; round++) {
      const calls = [...text.matchAll(/"tool_call_id":"([^"]+)"/g)].map(([, found]) => found!)
      if (!text.includes('TASK_STATE_INPUT_REQUIRED') || calls.length === 0) break
      const parts = [...new Set(calls)].map((tool_call_id) => ({ data: { tool_call_id, ...a2aAnswerOf(scenario) } }))
      text = await post(visit, message(round, parts, { taskId }))
    }
    if (taskId !== undefined) await read(visit, taskId)
  }

function a2aAnswerOf({ answer }: Scenario): object {
  if (answer === 'output') return { output: { rain: true } }
  return answer === 'error' ? { error: 'No signal.' } : decisionOf(answer)
}

const v1 = { 'a2a-version': '1.0' }

const rpc =
  (method: string) =>
  ({ send, id }: Visit, params: object) =>
    send('POST', '/a2a', { jsonrpc: '2.0', id, method, params }, v1)
const rpcTask = (visit: Visit, id: string) => rpc('GetTask')(visit, { id })
const overHttp =
  (path: string) =>
  ({ send }: Visit, body: object) =>
    send('POST', `/a2a/v1/${path}`, body, v1)
const httpTask = ({ send }: Visit, id: string) => send('GET', `/a2a/v1/tasks/${id}`, undefined, v1)

const mcp: Door = async ({ scenario, question, id, send }) => {
  const accept = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }
  const call = (n: number, args: object) =>
    send(
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'ask', arguments: args, _meta: { progressToken: n } } },
      accept,
    )
  const text = await call(1, { message: question, session_id: `s-${id}`, ...(scenario.schema && { response_schema: answerSchema }) })
  const [waiting] = values(text).flatMap(({ result }) => result?.structuredContent?.approval_required ?? [])
  for (const { tool_call_id } of waiting?.calls ?? []) {
    await send('POST', `/core/v1/runs/${waiting.request_id}/approvals`, { tool_call_id, ...decisionOf(scenario.answer) })
  }
  if (waiting) await send('GET', `/core/v1/runs/${waiting.request_id}/stream`)
}

/** A run of LangGraph's Agent Server in a thread, the decisions on its calls, and the state of the thread. */
const langGraph =
  (operation: 'stream' | 'wait'): Door =>
  async ({ scenario, question, id, send }) => {
    const thread = `/langgraph/threads/t-${id}`
    const run = (fields: object, n: number) =>
      send(
        'POST',
        `${thread}/runs/${operation}`,
        { assistant_id: 'agent', if_not_exists: 'create', stream_mode: ['values', 'messages-tuple', 'updates', 'custom'], ...fields },
        { 'request-id': n === 1 ? id : `${id}-${n}` },
      )
    let text = await run({ input: { messages: [{ type: 'human', content: question }] } }, 1)
    for (let round = 2; round < 5; round++) {
      const [interrupt] = values(text).findLast(({ __interrupt__: interrupts }) => interrupts)?.__interrupt__ ?? []
      const requests: object[] = interrupt?.value?.action_requests ?? []
      if (requests.length === 0 || !text.trimEnd().includes('__interrupt__')) break
      text = await run({ command: { resume: { decisions: requests.map(() => langGraphAnswerOf(scenario.answer)) } } }, round)
    }
    await send('GET', `${thread}/runs/${id}/stream`, undefined, { 'last-event-id': `${id}:2` })
    await send('GET', `${thread}/state`)
  }

function langGraphAnswerOf(answer: Answer | undefined): object {
  if (answer === 'reject') return { type: 'reject', message: 'Not today.' }
  return answer === 'edit' ? { type: 'edit', edited_action: { name: 'send', args: { to: 'Rob' } } } : { type: 'approve' }
}

export const doors: Record<string, Door> = {
  'core-json': core('chain'),
  'core-stream': core('chain_streaming'),
  'completions-json': completions(false),
  'completions-stream': completions(true),
  'responses-json': responses(false),
  'responses-stream': responses(true),
  'anthropic-json': anthropic(false),
  'anthropic-stream': anthropic(true),
  'ag-ui': agUi,
  'ui-chat': uiChat,
  'a2a-rpc': a2a(rpc('SendMessage'), rpcTask),
  'a2a-rpc-stream': a2a(rpc('SendStreamingMessage'), rpcTask),
  'a2a-http': a2a(overHttp('message:send'), httpTask),
  'a2a-http-stream': a2a(overHttp('message:stream'), httpTask),
  'langgraph-stream': langGraph('stream'),
  'langgraph-wait': langGraph('wait'),
  mcp,
}

/** A request id that is the same in every recording, and different in every scenario. */
export function idOf(door: string, question: string): string {
  return `r-${createHash('sha256').update(`${door} ${question}`).digest('hex').slice(0, 12)}`
}
