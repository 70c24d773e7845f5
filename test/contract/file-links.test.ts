import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import OpenAI from 'openai'
import { event, sendEvent } from '../fixtures/async-client.ts'
import { startReceiver, type Receiver } from '../fixtures/callback-receiver.ts'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const content = '# Notes'
const name = '[2024] a_b.md'

/** Writes a file, sends a letter if the question asks for one, and answers. */
function answerOf({ body: { messages } }: ModelServerRequest): ModelAnswer {
  if (messages.at(-1).role !== 'tool') return callOf('write_file', { file_name: name, content })
  const question: string = messages.findLast(({ role }: { role: string }) => role === 'user').content
  const results = messages.slice(messages.findLastIndex(({ role }: { role: string }) => role === 'user') + 1)
  const isFirst = results.filter(({ role }: { role: string }) => role === 'tool').length === 1
  return question === 'send' && isFirst ? callOf('letter', {}) : { text: 'Written.' }
}

const letter = fakeTool('letter', async () => 'sent', { effect: 'write', approval: { by: 'caller' } })

let service: TestService
let receiver: Receiver
/** A client whose key may chat and read runs, but not read files. */
let fileless: Client
const closers: (() => unknown)[] = []
const stack = { after: (close?: unknown) => void closers.push(close as () => unknown) }

before(async () => {
  // Every first attempt fails.
  receiver = await startReceiver(stack, (_received, index) => (index % 2 === 0 ? 500 : 204))
  service = await startService(stack, {
    script: answerOf,
    tools: [letter],
    environment: { OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: '1' },
    config: { tools: [{ name: 'write_file' }], access: { roles: { reader: ['chat', 'runs.read', 'sessions.read'] } } },
  })
  fileless = await service.as({ sub: 'bob', roles: ['reader'] })
})

after(async () => {
  for (const close of closers) await close()
})

interface AnswerFile {
  artifact_id: string
  file_name: string
  file_type: string
  size: number
  sha256: string
  tool: string
  created_at: string
  download_url?: string
  expires_at?: string
}

/** Asserts that the only file has a link that works without a key until `expires_at`. Returns the file. */
async function assertLinked(files: readonly AnswerFile[] | undefined): Promise<AnswerFile> {
  assert.equal(files?.length, 1)
  const [file] = files
  const { download_url: url, expires_at: expiresAt } = file!
  assert.equal(file!.file_name, name)
  const response = await fetch(url!)
  assert.deepEqual({ status: response.status, text: await response.text() }, { status: 200, text: content })
  const leftMs = Date.parse(expiresAt!) - Date.now()
  assert.ok(leftMs > 13 * 60_000 && leftMs <= 15 * 60_000, `${leftMs} ms left`)
  assert.ok(Date.parse(expiresAt!) <= Number(new URL(url!).searchParams.get('expires')) * 1000)
  return file!
}

function assertNotLinked(files: readonly AnswerFile[] | undefined): void {
  assert.equal(files?.length, 1)
  assert.deepEqual([files[0]!.file_name, files[0]!.download_url, files[0]!.expires_at], [name, undefined, undefined])
}

test('Artifacts: a JSON answer and its run have the files with links; the session has the same files', async () => {
  const { client } = service
  const { body } = await client.chat('write', { 'session-id': 'json', 'request-id': 'json' })
  const { download_url: url, expires_at: expiresAt, ...file } = await assertLinked(body.body.generated_artifacts)
  assert.ok(url && expiresAt)
  assert.deepEqual((await client.session('json')).body.messages[1].response_metadata.generated_artifacts, [file])
  await assertLinked((await client.run('json')).body.outcome.generated_artifacts)
  const repeated = await client.chat('write', { 'session-id': 'json', 'request-id': 'json' })
  assert.equal((await assertLinked(repeated.body.body.generated_artifacts)).artifact_id, file.artifact_id)
})

test('Artifacts: an answer without files has an empty list, and its last chunk has none', async () => {
  const plain = await startService(stack)
  assert.deepEqual((await plain.client.chat('Hello')).body.body.generated_artifacts, [])
  const events = await (await plain.client.stream('Hello')).rest()
  assert.equal(events.filter(({ chunk }) => 'generated_artifacts' in chunk).length, 0)
})

test('Artifacts: the last chunk of a stream has the files, with new links for each reader', async () => {
  const { client } = service
  const events = await (await client.stream('write', { 'request-id': 'stream' })).rest()
  assert.deepEqual(
    events.flatMap(({ chunk }, index) => ('generated_artifacts' in chunk ? [index] : [])),
    [events.length - 1],
  )
  const file = await assertLinked(events.at(-1)!.chunk.generated_artifacts as AnswerFile[])
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const [resumed] = await (await client.follow('stream', events.at(-2)!.id)).rest()
  assert.equal(resumed!.id, events.at(-1)!.id)
  const again = await assertLinked(resumed!.chunk.generated_artifacts as AnswerFile[])
  assert.equal(again.artifact_id, file.artifact_id)
  assert.notEqual(again.download_url, file.download_url)
})

