import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer, type ModelAnswer, type ModelScript, type ModelServer } from '../../../test/fixtures/model-server.ts'
import type { AssistantMessage, Message } from '../../agent/messages.ts'
import type { ModelReply } from '../../agent/model.ts'
import { collectReply } from '../../agent/scripted-model.ts'
import { createConnections } from '../connections.ts'
import { createChatCompletionsModel, type ChatCompletionsOptions } from './chat-completions.ts'

const connections = createConnections()
const servers: ModelServer[] = []
after(async () => {
  await connections.close()
  await Promise.all(servers.map((server) => server.close()))
})

async function setUp(script: ModelScript, options: Partial<ChatCompletionsOptions> = {}) {
  const server = await startModelServer(script)
  servers.push(server)
  const model = createChatCompletionsModel({
    provider: 'openai-compatible',
    model: 'm',
    seesImages: true,
    url: new URL(`${server.url}/chat/completions`),
    headers: {},
    timeouts: { connectMs: 1000, firstTokenMs: 5000, idleMs: 5000 },
    origin: { label: 'openai-compatible m', secrets: [] },
    connections,
    ...options,
  })
  const ask = async (messages: Message[]): Promise<ModelReply> => (await collectReply(model, { system: '', messages, tools: [] })).reply
  return { server, ask }
}

const question: Message = { role: 'user', text: 'Look.' }

/** The message that the loop makes of a reply: calls get ids of the loop, and the database keeps the data as JSON. */
function toMessage({ text, toolCalls, vendor }: ModelReply): AssistantMessage {
  const calls = toolCalls.map((call, index) => ({ ...call, id: `own-${index}` }))
  return { role: 'assistant', text, toolCalls: calls, ...(vendor && { vendor: JSON.parse(JSON.stringify(vendor)) }) }
}

const results = ({ toolCalls }: AssistantMessage): Message[] =>
  toolCalls.map(({ id, name }) => ({ role: 'tool', callId: id, name, text: 'Seen.', isError: false }))

/** The assistant message of the second request of a turn. */
async function sentBack(first: ModelAnswer, change: (message: AssistantMessage) => AssistantMessage = (message) => message, options = {}) {
  const { server, ask } = await setUp([first, { text: 'Done.' }], options)
  const message = change(toMessage(await ask([question])))
  await ask([question, message, ...results(message)])
  return server.requests[1]!.body.messages[1]
}

const delta = (delta: object) => ({ choices: [{ index: 0, delta }] })
const calls = [{ id: 'theirs-0', name: 'look', arguments: '{}' }]

test('reasoning goes back in the field in which it came', async () => {
  assert.equal((await sentBack({ reasoning: ['Let me ', 'look.'], calls })).reasoning_content, 'Let me look.')
  const named = await sentBack({ chunks: [delta({ reasoning: 'Let me ' }), delta({ reasoning: 'look.' })], calls })
  assert.deepEqual({ reasoning: named.reasoning, other: named.reasoning_content }, { reasoning: 'Let me look.', other: undefined })
})

test('reasoning goes back only to the model that made it, and only with the unchanged message', async () => {
  const answer = { reasoning: 'Hm.', text: 'I look.', calls }
  const otherModel = (message: AssistantMessage) => ({ ...message, vendor: { ...message.vendor!, model: 'other' } })
  const otherProvider = (message: AssistantMessage) => ({ ...message, vendor: { ...message.vendor!, provider: 'xai' } })
  const shortened = (message: AssistantMessage) => ({ ...message, text: 'I loo' })
  const withoutCalls = (message: AssistantMessage) => ({ ...message, toolCalls: [] })
  const unfit = (data: unknown) => (message: AssistantMessage) => ({ ...message, vendor: { ...message.vendor!, data: data as never } })
  for (const change of [otherModel, otherProvider, shortened, withoutCalls, unfit(null), unfit([1]), unfit({ form: 'chat-completions' })]) {
    const message = await sentBack(answer, change)
    assert.deepEqual(
      Object.keys(message).filter((field) => field.startsWith('reasoning')),
      [],
      String(change),
    )
  }
})

test('details of OpenRouter go back whole, with the ids of the calls as sent', async () => {
  const piece = (detail: object) => delta({ reasoning: 'x', reasoning_details: [detail] })
  const chunks = [
    piece({ type: 'reasoning.text', text: 'Let ', index: 0, format: 'anthropic-claude-v1' }),
    piece({ type: 'reasoning.text', text: 'me.', index: 0 }),
    piece({ type: 'reasoning.text', signature: 'sig', index: 0 }),
    piece({ type: 'reasoning.text', text: 'More.', index: 0 }),
    piece({ type: 'reasoning.encrypted', data: 'AAA', id: 'theirs-0', index: 0 }),
    piece({ type: 'reasoning.encrypted', data: 'BBB', id: 'rs_1', index: 0 }),
  ]
  const { reasoning_details: details, tool_calls: sent } = await sentBack({ chunks, calls })
  assert.deepEqual(details, [
    { type: 'reasoning.text', text: 'Let me.', index: 0, format: 'anthropic-claude-v1', signature: 'sig' },
    { type: 'reasoning.text', text: 'More.', index: 0 },
    { type: 'reasoning.encrypted', data: 'AAA', id: 'own-0', index: 0 },
    { type: 'reasoning.encrypted', data: 'BBB', id: 'rs_1', index: 0 },
  ])
  assert.equal(sent[0].id, 'own-0')
})

