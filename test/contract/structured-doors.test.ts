import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { readUIMessageStream, DefaultChatTransport, type UIMessage } from 'ai'
import OpenAI from 'openai'
import { stringify } from 'yaml'
import { all, ask, connect } from '../fixtures/a2a-client.ts'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { scripted, startService, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** Each door delivers one repaired answer, with the default schema of agent.yaml. */

const response_schema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
}
const good = '{"city":"Oslo","degrees":4.5}'
const value = { city: 'Oslo', degrees: 4.5 }
const bad = '{"city":"Oslo","degrees":"cold"}'

/** Tool of the client. */
const place = { name: 'get_place', description: 'The place.', parameters: { type: 'object', properties: {} } }
const functionTool = { type: 'function' as const, function: place }
const model = 'agent-core'

/** The model comments on its tool call, answers in words, and corrects the answer. */
function script({ body }: ModelServerRequest): ModelAnswer {
  const { role, content } = body.messages.at(-1)
  if (JSON.stringify(body.messages).includes('Never')) return { text: bad }
  if (role === 'tool') return { text: [bad.slice(0, 9), bad.slice(9)] }
  if (String(content).startsWith('Your answer is not valid')) return { text: [good.slice(0, 9), good.slice(9)] }
  return { ...callOf(String(content).includes('here') ? 'get_place' : 'look'), text: 'Let me look.' }
}

let service: TestService
let key: string
let openai: OpenAI
const ends: (() => unknown)[] = []

before(async () => {
  const t = { after: (end: () => unknown) => void ends.push(end) }
  service = await startService(t, { script, tools: [fakeTool('look', async () => ({}))], config: { response_schema } })
  key = (await service.key()).key
  openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: key, maxRetries: 0 })
})
after(async () => {
  for (const end of ends) await end()
})

/** Restarts the service, without the schema in agent.yaml: a run that waits keeps its own. */
async function restartWithoutSchema(): Promise<void> {
  await writeFile(service.settings.agentConfig, stringify({ llms: { primary: scripted(service.model) } }))
  await service.restart()
}

function agentOf(threadId: string): HttpAgent {
  return new HttpAgent({ url: `${service.url}/ag-ui`, threadId, headers: { 'x-service-access': key } })
}

/** The texts of the agent, as the page shows them. */
const textsOf = ({ messages }: HttpAgent) => messages.flatMap(({ role, content }) => (role === 'assistant' && content ? [content] : []))

test('AG-UI: the only text is the answer that fits', async () => {
  const agent = agentOf('agui-1')
  agent.addMessage({ id: 'u', role: 'user', content: 'How cold is it?' })
  const { result } = await agent.runAgent()
  assert.deepEqual([textsOf(agent), result], [[good], { finish_reason: 'stop', structured_output: value }])
})

test('AG-UI: an answer that never fits is not shown', async () => {
  const agent = agentOf('agui-2')
  agent.addMessage({ id: 'u', role: 'user', content: 'Never' })
  await agent.runAgent().catch(() => undefined)
  assert.deepEqual(textsOf(agent), [])
})

/** The last message of a chat page, read by the client of the AI SDK. */
async function uiMessage(chatId: string, messages: UIMessage[], body?: object): Promise<UIMessage> {
  const transport = new DefaultChatTransport({ api: `${service.url}/ui/chat`, headers: { 'x-service-access': key }, ...(body && { body }) })
  const options = { chatId, messages, trigger: 'submit-message' as const, messageId: undefined, abortSignal: undefined }
  const stream = await transport.sendMessages(options)
  const last = messages.at(-1)
  const read = readUIMessageStream({ stream, ...(last?.role === 'assistant' && { message: last }) })
  let message: UIMessage | undefined
  for await (const next of read) message = next
  return message!
}

const said = (text: string): UIMessage => ({ id: 'u', role: 'user', parts: [{ type: 'text', text }] })
const shownIn = ({ parts }: UIMessage) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))

test('UI chat: the only text is the answer that fits, also with a schema of the request', async () => {
  assert.deepEqual(shownIn(await uiMessage('ui-1', [said('How cold is it?')])), [good])
  const free = await uiMessage('ui-2', [said('How cold is it?')], { response_schema: null })
  assert.deepEqual(shownIn(free), ['Let me look.', bad])
})

