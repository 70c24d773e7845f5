import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AbstractChat,
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type ChatInit,
  type ChatState,
  type DynamicToolUIPart,
  type UIMessage,
} from 'ai'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { startService, type ServiceOptions, type TestService, type Who } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

/** The chat of `useChat` without React. */
class Chat extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages: init.messages ?? [],
      pushMessage: (message) => void state.messages.push(message),
      popMessage: () => void state.messages.pop(),
      replaceMessage: (index, message) => void (state.messages[index] = message),
      snapshot: (value) => structuredClone(value),
    }
    super({ ...init, state })
  }
}

interface ChatOptions {
  who?: Who
  id?: string
  messages?: UIMessage[]
  body?: object
}

async function connect(service: Pick<TestService, 'url' | 'key'>, { who, id = 'chat-1', messages, body }: ChatOptions = {}): Promise<Chat> {
  const headers = { 'x-service-access': (await service.key(who)).key }
  const transport = new DefaultChatTransport({ api: `${service.url}/ui/chat`, headers, ...(body && { body }) })
  return new Chat({
    id,
    transport,
    ...(messages && { messages }),
    sendAutomaticallyWhen: (all) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(all) || lastAssistantMessageIsCompleteWithToolCalls(all),
  })
}

async function start(t: { after(work: () => unknown): void }, options: ServiceOptions, chatOptions?: ChatOptions) {
  const service = await startService(t, options)
  return { service, chat: await connect(service, chatOptions) }
}

async function settled(chat: Chat): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, 10))
  while (chat.status === 'submitted' || chat.status === 'streaming')
}

/** The parts of a message in short form. */
function partsOf(message: UIMessage | undefined): string[] {
  return (message?.parts ?? []).map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return `${part.type}: ${part.text}`
    return isToolUIPart(part) ? `${part.type} ${part.state}` : part.type
  })
}

const toolsOf = (chat: Chat) => chat.lastMessage!.parts.filter(isToolUIPart) as DynamicToolUIPart[]

test('UI chat: a question is answered by a message with reasoning, tool calls and text', async (t) => {
  const look = fakeTool('look', async ({ at }) => ({ seen: at ?? null }))
  const script = [{ ...callOf('look', { at: 'sky' }), reasoning: 'I look.', text: 'Let me see.' }, { text: 'It is blue.' }]
  const { service, chat } = await start(t, { script, tools: [look] })
  await chat.sendMessage({ text: 'Which colour?' })
  assert.equal(chat.error, undefined)
  assert.deepEqual(partsOf(chat.lastMessage), [
    'step-start',
    'reasoning: I look.',
    'text: Let me see.',
    'dynamic-tool output-available',
    'step-start',
    'text: It is blue.',
  ])
  const [call] = toolsOf(chat)
  assert.deepEqual(
    { tool: call!.toolName, input: call!.input, output: call!.output, providerExecuted: call!.providerExecuted },
    { tool: 'look', input: { at: 'sky' }, output: { seen: 'sky' }, providerExecuted: true },
  )
  const { id, metadata } = chat.lastMessage!
  const { request_id: requestId } = metadata as { request_id: string }
  assert.deepEqual({ id, metadata }, { id: `msg_${requestId}`, metadata: { request_id: requestId, finish_reason: 'stop' } })
  const stored = await service.client.request('GET', `/core/v1/runs/${requestId}`)
  assert.deepEqual({ status: stored.body.status, session: stored.body.session_id }, { status: 'success', session: 'chat-1' })
})

