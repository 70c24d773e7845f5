import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, type Message } from '@langchain/langgraph-sdk'
import { until } from '../fixtures/async-client.ts'
import { decide, sending, sendTo } from '../fixtures/approvals.ts'
import { startService, type ServiceOptions, type TestService, type Who } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** The real client. */
async function connect({ url, key }: Pick<TestService, 'url' | 'key'>, who?: Who): Promise<Client> {
  return new Client({ apiUrl: `${url}/langgraph`, apiKey: (await key(who)).key, callerOptions: { maxRetries: 0 } })
}

async function start(t: { after(work: () => unknown): void }, options: ServiceOptions) {
  const service = await startService(t, options)
  return { service, client: await connect(service) }
}

interface Values {
  messages: Message[]
  __interrupt__?: { id: string; value: { action_requests: object[]; review_configs: object[] } }[]
}

interface Part {
  event: string
  id?: string
  data: Values & [Message, { langgraph_node: string }]
}

async function read(stream: AsyncIterable<unknown>): Promise<Part[]> {
  const parts: Part[] = []
  for await (const part of stream) parts.push(part as Part)
  return parts
}

const human = (content: string) => ({ messages: [{ type: 'human' as const, content }] })
const shape = (messages: readonly Message[]) => messages.map(({ type, content }) => `${type}: ${String(content)}`)
const last = (parts: readonly Part[], event = 'values') => parts.findLast((part) => part.event === event)!.data

test('LangGraph: a run streams values, messages and updates, and its thread has the same messages', async (t) => {
  const look = fakeTool('look', async ({ at }) => ({ seen: at ?? null }))
  const script = [
    { ...callOf('look', { at: 'sky' }), reasoning: 'I look.', text: 'Let me see.' },
    { text: 'It is blue.', usage: { input: 7, output: 3 } },
  ]
  const { service, client } = await start(t, { script, tools: [look] })
  const thread = await client.threads.create({ metadata: { topic: 'sky', rank: 3 } })
  assert.deepEqual([thread.status, thread.values, thread.metadata?.['rank']], ['idle', { messages: [] }, 3])
  const created: object[] = []
  const streamMode = ['values', 'messages-tuple', 'updates', 'custom'] as const
  const stream = client.runs.stream(thread.thread_id, 'agent', {
    input: human('Which colour?'),
    streamMode: [...streamMode],
    onRunCreated: (run) => void created.push(run),
  })
  const parts = await read(stream)
  assert.equal(parts[0]!.event, 'metadata')
  const { run_id: runId } = parts[0]!.data as unknown as { run_id: string }
  assert.deepEqual(created, [{ run_id: runId, thread_id: thread.thread_id }])
  const expected = ['human: Which colour?', 'ai: Let me see.', 'tool: {"seen":"sky"}', 'ai: It is blue.']
  const values = last(parts)
  assert.deepEqual(shape(values.messages), expected)
  const tuples = parts.filter(({ event }) => event === 'messages')
  const texts = tuples.filter(({ data: [, { langgraph_node: node }] }) => node === 'agent').map(({ data: [{ content }] }) => content)
  assert.equal(texts.join(''), 'Let me see.It is blue.')
  const updates = parts.filter(({ event }) => event === 'updates').map(({ data }) => Object.keys(data)[0])
  assert.deepEqual(updates, ['agent', 'tools', 'agent'])
  assert.deepEqual(
    parts.filter(({ event }) => event === 'custom').map(({ data }) => data as unknown),
    [{ type: 'reasoning', text: 'I look.' }],
  )

  const state = await client.threads.getState<Values>(thread.thread_id)
  assert.deepEqual(shape(state.values.messages), expected)
  assert.deepEqual(
    state.values.messages.map(({ id }) => id),
    values.messages.map(({ id }) => id),
  )
  assert.deepEqual([state.next, state.checkpoint?.checkpoint_id], [[], '4'])
  const stored = await service.client.request('GET', `/core/v1/runs/${runId}`)
  assert.deepEqual([stored.body.status, stored.body.session_id], ['success', thread.thread_id])
})