test('the signature of a call goes back with its call', async () => {
  const extra_content = { google: { thought_signature: 'c2ln' } }
  const call = (index: number, extra: object) => ({ index, id: `c${index}`, function: { name: 'look', arguments: '{}' }, ...extra })
  const chunks = [delta({ tool_calls: [call(0, { extra_content })] }), delta({ tool_calls: [call(1, {})] })]
  const { tool_calls: sent } = await sentBack({ chunks, finish: 'tool_calls' })
  assert.deepEqual(
    sent.map((one: any) => one.extra_content),
    [extra_content, undefined],
  )
  const first = await sentBack({ chunks, finish: 'tool_calls' }, (message) => ({ ...message, toolCalls: message.toolCalls.slice(0, 1) }))
  assert.deepEqual(first.tool_calls[0].extra_content, extra_content)
})

test('reasoning of Mistral goes back in the content', async () => {
  const parts = [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }]
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }
  const only = await sentBack({ chunks: [delta({ content: parts })], calls }, undefined, { provider: 'mistral' })
  assert.deepEqual(only.content, [thinking])
  const both = await sentBack({ chunks: [delta({ content: [...parts, { type: 'text', text: 'Well.' }] })], calls }, undefined, {
    provider: 'mistral',
  })
  assert.deepEqual(both.content, [thinking, { type: 'text', text: 'Well.' }])
})

test('a reply that was cut off keeps nothing for later requests', async () => {
  const { ask } = await setUp({ reasoning: 'Hm.', text: 'Half', finish: 'length' })
  assert.equal((await ask([question])).vendor, undefined)
})

const foreign: Message[] = [
  question,
  { role: 'assistant', text: '', reasoning: 'I thought.', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
  { role: 'tool', callId: 'a', name: 'look', text: 'Seen.', isError: false },
  { role: 'assistant', text: '', toolCalls: [{ id: 'b', name: 'look', arguments: '{}' }] },
  { role: 'tool', callId: 'b', name: 'look', text: 'Seen.', isError: false },
  { role: 'assistant', text: 'Red.', toolCalls: [] },
  { role: 'user', text: 'Sure?' },
]

test('a server that demands reasoning of every turn gets a substitute for turns of other models, each its own', async () => {
  const refusal = {
    status: 400,
    body: { error: { message: 'The `reasoning_content` in the thinking mode must be passed back to the API.' } },
  }
  const { server, ask } = await setUp([refusal, { text: 'Yes.' }, { text: 'Yes.' }])
  assert.equal((await ask(foreign)).text, 'Yes.')
  const [, first, , second, , third] = server.requests[1]!.body.messages
  assert.deepEqual(
    [first, second, third].map((message) => message.reasoning_content),
    ['I thought.', 'The next step: look (b)', 'The answer begins: Red.'],
  )
  await ask(foreign)
  assert.equal(server.requests.length, 3)
})

test('a server that demands signatures gets the documented value for calls of other models', async () => {
  const refusal = {
    status: 400,
    body: [{ error: { code: 400, message: 'Function call is missing a thought_signature in functionCall parts.' } }],
  }
  const { server, ask } = await setUp([refusal, { text: 'Yes.' }])
  await ask(foreign)
  const signature = { google: { thought_signature: 'skip_thought_signature_validator' } }
  assert.deepEqual(server.requests[1]!.body.messages[1].tool_calls[0].extra_content, signature)
})

test('OpenRouter gets the documented value for calls that Gemini did not make', async () => {
  const raw = 'Gemini models require OpenRouter reasoning details to be preserved in each request. Upstream error: {}'
  const refusal = {
    status: 400,
    body: { error: { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'Google' } } },
  }
  const { server, ask } = await setUp([refusal, { text: 'Yes.' }])
  await ask(foreign)
  const { reasoning_details: details, tool_calls: sent } = server.requests[1]!.body.messages[1]
  const data = 'skip_thought_signature_validator'
  assert.deepEqual(details, [{ type: 'reasoning.encrypted', data, id: sent[0].id, format: 'google-gemini-v1', index: 0 }])
})

test('a server that refuses reasoning in messages is asked without, once', async () => {
  const refusal = { status: 400, body: { error: { message: "'messages.1' : property 'reasoning_content' is unsupported" } } }
  const { server, ask } = await setUp([{ reasoning: 'Hm.', calls }, refusal, { text: 'Yes.' }])
  const message = toMessage(await ask([question]))
  await ask([question, message, ...results(message)])
  assert.equal(server.requests[1]!.body.messages[1].reasoning_content, 'Hm.')
  assert.equal(server.requests[2]!.body.messages[1].reasoning_content, undefined)
})

test('a refusal for another reason, or after the change, stays', async () => {
  const tooLong = { status: 400, body: { error: { message: 'Too long.', code: 'context_length_exceeded' } } }
  const other = await setUp(tooLong)
  await assert.rejects(other.ask(foreign), { code: 'refused' })
  assert.equal(other.server.requests.length, 1)
  const again = await setUp({ status: 400, body: { error: { message: 'reasoning_content is missing in assistant message 1' } } })
  await assert.rejects(again.ask(foreign), { code: 'refused' })
  assert.equal(again.server.requests.length, 2)
})

test('texts of white space are sent as no text, and messages of white space not at all', async () => {
  const { server, ask } = await setUp({ text: 'Yes.' })
  const blank: Message[] = [
    question,
    { role: 'assistant', text: '\n\n', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
    { role: 'tool', callId: 'a', name: 'look', text: 'Seen.', isError: false },
    { role: 'assistant', text: ' \n', toolCalls: [] },
    { role: 'user', text: 'Well?' },
  ]
  await ask(blank)
  const { messages } = server.requests[0]!.body
  assert.deepEqual(
    messages.map(({ role }: { role: string }) => role),
    ['user', 'assistant', 'tool', 'user'],
  )
  assert.equal(messages[1].content, null)
})