test('UI chat: the service has the earlier turns, so they are neither stored nor shown to the model twice', async (t) => {
  const { service, chat } = await start(t, { script: [{ text: 'First.' }, { text: 'Second.' }, { text: 'Again.' }] })
  await chat.sendMessage({ text: 'One?' })
  await chat.sendMessage({ text: 'Two?' })
  const contents = (messages: { content: string }[]) => messages.map(({ content }) => content)
  assert.deepEqual(contents(service.model.requests[1]!.body.messages), ['One?', 'First.', 'Two?'])
  const stored = ['One?', 'First.', 'Two?', 'Second.']
  assert.deepEqual(contents((await service.client.request('GET', '/core/v1/sessions/chat-1')).body.messages), stored)
  // A regenerated answer is a further turn of the session.
  await chat.regenerate()
  assert.deepEqual(partsOf(chat.lastMessage), ['step-start', 'text: Again.'])
  assert.equal(chat.messages.length, 4)
  assert.deepEqual(contents((await service.client.request('GET', '/core/v1/sessions/chat-1')).body.messages), [...stored, 'Two?', 'Again.'])
})

test('UI chat: the user approves one call and rejects another, and the same message goes on', async (t) => {
  const { sent, tool } = sending()
  const script = [{ ...sendTo('Bob', 'Eve'), text: 'One moment.' }, { text: 'Done.' }]
  const { chat } = await start(t, { script, tools: [tool] })
  await chat.sendMessage({ text: 'Write to both.' })
  assert.deepEqual(partsOf(chat.lastMessage), [
    'step-start',
    'text: One moment.',
    'dynamic-tool approval-requested',
    'dynamic-tool approval-requested',
  ])
  const { id } = chat.lastMessage!
  const [bob, eve] = toolsOf(chat).map(({ approval }) => approval!.id)
  await chat.addToolApprovalResponse({ id: bob!, approved: true })
  await chat.addToolApprovalResponse({ id: eve!, approved: false, reason: 'Not her.' })
  await settled(chat)
  assert.equal(chat.error, undefined)
  assert.deepEqual(partsOf(chat.lastMessage), [
    'step-start',
    'text: One moment.',
    'dynamic-tool output-available',
    'dynamic-tool output-denied',
    'step-start',
    'text: Done.',
  ])
  assert.deepEqual({ id: chat.lastMessage!.id, messages: chat.messages.length, sent }, { id, messages: 2, sent: [{ to: 'Bob' }] })
})

test('UI chat: a page that is loaded again follows the run of its chat, and replaces the message that it has', async (t) => {
  const gate = gatedTool('wait')
  const { chat, service } = await start(t, { script: [{ ...callOf('wait'), text: 'I wait.' }, { text: 'Over.' }], tools: [gate.tool] })
  assert.equal((await chat.resumeStream(), chat.messages.length), 0)
  const asking = chat.sendMessage({ text: 'Wait.' })
  await gate.entered
  const loaded = await connect(service, { messages: structuredClone(chat.messages) })
  const following = loaded.resumeStream()
  while (loaded.status !== 'streaming') await new Promise((resolve) => setTimeout(resolve, 5))
  gate.open()
  await Promise.all([asking, following])
  const parts = ['step-start', 'text: I wait.', 'dynamic-tool output-available', 'step-start', 'text: Over.']
  assert.deepEqual([partsOf(loaded.lastMessage), loaded.messages.length], [parts, 2])
  const before = structuredClone(loaded.messages)
  await loaded.resumeStream()
  assert.deepEqual([loaded.messages, loaded.status], [before, 'ready'])
  const other = await connect(service, { who: { sub: 'bob' } })
  await other.resumeStream()
  assert.deepEqual([other.messages, other.error], [[], undefined])
})

test('UI chat: a page that is loaded again gets the approval that its chat waits for', async (t) => {
  const { tool } = sending()
  const { chat, service } = await start(t, { script: [sendTo('Bob'), { text: 'Sent.' }], tools: [tool] })
  await chat.sendMessage({ text: 'Write.' })
  const loaded = await connect(service, { messages: [chat.messages[0]!] })
  await loaded.resumeStream()
  assert.deepEqual(loaded.messages, chat.messages)
  await loaded.addToolApprovalResponse({ id: toolsOf(loaded)[0]!.approval!.id, approved: true })
  await settled(loaded)
  assert.deepEqual(partsOf(loaded.lastMessage), ['step-start', 'dynamic-tool output-available', 'step-start', 'text: Sent.'])
})