test('LangGraph: the mode `messages` sends messages as they grow', async (t) => {
  const { client } = await start(t, { script: [{ text: 'Hello Ada.' }] })
  const { thread_id: threadId } = await client.threads.create()
  const parts = await read(client.runs.stream(threadId, 'agent', { input: human('Hello'), streamMode: 'messages' }))
  const events = [...new Set(parts.map(({ event }) => event))]
  assert.deepEqual(events, ['metadata', 'messages/metadata', 'messages/partial', 'messages/complete'].slice(0, events.length))
  const partial = parts.findLast(({ event }) => event === 'messages/partial')!.data as unknown as Message[]
  assert.deepEqual(shape(partial), ['ai: Hello Ada.'])
})

test('LangGraph: an approval is an interrupt, which a run with `command.resume` decides', async (t) => {
  const { sent, tool } = sending()
  const { client } = await start(t, { script: [{ ...sendTo('Bob', 'Eve'), text: 'One moment.' }, { text: 'Done.' }], tools: [tool] })
  const { thread_id: threadId } = await client.threads.create()
  const first = await read(client.runs.stream(threadId, 'agent', { input: human('Write to both.'), streamMode: ['values', 'updates'] }))
  const [interrupt] = last(first).__interrupt__!
  assert.deepEqual(interrupt!.value.action_requests, [
    { name: 'send', args: { to: 'Bob' }, description: 'Approve the call of send?' },
    { name: 'send', args: { to: 'Eve' }, description: 'Approve the call of send?' },
  ])
  const state = await client.threads.getState<Values>(threadId)
  assert.deepEqual([state.next, state.tasks[0]!.interrupts[0]!.id], [['tools'], interrupt!.id])
  assert.deepEqual(state.values.messages, last(first).messages)
  const called = state.values.messages.at(-1) as unknown as { tool_calls: { args: object }[] }
  assert.deepEqual(
    called.tool_calls.map(({ args }) => args),
    [{ to: 'Bob' }, { to: 'Eve' }],
  )
  assert.equal((await client.threads.get(threadId)).status, 'interrupted')
  assert.deepEqual(
    (await client.threads.search({ status: 'interrupted' })).map(({ thread_id: id }) => id),
    [threadId],
  )

  // What cannot be read changes nothing.
  const refuse = (command: { resume: unknown }, status = 422) =>
    assert.rejects(client.runs.wait(threadId, 'agent', { command }), { status })
  await refuse({ resume: 'yes' })
  await refuse({ resume: { decisions: [{ type: 'approve' }] } })
  await refuse({ resume: { decisions: [{ type: 'approve' }, { type: 'maybe' }] } })
  await refuse({ resume: { decisions: [{ type: 'approve' }, { type: 'reject', message: 'x'.repeat(5000) }] } })
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: human('Another?') }), { status: 409 })
  assert.deepEqual(sent, [])

  const decisions = [
    { type: 'edit', edited_action: { name: 'send', args: { to: 'Rob' } } },
    { type: 'reject', message: 'Not her.' },
  ]
  const second = await read(
    client.runs.stream(threadId, 'agent', { command: { resume: { [interrupt!.id]: { decisions } } }, streamMode: ['values', 'updates'] }),
  )
  assert.deepEqual(sent, [{ to: 'Rob' }])
  const { messages } = last(second)
  assert.equal(messages[0]!.content, 'Write to both.')
  assert.deepEqual(shape(messages.slice(-1)), ['ai: Done.'])
  assert.equal(messages.filter(({ type }) => type === 'tool').length, 2)
  assert.equal(new Set(messages.map(({ id }) => id)).size, messages.length)
  await refuse({ resume: { decisions } }, 409)
  const after = await client.threads.getState<Values>(threadId)
  assert.deepEqual([after.next, after.values.messages.at(-1)!.content], [[], 'Done.'])
})

test('LangGraph: a client that has decided its own call waits on its stream for the decision of another person', async (t) => {
  const own = sending()
  const ofRole = sending({ name: 'publish', approval: { by: 'role' } })
  const script = [{ calls: [...sendTo('Bob').calls, ...callOf('publish', { to: 'all' }).calls] }, { text: 'Done.' }]
  const { client, service } = await start(t, { script, tools: [own.tool, ofRole.tool] })
  const { thread_id: threadId } = await client.threads.create()
  const first = await read(client.runs.stream(threadId, 'agent', { input: human('Write, and publish.'), streamMode: ['values'] }))
  const decisions = [{ type: 'approve' }]
  const reading = read(client.runs.stream(threadId, 'agent', { command: { resume: { decisions } }, streamMode: ['values'] }))
  const other = await service.as({ sub: 'eve', roles: ['admin'] })
  const { approvals } = await until(
    async () => (await other.request('GET', '/core/v1/approvals')).body,
    ({ count }) => count === 1,
  )
  assert.equal((await decide(other, approvals[0].request_id, approvals[0].tool_call_id)).status, 200)
  const { messages, __interrupt__: interrupts } = last(await reading)
  assert.deepEqual(
    [shape(messages.slice(-1)), interrupts, own.sent, ofRole.sent],
    [['ai: Done.'], undefined, [{ to: 'Bob' }], [{ to: 'all' }]],
  )
  assert.equal(first.at(-1)!.event, 'values')
})

