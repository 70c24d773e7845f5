import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { callsIn, decide, sendTo, sending } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { outputOf } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const ids = { 'request-id': 'r1', 'session-id': 's1' }

/** Two services on a shared database, and the inputs of all tool calls. */
async function startTwo(t: TestContext) {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const { sent, tool } = sending()
  const script = ({ body }: ModelServerRequest) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : sendTo('A', 'B'))
  const start = async () => (await startService(t, { script, tools: [tool], environment })).client
  return { here: await start(), there: await start(), sent }
}

test('a run that waits for approval belongs to no process: another process resumes it, and readers on the first process get the rest', async (t) => {
  const { here, there, sent } = await startTwo(t)
  const waiting = await here.chat('Go.', ids)
  const log = await (await here.follow('r1')).rest()
  const reader = await here.follow('r1', log.at(-1)!.id)
  assert.deepEqual((await there.chat('Go.', ids)).body, waiting.body)
  for (const call of callsIn(waiting)) assert.equal((await decide(there, 'r1', call)).status, 200)
  const rest = await reader.rest()
  assert.deepEqual(
    { outputOf: outputOf(rest), finish_reason: rest.at(-1)!.chunk.finish_reason },
    { outputOf: 'done', finish_reason: 'stop' },
  )
  const answer = await here.chat('Go.', ids)
  assert.deepEqual({ status: answer.status, sent }, { status: 200, sent: [{ to: 'A' }, { to: 'B' }] })
  assert.equal((await there.chat('Go.', ids)).text, answer.text)
})

test('two processes that decide the last two calls at once resume the run once', async (t) => {
  const { here, there, sent } = await startTwo(t)
  for (let round = 1; round <= 5; round++) {
    const id = `r${round}`
    const [first, second] = callsIn(await here.chat('Go.', { 'request-id': id }))
    const decided = await Promise.all([decide(here, id, first!), decide(there, id, second!)])
    assert.deepEqual(
      decided.map(({ status }) => status),
      [200, 200],
    )
    const { body } = await until(
      () => there.run(id),
      (run) => run.body.ended_at !== null,
    )
    assert.deepEqual({ status: body.status, sentCount: sent.length }, { status: 'success', sentCount: 2 * round })
  }
})

test('MCP: the answer to a form, and the requests for a task, reach any process', async (t) => {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const { sent, tool } = sending()
  const script = ({ body }: ModelServerRequest) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : sendTo('A', 'B'))
  const start = () => startService(t, { script, tools: [tool], environment })
  const [here, there] = [await start(), await start()]
  const { key } = await here.key()
  /** Sends answers to forms, and everything about tasks, to the other process. */
  const fetchFrom: typeof fetch = (url, init) => {
    const { method = 'answer' } = typeof init?.body === 'string' ? (JSON.parse(init.body) as { method?: string }) : {}
    const isElsewhere = method === 'answer' || method.startsWith('tasks/')
    return fetch(String(url).replace(here.url, isElsewhere ? there.url : here.url), init)
  }
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { decision: 'approve' } }))
  const requestInit = { headers: { 'x-service-access': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${here.url}/mcp`), { requestInit, fetch: fetchFrom }))
  t.after(() => client.close())
  const params = { name: 'ask', arguments: { message: 'Go.' } }
  const { structuredContent } = await client.callTool(params)
  assert.equal((structuredContent as { output: string }).output, 'done')
  assert.equal(sent.length, 2)

  const anything = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } }
  const { task } = (await client.request({ method: 'tools/call', params: { ...params, task: {} } }, anything)) as any
  const result = (await client.request({ method: 'tasks/result', params: { taskId: task.taskId } }, anything)) as any
  assert.deepEqual({ output: result.structuredContent.output, sentCount: sent.length }, { output: 'done', sentCount: 4 })
})

test('the output of a client tool reaches a run through any process, and completions go on in the process that they reach', async (t) => {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const script = ({ body }: ModelServerRequest) => {
    const { role, content } = body.messages.at(-1)
    return role === 'tool' ? { text: `It is ${content}.` } : callOf('clock')
  }
  const [here, there] = [await startService(t, { script, environment }), await startService(t, { script, environment })]
  const clock = { name: 'clock', description: 'The time of the device.', schema: { type: 'object', properties: {} } }
  const waiting = await here.client.chat({ messages: [{ role: 'user', content: 'What time is it?' }], client_tools: [clock] }, ids)
  const { tool_call_id: callId } = waiting.body.client_tool_calls.calls[0]
  assert.equal((await decide(there.client, 'r1', callId, { decision: 'output', output: 'noon' })).status, 200)
  const run = await until(
    () => here.client.run('r1'),
    ({ body }) => body.status === 'success',
  )
  assert.equal(run.body.outcome.output, 'It is noon.')

  const tools = [{ type: 'function', function: { name: clock.name, parameters: clock.schema } }]
  const question = { role: 'user', content: 'And now?' }
  const complete = (client: typeof here.client, messages: object[]) =>
    client.request('POST', '/v1/chat/completions', { body: { model: 'agent-core', messages, tools } })
  const { message } = (await complete(here.client, [question])).body.choices[0]
  const output = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'one' }
  const rest = await complete(there.client, [question, message, output])
  assert.equal(rest.body.choices[0].message.content, 'It is one.', rest.text)
})