test('UI chat: errors of a run are texts; refusals are HTTP errors', async (t) => {
  const { chat, service } = await start(t, { script: { status: 400, body: { error: { message: 'no' } } } })
  await chat.sendMessage({ text: 'Hello?' })
  assert.match(String(chat.error?.message), /^[^{]*model/)
  const viewer = await connect(service, { who: { roles: ['viewer'] } })
  await viewer.sendMessage({ text: 'Hello?' })
  assert.match(String(viewer.error?.message), /RBAC: access denied/)
  const unasked = await connect(service, { messages: [{ id: '1', role: 'assistant', parts: [{ type: 'text', text: 'Hi.' }] }] })
  await unasked.regenerate().catch(() => undefined)
  await unasked.sendMessage()
  assert.ok(unasked.error)
})

test('UI chat: a waiting chat takes no other question', async (t) => {
  const { tool } = sending()
  const { chat, service } = await start(t, { script: sendTo('Bob'), tools: [tool] })
  await chat.sendMessage({ text: 'Write.' })
  const other = await connect(service)
  await other.sendMessage({ text: 'And then?' })
  assert.match(String(other.error?.message), /^[^{]*waits/)
})

test('UI chat: images reach the model, files of the run the page, and the plan is data', async (t) => {
  const draw = fakeTool('draw', async (_input, context) => {
    await context.artifact('a.svg', 'image/svg+xml', Buffer.from('<svg/>'))
    await context.artifact('b.csv', 'text/csv', Buffer.from('a,b'))
    return 'drawn'
  })
  const script = [{ text: '["Draw.", "Tell."]' }, callOf('draw'), { text: 'Drawn.' }, { text: 'Told.' }, { text: 'Here.' }]
  const { chat, service } = await start(t, { script, tools: [draw], config: { workflow_type: 'plan_execute' } })
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const files = [{ type: 'file' as const, mediaType: 'image/png', url: `data:image/png;base64,${data}` }]
  await chat.sendMessage({ text: 'Draw this.', files })
  assert.equal(chat.error, undefined)
  assert.ok(JSON.stringify(service.model.requests[0]!.body).includes('data:image/'))
  const { parts } = chat.lastMessage!
  const plan = parts.find(({ type }) => type === 'data-plan') as { data: { steps: object[] } }
  assert.deepEqual(plan.data.steps, [
    { step: 'Draw.', status: 'done' },
    { step: 'Tell.', status: 'done' },
  ])
  const [file, source] = parts.filter(({ type }) => type === 'file' || type === 'source-url') as { url: string; title?: string }[]
  assert.equal(await (await fetch(file!.url)).text(), '<svg/>')
  assert.deepEqual([source!.title, await (await fetch(source!.url)).text()], ['b.csv', 'a,b'])

  const faulty = await connect(service, { id: 'chat-2' })
  await faulty.sendMessage({ text: 'Read it.', files: [{ type: 'file', mediaType: 'text/plain', url: 'data:text/plain,a' }] })
  assert.match(String(faulty.error?.message), /^The attached file: its data: URL is not base64/)
})

test('UI chat: data filters and context files of the body count', async (t) => {
  const body = { context_files: ['notes.txt'] }
  const { chat, service } = await start(t, { script: { text: 'Read.' }, files: { 'notes.txt': 'The price is 7.' } }, { body })
  await chat.sendMessage({ text: 'The price?' })
  assert.ok(JSON.stringify(service.model.requests[0]!.body).includes('The price is 7.'))
})

const place = {
  name: 'get_place',
  description: 'The place of the device.',
  schema: { type: 'object', properties: { precision: { type: 'integer' } }, required: ['precision'] },
}

test('UI chat: the page runs its own tools, also after a restart of the service', async (t) => {
  const script = [{ ...callOf('get_place', { precision: 3 }), text: 'I look it up.' }, { text: 'You are in Basel.' }]
  const { chat, service } = await start(t, { script }, { body: { client_tools: [place] } })
  await chat.sendMessage({ text: 'Where am I?' })
  assert.equal(chat.error, undefined)
  assert.deepEqual(partsOf(chat.lastMessage), ['step-start', 'text: I look it up.', 'tool-get_place input-available'])
  const [call] = toolsOf(chat)
  assert.deepEqual(
    { input: call!.input, providerExecuted: call!.providerExecuted },
    { input: { precision: 3 }, providerExecuted: undefined },
  )

  await service.restart()
  const loaded = await connect(service, { messages: [chat.messages[0]!], body: { client_tools: [place] } })
  await loaded.resumeStream()
  assert.deepEqual(loaded.messages, chat.messages)
  await loaded.addToolOutput({ tool: 'get_place', toolCallId: call!.toolCallId, output: { city: 'Basel' } })
  await settled(loaded)
  assert.equal(loaded.error, undefined)
  assert.deepEqual(partsOf(loaded.lastMessage), [
    'step-start',
    'text: I look it up.',
    'tool-get_place output-available',
    'step-start',
    'text: You are in Basel.',
  ])
  assert.equal(service.model.requests[1]!.body.messages.at(-1).content, '{"city":"Basel"}')
})

test('UI chat: a call of the page that fails and one that the user approves are answered together', async (t) => {
  const { sent, tool } = sending()
  const calls = [...callOf('get_place', { precision: 1 }).calls, ...sendTo('Bob').calls]
  const { chat, service } = await start(t, { script: [{ calls }, { text: 'Done.' }], tools: [tool] }, { body: { client_tools: [place] } })
  await chat.sendMessage({ text: 'Tell Bob where I am.' })
  const [own, send] = toolsOf(chat)
  await chat.addToolOutput({ state: 'output-error', tool: 'get_place', toolCallId: own!.toolCallId, errorText: 'no signal' })
  await chat.addToolApprovalResponse({ id: send!.approval!.id, approved: true })
  await settled(chat)
  assert.equal(chat.error, undefined)
  assert.deepEqual(partsOf(chat.lastMessage), [
    'step-start',
    'tool-get_place output-error',
    'dynamic-tool output-available',
    'step-start',
    'text: Done.',
  ])
  assert.deepEqual(sent, [{ to: 'Bob' }])
  assert.match(JSON.stringify(service.model.requests[1]!.body.messages), /no signal/)
})

test('UI chat: documents reach the model as text, and errors about files are in words for a person', async (t) => {
  const { service, chat } = await start(t, { script: { text: 'Read.' } })
  const toFile = (mediaType: string, filename: string, url: string) => ({ type: 'file' as const, mediaType, filename, url })
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const notes = toFile('text/plain', 'notes.txt', `data:text/plain;base64,${base64('The price is 7.')}`)
  await chat.sendMessage({ text: 'Which price?', files: [notes] })
  assert.deepEqual([chat.error, partsOf(chat.lastMessage)], [undefined, ['step-start', 'text: Read.']])
  assert.match(JSON.stringify(service.model.requests.at(-1)!.body.messages), /notes\.txt.*The price is 7\./)
  const refused: [ReturnType<typeof toFile>, RegExp][] = [
    [toFile('application/pdf', 'a.pdf', `data:application/pdf;base64,${base64('no PDF')}`), /^The file a\.pdf: /],
    [toFile('application/zip', 'a.zip', `data:application/zip;base64,UEsDBP/+AAA=`), /^The file a\.zip: /],
    [toFile('text/plain', 'b.txt', 'https://example.com/b.txt'), /^The file b\.txt is a link\. Attach the file itself/],
    [toFile('image/png', 'c.png', 'https://example.com/c.png'), /^The image is a link\. Attach the file itself/],
    [toFile('image/png', 'd.png', `data:image/png;base64,${base64('no picture')}`), /^Picture 1: /],
  ]
  for (const [index, [file, message]] of refused.entries()) {
    const faulty = await connect(service, { id: `faulty-${index}` })
    await faulty.sendMessage({ text: 'Read it.', files: [file] })
    assert.match(String(faulty.error?.message), message)
    assert.doesNotMatch(String(faulty.error?.message), /body\.|messages|parts|images\[/)
  }
})