test('LangGraph: wait, background runs, join and the list of runs', async (t) => {
  const { client } = await start(t, { script: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
  const { thread_id: threadId } = await client.threads.create()
  const waited = (await client.runs.wait(threadId, 'agent', { input: human('1?') })) as unknown as Values
  assert.deepEqual(shape(waited.messages), ['human: 1?', 'ai: One.'])
  const run = await client.runs.create(threadId, 'agent', { input: human('2?') })
  const joined = (await client.runs.join(threadId, run.run_id)) as unknown as Values
  assert.deepEqual(shape(joined.messages), ['human: 1?', 'ai: One.', 'human: 2?', 'ai: Two.'])
  assert.equal((await client.runs.get(threadId, run.run_id)).status, 'success')
  const runs = await client.runs.list(threadId)
  assert.deepEqual([runs.length, runs[0]!.run_id, (await client.runs.list(threadId, { offset: 1 })).length], [2, run.run_id, 1])
  await assert.rejects(client.runs.cancel(threadId, run.run_id), { status: 409 })

  // A reader gets the whole stream, or what is behind the event that it has.
  const whole = await read(client.runs.joinStream(threadId, run.run_id, { lastEventId: '-1', streamMode: ['messages-tuple', 'values'] }))
  assert.deepEqual(last(whole).messages, joined.messages)
  const first = whole.find(({ event }) => event === 'messages')!
  const rest = await read(client.runs.joinStream(threadId, run.run_id, { lastEventId: first.id! }))
  assert.deepEqual(last(rest).messages, joined.messages)
  assert.ok(rest.filter(({ event }) => event === 'messages').length < whole.filter(({ event }) => event === 'messages').length)
  const behind = await read(client.runs.joinStream(threadId, run.run_id, { lastEventId: whole.at(-1)!.id! }))
  assert.deepEqual([behind.length, last(behind).messages], [2, joined.messages], 'a client that has all events gets the values')

  const stateless = (await client.runs.wait(null, 'agent', { input: human('3?') })) as unknown as Values
  assert.deepEqual(shape(stateless.messages), ['human: 3?', 'ai: Three.'])
  assert.equal((await client.threads.search()).length, 1)
})

test('LangGraph: a failed run is an event of its stream, and the error of a wait', async (t) => {
  const { client } = await start(t, { script: { status: 400, body: {} } })
  const { thread_id: threadId } = await client.threads.create()
  const parts = await read(client.runs.stream(threadId, 'agent', { input: human('Hello') }))
  assert.deepEqual((last(parts, 'error') as unknown as { error: string }).error, 'ModelUnavailable')
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: human('Hello') }), /^Error: ModelUnavailable: /)
  assert.equal((await client.threads.get(threadId)).status, 'error')
})

test('LangGraph: a running run is cancelled, and `multitask_strategy` says what a busy thread does', async (t) => {
  const begun = Promise.withResolvers<void>()
  const stuck = fakeTool('stuck', (_, { signal }) => {
    begun.resolve()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  })
  const { client } = await start(t, { script: [callOf('stuck'), { text: 'Later.' }], tools: [stuck] })
  const { thread_id: threadId } = await client.threads.create()
  const run = await client.runs.create(threadId, 'agent', { input: human('Begin') })
  await begun.promise
  assert.equal((await client.threads.get(threadId)).status, 'busy')
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: human('Now?'), multitaskStrategy: 'reject' }), { status: 409 })
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: human('Now?'), multitaskStrategy: 'rollback' }), { status: 422 })
  const values = (await client.runs.wait(threadId, 'agent', {
    input: human('Instead'),
    multitaskStrategy: 'interrupt',
  })) as unknown as Values
  assert.equal(values.messages.at(-1)!.content, 'Later.')
  assert.equal((await client.runs.get(threadId, run.run_id)).status, 'interrupted')
})

