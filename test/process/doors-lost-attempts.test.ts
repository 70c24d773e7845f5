import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client, type Message } from '@langchain/langgraph-sdk'
import OpenAI from 'openai'
import { until } from '../fixtures/async-client.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { callOf } from '../fixtures/tools.ts'

const parameters = { type: 'object', properties: {} }
const model = 'agent-core'

interface Part {
  id?: string
  event: string
  data: { messages?: Message[] }
}

/** Starts a service whose first answer to a question breaks off in the middle. `restart` kills it there, and starts it again. */
async function start(t: TestContext, whole: ModelAnswer) {
  const folder = await makeFolder(t)
  let isKilled = false
  const scripted = await startModelServer(({ body }: ModelServerRequest): ModelAnswer => {
    const { role, content } = body.messages.at(-1)
    if (role === 'tool') return { text: ['It is ', content] }
    return isKilled ? whole : { text: ['Let ', 'me ', 'look.'], silentAfter: 3 }
  })
  t.after(() => scripted.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: scripted.url }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ uri_id: model, llms: { primary } }))
  const service = await serve(t, folder)
  const key = (await readFile(path.join(folder, '.agent-core', 'admin.key'), 'utf8')).trim()
  const restart = async () => {
    service.child.kill('SIGKILL')
    await service.ended
    isKilled = true
    return serve(t, folder)
  }
  return { url: service.url, key, restart }
}

test('OpenAI: what follows an output of the client does not repeat the answer of a run that had lost its process', async (t) => {
  const { url, key, restart } = await start(t, { text: ['Let ', 'me ', 'look.'], ...callOf('get_weather') })
  const connect = (to: string) => new OpenAI({ baseURL: `${to}/v1`, apiKey: key, maxRetries: 0 })
  const before = connect(url)
  const tool = { type: 'function' as const, name: 'get_weather', parameters, strict: false }
  const seen: string[] = []
  const stream = await before.responses.create({ model, input: 'Weather?', background: true, stream: true, tools: [tool] })
  const reading = (async () => {
    for await (const event of stream) seen.push(event.type === 'response.created' ? event.response.id : event.type)
  })().catch(() => undefined)
  const question = {
    model,
    messages: [{ role: 'user' as const, content: 'Weather?' }],
    tools: [{ type: 'function' as const, function: { name: tool.name, parameters } }],
    stream: true as const,
  }
  const repeated = { headers: { 'request-id': 'completion' } }
  const cut = await before.chat.completions.create(question, repeated)
  const [piece] = [await cut[Symbol.asyncIterator]().next()]
  assert.equal(piece.done, false)
  await until(
    async () => seen.filter((type) => type === 'response.output_text.delta').length,
    (count) => count > 0,
  )
  const openai = connect((await restart()).url)
  await reading

  const calls = []
  for await (const { choices } of await openai.chat.completions.create(question, repeated))
    calls.push(...(choices[0]?.delta.tool_calls ?? []))
  const call = { id: calls[0]!.id!, type: 'function' as const, function: { name: tool.name, arguments: '{}' } }
  const messages = [
    ...question.messages,
    { role: 'assistant' as const, content: 'Let me look.', tool_calls: [call] },
    { role: 'tool' as const, tool_call_id: call.id, content: 'sunny' },
  ]
  let text = ''
  for await (const { choices } of await openai.chat.completions.create({ ...question, messages })) text += choices[0]?.delta.content ?? ''
  assert.equal(text, 'It is sunny')

  const { output } = await until(
    () => openai.responses.retrieve(seen[0]!),
    ({ status }) => status === 'completed',
  )
  const asked = output.find((item) => item.type === 'function_call')!
  const answer = { type: 'function_call_output' as const, call_id: asked.call_id, output: 'sunny' }
  const next = { model, input: [answer], previous_response_id: seen[0]!, tools: [tool], stream: true as const }
  text = ''
  for await (const event of await openai.responses.create(next)) if (event.type === 'response.output_text.delta') text += event.delta
  assert.equal(text, 'It is sunny')
})

test('LangGraph: a reader with as many events of a lost attempt as the run has gets the answer', async (t) => {
  const { url, key, restart } = await start(t, { text: 'Sunny.' })
  const connect = (to: string) => new Client({ apiUrl: `${to}/langgraph`, apiKey: key, callerOptions: { maxRetries: 0 } })
  const before = connect(url)
  const { thread_id: threadId } = await before.threads.create()
  const { run_id: runId } = await before.runs.create(threadId, 'agent', { input: { messages: [{ type: 'human', content: 'Weather?' }] } })
  const lost = `${runId}:2`
  for await (const { id } of before.runs.joinStream(threadId, runId, { lastEventId: '-1' })) if (id === lost) break
  const client = connect((await restart()).url)
  await client.runs.join(threadId, runId)

  const lastOf = (parts: readonly Part[]) =>
    parts.findLast(({ event }) => event === 'values')!.data.messages!.map(({ type, content }) => `${type}: ${String(content)}`)
  const read = async (lastEventId: string) => {
    const parts: Part[] = []
    for await (const part of client.runs.joinStream(threadId, runId, { lastEventId })) parts.push(part)
    return parts
  }
  const whole = ['human: Weather?', 'ai: Sunny.']
  const parts = await read(lost)
  assert.deepEqual(lastOf(parts), whole)
  assert.equal(parts.at(-1)!.id, `${runId}:02`)
  const behind = await read(`${runId}:02`)
  assert.deepEqual([behind.length, lastOf(behind)], [2, whole], 'the client of the last event has nothing to wait for')
})