test('Responses: the output is one message with the answer that fits, streamed, followed and read', async () => {
  const input = 'How cold is it?'
  const created = await openai.responses.create({ model, input })
  assert.deepEqual([created.output.length, created.output_text], [1, good])
  const streamed = await openai.responses.stream({ model, input }).finalResponse()
  assert.deepEqual([streamed.output.length, streamed.output_text], [1, good])
  assert.equal((await openai.responses.retrieve(streamed.id)).output_text, good)
  let text = ''
  for await (const event of await openai.responses.retrieve(streamed.id, { stream: true }))
    if (event.type === 'response.output_text.delta') text += event.delta
  assert.equal(text, good)
})

test('Chat completions: the content is the answer that fits, and calls of client tools have no content', async () => {
  const asking = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] })
  const streamed = await openai.chat.completions.stream(asking('How cold is it?')).finalContent()
  assert.equal(streamed, good)
  const request = { ...asking('How cold is it here?'), tools: [functionTool] }
  const waiting = await openai.chat.completions.create(request)
  assert.equal(waiting.choices[0]?.message.content, null)
  const streamedCalls = await openai.chat.completions.stream(request).finalMessage()
  assert.deepEqual([streamedCalls.tool_calls?.length, streamedCalls.content || null], [1, null])
})

test('A2A: the repaired answer replaces its predecessor, and its value is a data part', async () => {
  const client = await connect(service)
  const events = await all(client.sendMessageStream(ask('How cold is it?')))
  let parts: unknown[] = []
  for (const { payload } of events) {
    if (payload?.$case !== 'artifactUpdate') continue
    const { append, artifact } = payload.value
    const more = artifact!.parts.map(({ content }) => content?.value)
    parts = append ? [...parts, ...more] : more
  }
  assert.deepEqual([parts.slice(0, -1).join(''), parts.at(-1)], [good, value])
})

test('MCP: ask returns the value in its structured content', async () => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers: { 'x-service-access': key } } }),
  )
  const { structuredContent } = await client.callTool({ name: 'ask', arguments: { message: 'How cold is it?' } })
  const { output, structured_output } = structuredContent as Record<string, unknown>
  await client.close()
  assert.deepEqual([output, structured_output], [good, value])
})

test('A run that waits for its client keeps its schema in another process, whatever agent.yaml says', async () => {
  const agent = agentOf('agui-3')
  agent.addMessage({ id: 'u', role: 'user', content: 'How cold is it here?' })
  await agent.runAgent({ tools: [place] })
  const asked = { role: 'user' as const, content: 'How cold is it here?' }
  const completion = await openai.chat.completions.create({ model, messages: [asked], tools: [functionTool] })
  const response = await openai.responses.create({ model, input: asked.content, tools: [{ type: 'function', strict: false, ...place }] })
  const client_tools = [{ name: place.name, description: place.description, schema: place.parameters }]
  const page = await uiMessage('ui-3', [said(asked.content)], { client_tools })

  await restartWithoutSchema()
  openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: key, maxRetries: 0 })
  const [call] = agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  agent.url = `${service.url}/ag-ui`
  agent.addMessage({ id: 't', role: 'tool', toolCallId: call!.id, content: 'Oslo' })
  await agent.runAgent({ tools: [place] })
  assert.deepEqual(textsOf(agent), [good])

  const { message } = completion.choices[0]!
  const output = { role: 'tool' as const, tool_call_id: message.tool_calls![0]!.id, content: 'Oslo' }
  const rest = openai.chat.completions.stream({ model, messages: [asked, message, output], tools: [functionTool] })
  assert.equal(await rest.finalContent(), good)

  const [item] = response.output
  assert.equal(item?.type, 'function_call')
  const outputs = [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'Oslo' }]
  const next = await openai.responses.stream({ model, previous_response_id: response.id, input: outputs }).finalResponse()
  assert.deepEqual([next.output.length, next.output_text], [1, good])

  const parts = page.parts.map((part) => (part.type === 'tool-get_place' ? { ...part, state: 'output-available', output: 'Oslo' } : part))
  const answered = await uiMessage('ui-3', [said(asked.content), { ...page, parts } as UIMessage], { client_tools })
  assert.deepEqual(shownIn(answered), [good])
})