test('LangGraph: threads are searched, changed, filled, read back turn by turn, and deleted', async (t) => {
  const { client } = await start(t, { script: [{ text: 'You are Ada.' }] })
  const thread = await client.threads.create({ threadId: 'moved-1', metadata: { topic: 'names' } })
  await assert.rejects(client.threads.create({ threadId: 'moved-1' }), { status: 409 })
  assert.equal((await client.threads.create({ threadId: 'moved-1', ifExists: 'do_nothing' })).thread_id, 'moved-1')
  const messages = [
    { type: 'human', content: 'Call me Ada.' },
    { type: 'ai', content: '', tool_calls: [{ name: 'remember', args: {}, id: 'c1' }] },
    { type: 'tool', content: 'ok', tool_call_id: 'c1' },
    { type: 'ai', content: [{ type: 'text', text: 'Hello Ada.' }] },
  ]
  await client.threads.updateState('moved-1', { values: { messages } })
  await assert.rejects(client.threads.updateState('moved-1', { values: { messages } }), /409.*fork the session/)
  await client.runs.wait('moved-1', 'agent', { input: human('Who am I?') })
  const history = await client.threads.getHistory<Values>('moved-1')
  assert.deepEqual(
    history.map(({ values }) => values.messages.length),
    [4, 3, 2, 1, 0],
  )
  assert.equal(history[0]!.parent_checkpoint?.checkpoint_id, history[1]!.checkpoint.checkpoint_id)
  assert.deepEqual(shape(history[2]!.values.messages), ['human: Call me Ada.', 'ai: Hello Ada.'])
  const before = { configurable: { checkpoint_id: history[1]!.checkpoint.checkpoint_id } }
  assert.deepEqual(await client.threads.getHistory('moved-1', { before, limit: 1 }), history.slice(2, 3))
  assert.deepEqual(await client.threads.getState('moved-1', history[2]!.checkpoint.checkpoint_id!), history[2])
  assert.deepEqual(await client.threads.getState('moved-1', history[2]!.checkpoint), history[2])
  await assert.rejects(client.threads.getState('moved-1', '99'), { status: 422 })
  await assert.rejects(client.runs.wait('moved-1', 'agent', { input: human('Again?'), checkpointId: '99' }), { status: 422 })

  await client.threads.update('moved-1', { metadata: { rank: [1] } })
  const found = await client.threads.search({ metadata: { graph_id: 'agent', topic: 'names', rank: [1] } })
  assert.deepEqual([found.length, (found[0]!.values as unknown as Values).messages.length], [1, 4])
  assert.deepEqual(await client.threads.search({ metadata: { topic: 'colours' } }), [])
  assert.deepEqual(await client.threads.search({ offset: 1 }), [])
  const counts = [await client.threads.count(), await client.threads.count({ metadata: { topic: 'colours' } })]
  assert.deepEqual([...counts, await client.threads.count({ status: 'idle' })], [1, 0, 1])
  const copy = (await client.threads.copy('moved-1')) as unknown as { thread_id: string; metadata: object; values: Values }
  assert.deepEqual([copy.metadata, copy.values], [found[0]!.metadata, found[0]!.values])
  assert.equal(await client.threads.count(), 2)
  await client.threads.delete(thread.thread_id)
  await assert.rejects(client.threads.get('moved-1'), { status: 404 })
})

