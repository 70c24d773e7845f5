import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { TaskState } from '@a2a-js/sdk'
import { HttpAgent } from '@ag-ui/client'
import OpenAI from 'openai'
import { ask, connect } from '../fixtures/a2a-client.ts'
import { until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'
import type { TestService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const parameters = { type: 'object', properties: {} }
const place = { name: 'get_place', description: 'The place.', parameters }
const weather = { type: 'function' as const, name: 'get_weather', parameters, strict: false }
const model = 'agent-core'

/** The messages of the last turn, with their roles. */
const rolesOf = ({ body }: ModelServerRequest) => body.messages.map(({ role }: { role: string }) => role)
const questionOf = ({ body }: ModelServerRequest): string => body.messages.findLast(({ role }: { role: string }) => role === 'user').content

test('what waits at the doors survives kill -9: streams of responses, client tools, threads, pages, push notifications', async (t) => {
  const folder = await makeFolder(t)
  let isKilled = false
  const calls: string[] = []
  const scripted = await startModelServer((request): ModelAnswer => {
    const [question, last] = [questionOf(request), rolesOf(request).at(-1)]
    calls.push(`${question} ${last}`)
    if (question === 'calculate')
      return last === 'user' ? callOf('calculator', { expression: '1+1' }) : isKilled ? { text: ['It ', 'is ', '2.'] } : { silentAfter: 0 }
    if (question === 'push') return { text: 'Pushed.' }
    const { content } = request.body.messages.at(-1)
    return last === 'tool' ? { text: `It is: ${content}` } : callOf(question === 'weather' ? 'get_weather' : 'get_place')
  })
  t.after(() => scripted.close())
  const accepted: string[] = []
  const receiver = await startReceiver(t, ({ headers }) => {
    if (!isKilled) return 503
    accepted.push(String(headers['webhook-id']))
    return 204
  })
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: scripted.url }
  const config = { uri_id: model, llms: { primary }, tools: [{ name: 'calculator' }] }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  const environment = { OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: Array(50).fill('1').join() }
  const keyText = async () => (await readFile(path.join(folder, '.agent-core', 'admin.key'), 'utf8')).trim()
  const openAiOf = async ({ url }: RunningService) => new OpenAI({ baseURL: `${url}/v1`, apiKey: await keyText(), maxRetries: 0 })
  const agentOf = async ({ url }: RunningService) =>
    new HttpAgent({ url: `${url}/ag-ui`, threadId: 'thread', headers: { 'x-service-access': await keyText() } })
  const postPage = async ({ url }: RunningService, body: object) => {
    const headers = { 'x-service-access': await keyText(), 'content-type': 'application/json' }
    const reply = await fetch(`${url}/ui/chat`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await reply.text()).split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  }

  const first = await serve(t, folder, environment)
  const openai = await openAiOf(first)
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  const stream = await openai.responses.create({ model, input: 'calculate', background: true, stream: true })
  const reading = (async () => {
    for await (const event of stream) events.push(event)
  })().catch(() => undefined)
  const asked = await openai.responses.create({ model, input: 'weather', tools: [weather] })
  const [call] = asked.output.filter((item) => item.type === 'function_call')
  const unkept = { body: { model, input: 'calculate', store: false }, options: { headers: { 'request-id': 'unkept' } } }
  const cut = openai.responses.create(unkept.body, unkept.options).catch(() => undefined)
  const agent = await agentOf(first)
  agent.addMessage({ id: 'u', role: 'user', content: 'thread' })
  await agent.runAgent({ runId: 'thread-1', tools: [place] })
  const threadCall = agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))[0]!
  const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'page' }] }
  const page = { id: 'page', client_tools: [{ name: place.name, description: '', schema: parameters }] }
  const pageEvents = await postPage(first, { ...page, messages: [user] })
  const pageCall = pageEvents.find(({ type }) => type === 'tool-input-available')
  const pushConfig = { tenant: '', id: 'hook', taskId: '', url: receiver.url, token: '', authentication: undefined }
  const configuration = { acceptedOutputModes: [], returnImmediately: false, taskPushNotificationConfig: pushConfig }
  const a2a = await connect({ url: first.url, key: async () => ({ key: await keyText() }) } as unknown as TestService)
  const task = await a2a.sendMessage({ ...ask('push'), configuration })
  assert.ok('status' in task && task.status?.state === TaskState.TASK_STATE_COMPLETED)
  await receiver.reaches(1)
  await until(
    async () => calls.filter((text) => text.startsWith('calculate')).length,
    (count) => count === 4,
  )
  first.child.kill('SIGKILL')
  await Promise.all([first.ended, reading, cut])
  isKilled = true

  const second = await serve(t, folder, environment)
  const later = await openAiOf(second)
  const created = events[0]!
  assert.ok(created.type === 'response.created')
  const { id } = created.response
  const rest: OpenAI.Responses.ResponseStreamEvent[] = []
  const startingAfter = events.at(-1)!.sequence_number
  for await (const event of await later.responses.retrieve(id, { stream: true, starting_after: startingAfter })) rest.push(event)
  const whole: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of await later.responses.retrieve(id, { stream: true })) whole.push(event)
  assert.deepEqual(
    [...events, ...rest].map(({ sequence_number: n }) => n),
    whole.map((_, n) => n),
  )
  assert.deepEqual(rest, whole.slice(startingAfter + 1))
  const end = rest.at(-1)!
  assert.ok(end.type === 'response.completed')
  assert.equal((await later.responses.retrieve(id)).output_text, 'It is 2.')

  const repeat = await later.responses.create(unkept.body, unkept.options)
  assert.deepEqual([repeat.id, repeat.output_text], ['resp_unkept', 'It is 2.'])
  await assert.rejects(later.responses.retrieve(repeat.id), { status: 404 })
  assert.equal(calls.filter((text) => text === 'calculate user').length, 2, 'both runs went on after their calls')

  const output = { type: 'function_call_output' as const, call_id: call!.call_id, output: 'sunny' }
  const answered = await later.responses.create({ model, input: [output], previous_response_id: asked.id, tools: [weather] })
  assert.equal(answered.output_text, 'It is: sunny')
  const again = await agentOf(second)
  again.setMessages([...agent.messages, { id: 't1', role: 'tool', toolCallId: threadCall.id, content: 'Basel' }])
  await again.runAgent({ runId: 'thread-2', tools: [place] })
  assert.equal(again.messages.at(-1)?.content, 'It is: Basel')
  const part = { type: `tool-${place.name}`, toolCallId: pageCall.toolCallId, state: 'output-available', input: {}, output: 'Bern' }
  const answer = {
    id: pageEvents.find(({ type }) => type === 'start')?.messageId,
    role: 'assistant',
    parts: [{ type: 'step-start' }, part],
  }
  const resumed = await postPage(second, { ...page, messages: [user, answer] })
  assert.equal(resumed.flatMap(({ type, delta }) => (type === 'text-delta' ? [delta] : [])).join(''), 'It is: Bern')
  await until(
    async () => accepted.length,
    (count) => count > 0,
  )
  assert.deepEqual(accepted, [receiver.received[0]!.headers['webhook-id']])
  const counts = Object.fromEntries(
    ['weather', 'thread', 'page', 'push'].map((name) => [name, calls.filter((text) => text.startsWith(name)).length]),
  )
  assert.deepEqual(counts, { weather: 2, thread: 2, page: 2, push: 1 }, 'no model call was repeated')
})