test('Access: without artifacts.read an answer names the files and has no links', async () => {
  const { body } = await fileless.chat('write', { 'request-id': 'fileless' })
  assertNotLinked(body.body.generated_artifacts)
  assertNotLinked((await fileless.run('fileless')).body.outcome.generated_artifacts)
  const last = (await (await fileless.follow('fileless')).rest()).at(-1)!
  assertNotLinked(last.chunk.generated_artifacts as AnswerFile[])
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  await assertLinked((await admin.request('GET', '/core/v1/runs/fileless?sub=bob')).body.outcome.generated_artifacts)
})

test('Approvals: an interrupted run has the files so far, and the same files at its end', async () => {
  const { client } = service
  const { status, body } = await client.chat('send', { 'request-id': 'letter' })
  assert.equal(status, 202)
  const file = await assertLinked(body.body.generated_artifacts)
  const last = (await (await client.stream('send', { 'request-id': 'letter-2' })).rest()).at(-1)!.chunk
  assert.equal(last.finish_reason, 'approval_required')
  await assertLinked(last.generated_artifacts as AnswerFile[])
  const [call] = body.approval_required.calls
  const decision = { tool_call_id: call.tool_call_id, decision: 'approve' }
  assert.equal((await client.request('POST', '/core/v1/runs/letter/approvals', { body: decision })).status, 200)
  const answer = await client.chat('send', { 'request-id': 'letter' })
  assert.equal(answer.status, 200)
  assert.equal((await assertLinked(answer.body.body.generated_artifacts)).artifact_id, file.artifact_id)
})

test('Callbacks: each attempt has new links; without artifacts.read at acceptance there are none', async () => {
  const chat = { messages: [{ role: 'user', content: 'write' }], callback_url: receiver.url }
  await sendEvent(service.client, event('linked', chat))
  const second = await receiver.reaches(2)
  const [first] = receiver.received
  const file = await assertLinked(first!.body.data.body.generated_artifacts)
  const retried = await assertLinked(second.body.data.body.generated_artifacts)
  assert.equal(retried.artifact_id, file.artifact_id)
  assert.notEqual(retried.download_url, file.download_url)
  assert.equal(second.headers['webhook-id'], first!.headers['webhook-id'])
  const { callbacks } = (await service.client.request('GET', '/core/v1/callbacks')).body
  assertNotLinked(JSON.parse(callbacks[0].attempts[0].request_body).data.body.generated_artifacts)

  await sendEvent(fileless, event('not linked', chat))
  assertNotLinked((await receiver.reaches(3)).body.data.body.generated_artifacts)
})

test('OpenAI: an answer ends with links to its files as Markdown, and as annotations', async () => {
  const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key, maxRetries: 0 })
  const request = { model: 'agent-core', messages: [{ role: 'user' as const, content: 'write' }] }
  const ending = (text: string | null) => /^Written\.\n\n- (\[\\\[2024\\\] a_b\.md\]\((http[^)]+)\))$/.exec(text ?? '')

  const completion = await openai.chat.completions.create(request)
  const { message } = completion.choices[0]!
  const [, link, url] = ending(message.content)!
  const [annotation] = message.annotations!
  assert.deepEqual([annotation!.url_citation.url, annotation!.url_citation.title], [url, name])
  assert.equal(message.content!.slice(annotation!.url_citation.start_index, annotation!.url_citation.end_index), link)
  const file = await assertLinked((completion as unknown as { generated_artifacts: AnswerFile[] }).generated_artifacts)
  assert.equal(file.download_url, url)

  const streamed = await openai.chat.completions.stream(request).finalChatCompletion()
  assert.ok(ending(streamed.choices[0]!.message.content))

  const response = await openai.responses.create({ model: request.model, input: 'write' })
  const events = []
  for await (const each of await openai.responses.create({ model: request.model, input: 'write', stream: true })) events.push(each)
  const completed = events.find(({ type }) => type === 'response.completed')
  const added = events.filter(({ type }) => type === 'response.output_text.annotation.added')
  assert.equal(added.length, 1)
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  )
  for (const { output } of [response, (completed as { response: OpenAI.Responses.Response }).response]) {
    const item = output.at(-1)!
    assert.ok(item.type === 'message')
    const { text, annotations } = item.content[0] as OpenAI.Responses.ResponseOutputText
    const [, markdown, address] = ending(text)!
    const [annotation] = annotations
    assert.ok(annotation?.type === 'url_citation')
    assert.equal(annotation.url, address)
    assert.equal(text.slice(annotation.start_index, annotation.end_index), markdown)
  }
  const withoutFiles = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key({ sub: 'bob', roles: ['reader'] })).key })
  const plain = await withoutFiles.chat.completions.create(request)
  assert.equal(plain.choices[0]!.message.content, 'Written.')
  assertNotLinked((plain as unknown as { generated_artifacts: AnswerFile[] }).generated_artifacts)
})

test('MCP: the answer of ask has its files as resource links', async (t) => {
  const { key } = await service.key()
  const client = new McpClient({ name: 'test', version: '1' })
  const requestInit = { headers: { 'x-service-access': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  const { content: blocks, structuredContent } = await client.callTool({ name: 'ask', arguments: { message: 'write' } })
  const file = await assertLinked((structuredContent as { generated_artifacts: AnswerFile[] }).generated_artifacts)
  assert.deepEqual(blocks, [
    { type: 'text', text: 'Written.' },
    { type: 'resource_link', uri: file.download_url, name, mimeType: 'text/markdown', size: content.length },
  ])
})