test('LangGraph: two requests that fill a thread at once fill it once', async (t) => {
  const { client } = await start(t, { script: [] })
  const { thread_id: threadId } = await client.threads.create()
  const values = { messages: [{ type: 'human', content: 'Call me Ada.' }] }
  const replies = await Promise.allSettled(Array.from({ length: 6 }, () => client.threads.updateState(threadId, { values })))
  assert.equal(replies.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.deepEqual(shape((await client.threads.getState<Values>(threadId)).values.messages), ['human: Call me Ada.'])
})

test('LangGraph: the agent is the one assistant', async (t) => {
  const { client, service } = await start(t, { script: [] })
  const [assistant] = await client.assistants.search()
  assert.equal(assistant!.graph_id, 'agent')
  assert.deepEqual(await client.assistants.get('agent'), await client.assistants.get(assistant!.assistant_id))
  assert.equal((await client.assistants.getSchemas('agent')).graph_id, 'agent')
  assert.equal((await client.assistants.getGraph('agent')).nodes.length, 4)
  assert.deepEqual([await client.assistants.count(), await client.assistants.count({ graphId: 'other' })], [1, 0])
  await assert.rejects(client.assistants.get('other'), { status: 404 })
  await assert.rejects(client.runs.wait(null, 'other', { input: human('Hello') }), { status: 422 })
  for (const path of ['ok', 'info']) assert.equal((await fetch(`${service.url}/langgraph/${path}`)).status, 200)
})

test('LangGraph: images of a question reach the model, and links are refused', async (t) => {
  const { client, service } = await start(t, { script: [{ text: 'A dot.' }] })
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const text = { type: 'text', text: 'What is it?' }
  const ask = (part: object) => client.runs.wait(null, 'agent', { input: { messages: [{ type: 'human', content: [text, part] }] } })
  await ask({ type: 'image', mimeType: 'image/png', data })
  assert.match(JSON.stringify(service.model.requests[0]!.body), /iVBORw0KGgo/)
  await assert.rejects(ask({ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }), { status: 422 })
})

const routes = [
  ['POST', '/threads', 'sessions.write', {}],
  ['POST', '/threads/search', 'sessions.read', {}],
  ['GET', '/threads/T', 'sessions.read'],
  ['PATCH', '/threads/T', 'sessions.write', { metadata: { a: 'b' } }],
  ['GET', '/threads/T/state', 'sessions.read'],
  ['GET', '/threads/T/state/0', 'sessions.read'],
  ['POST', '/threads/T/state/checkpoint', 'sessions.read', {}],
  ['POST', '/threads/T/state', 'sessions.write', { values: human('x') }],
  ['POST', '/threads/T/copy', 'sessions.write'],
  ['POST', '/threads/count', 'sessions.read', {}],
  ['GET', '/threads/T/history', 'sessions.read'],
  ['POST', '/threads/T/history', 'sessions.read', {}],
  ['POST', '/threads/T/runs', 'chat', { assistant_id: 'agent', input: human('x') }],
  ['POST', '/threads/T/runs/wait', 'chat', { assistant_id: 'agent', input: human('x') }],
  ['POST', '/threads/T/runs/stream', 'chat', { assistant_id: 'agent', command: { resume: { decisions: [] } } }],
  ['POST', '/runs/wait', 'chat', { assistant_id: 'agent', input: human('x') }],
  ['POST', '/runs/stream', 'chat', { assistant_id: 'agent', input: human('x') }],
  ['GET', '/threads/T/runs', 'runs.read'],
  ['GET', '/threads/T/runs/R', 'runs.read'],
  ['GET', '/threads/T/runs/R/join', 'runs.read'],
  ['GET', '/threads/T/runs/R/stream', 'runs.read'],
  ['POST', '/threads/T/runs/R/cancel', 'runs.write'],
  ['DELETE', '/threads/T', 'sessions.write'],
  ['POST', '/assistants/count', 'metadata.read', {}],
  ['POST', '/assistants/search', 'metadata.read', {}],
  ['GET', '/assistants/agent', 'metadata.read'],
  ['GET', '/assistants/agent/schemas', 'metadata.read'],
  ['GET', '/assistants/agent/graph', 'metadata.read'],
] as const

test('LangGraph: every route asks for its permission, and shows or changes nothing of another caller', async (t) => {
  const service = await startService(t, { script: Array.from({ length: 2 }, () => ({ text: 'The secret plan.' })) })
  const ann = await connect(service, { sub: 'ann' })
  const { thread_id: threadId } = await ann.threads.create({ metadata: { topic: 'secret' } })
  await ann.runs.wait(threadId, 'agent', { input: human('The secret?') })
  const [run] = await ann.runs.list(threadId)
  const send = async (who: Who | undefined, [method, path, , body]: readonly [string, string, string, object?]) => {
    const key = who && (await service.key(who)).key
    const url = `${service.url}/langgraph${path.replace('T', threadId).replace('R', run!.run_id)}`
    const headers = { ...(key && { 'x-api-key': key }), ...(body && { 'content-type': 'application/json' }) }
    const reply = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: reply.status, text: await reply.text() }
  }
  for (const route of routes) {
    const [method, path, permission] = route
    const place = `${method} ${path}`
    const [none, auditor] = [await send(undefined, route), await send({ sub: 'ann', roles: ['auditor'] }, route)]
    assert.deepEqual([none.status, auditor.status], [401, 403], place)
    assert.match(JSON.parse(auditor.text).detail, new RegExp(`lacks the permission ${permission.replace('.', '\\.')}`), place)
    if (!path.includes('T')) continue
    for (const stranger of [{ sub: 'bob' }, { sub: 'ann', tenant: 'other' }, { sub: 'eve', roles: ['admin'] }]) {
      const reply = await send(stranger, route)
      assert.equal(reply.status, 404, `${place}: ${reply.text}`)
      assert.equal(typeof JSON.parse(reply.text).detail, 'string', place)
    }
  }
  const eve = await connect(service, { sub: 'eve', roles: ['admin'] })
  assert.deepEqual(await eve.threads.search(), [])
  const thread = await ann.threads.get(threadId)
  assert.deepEqual([thread.metadata?.['topic'], (thread.values as unknown as Values).messages.length], ['secret', 2])
  // A run is found in its own thread alone.
  const { thread_id: other } = await ann.threads.create()
  await assert.rejects(ann.runs.get(other, run!.run_id), { status: 404 })
})

test('LangGraph: hostile bodies and unknown paths are refused in the shape of the API', async (t) => {
  const { service, client } = await start(t, { script: [] })
  const { thread_id: threadId } = await client.threads.create()
  const { key } = await service.key()
  const send = async (method: string, path: string, body?: string) => {
    const headers = { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const reply = await fetch(`${service.url}/langgraph${path}`, { method, headers, ...(body !== undefined && { body }) })
    const text = await reply.text()
    assert.equal(typeof JSON.parse(text).detail, 'string', text)
    return reply.status
  }
  const wait = `/threads/${threadId}/runs/wait`
  const run = (fields: object) => JSON.stringify({ assistant_id: 'agent', input: human('x'), ...fields })
  const bodies = [
    ...['{', '[]', 'null', '{"assistant_id": 1}', '{"assistant_id":"agent","__proto__":{}}'],
    ...[
      { input: { messages: 'x' } },
      { input: { messages: [] } },
      { input: null },
      { input: { messages: [{ type: 'ghost', content: 'x' }] } },
    ].map(run),
    ...[
      { input: { messages: [{ type: 'human', content: 7 }] } },
      { input: { messages: [{ type: 'human', content: [{ type: 'video' }] }] } },
    ].map(run),
    ...[
      { input: { messages: [{ type: 'ai', content: 'x' }] } },
      { interrupt_before: ['tools'] },
      { webhook: 'http://x' },
      { after_seconds: 5 },
    ].map(run),
    ...[{ command: { goto: 'x' } }, { multitask_strategy: 'x' }, { checkpoint_id: '7' }, { checkpoint: { checkpoint_id: 'x' } }].map(run),
    ...[
      { assistant_id: 'constructor' },
      { input: { messages: Array.from({ length: 2001 }, () => ({ type: 'human', content: 'x' })) } },
    ].map(run),
  ]
  for (const body of bodies) assert.equal(await send('POST', wait, body), 422, body.slice(0, 100))
  assert.equal(await send('POST', `/threads/${threadId}/runs/stream`, run({ stream_mode: 'debug' })), 422)
  assert.equal(await send('POST', wait, run({ command: { resume: true } })), 409)
  assert.equal(await send('POST', wait, run({ input: human('x'.repeat(200_001)) })), 413)
  for (const body of [
    { metadata: { a: 'x'.repeat(20_000) } },
    { metadata: { a: '\u0000' } },
    { thread_id: '../x' },
    { ttl: 5 },
    { supersteps: [{}] },
  ])
    assert.equal(await send('POST', '/threads', JSON.stringify(body)), 422, JSON.stringify(body).slice(0, 60))
  for (const messages of [[], [{ type: 'system', content: 'x' }], [{ type: 'human', content: '\u0000' }]])
    assert.equal(await send('POST', `/threads/${threadId}/state`, JSON.stringify({ values: { messages } })), 422)
  for (const body of [{ limit: 0 }, { limit: 101 }, { offset: -1 }, { offset: 1e9 }, { values: { a: 1 } }])
    assert.equal(await send('POST', '/threads/search', JSON.stringify(body)), 422, JSON.stringify(body))
  for (const path of ['/store/items', '/runs/crons']) assert.equal(await send('GET', path), 404)
  assert.equal(await send('GET', '/threads/count'), 405)
  assert.deepEqual((await client.threads.getState<Values>(threadId)).values.messages, [])
})
