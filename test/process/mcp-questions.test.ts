import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { callsIn, decide } from '../fixtures/approvals.ts'
import { startAskingMcpServer } from '../fixtures/asking-mcp-server.ts'
import { until } from '../fixtures/async-client.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'

/** A service with the asking server, whose model calls the tool that the question names. */
async function start(t: TestContext) {
  const [folder, server] = [await makeFolder(t), await startAskingMcpServer()]
  t.after(() => server.close())
  const usage = { input: 100, output: 10 }
  const model = await startModelServer(({ body }: ModelServerRequest): ModelAnswer => {
    const { role, content } = body.messages.at(-1)
    if (body.messages[0].content === 'Be short.') return { text: 'blue', usage }
    if (role === 'tool') return { text: `The tool said: ${content}`, usage }
    return { calls: [{ name: `desk__${content}`, arguments: '{}' }], usage }
  })
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  const desk = { name: 'desk', type: 'mcp', config: { url: server.url, elicitation: 'allow', sampling: 'allow' } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary }, tools: [desk] }))
  const again = () => serve(t, folder)
  return { server, model, first: await again(), again }
}

const ids = { 'request-id': 'r1', 'session-id': 's1' }

async function kill({ child, ended }: Awaited<ReturnType<typeof serve>>): Promise<void> {
  child.kill('SIGKILL')
  assert.equal(await ended, 'SIGKILL')
}

test('a question of a server survives kill -9, and its answer after the restart goes on with the same call', async (t) => {
  const { server, model, first, again } = await start(t)
  const waiting = await first.client.chat('book', ids)
  assert.equal(waiting.status, 202, waiting.text)
  const [call = ''] = callsIn(waiting)
  assert.partialDeepStrictEqual(waiting.body.approval_required.calls, [
    { tool: 'desk__book', tool_input: { server: 'desk', question: 'Which seat?', answer_schema: { required: ['seat'] } } },
  ])
  await kill(first)
  const second = await again()
  const { client } = second
  const answerWith = (body: object) => decide(client, 'r1', call, body)
  for (const tool_input of [undefined, {}, { seat: 'roof' }]) {
    const refused = await answerWith({ decision: 'approve', tool_input })
    assert.equal(refused.status, 422, refused.text)
    assert.match(refused.text, /does not fit its answer_schema: seat (is required|must be one of aisle, window)/)
  }
  assert.equal((await answerWith({ decision: 'approve', tool_input: { seat: 'aisle' } })).status, 200)
  const answer = await client.chat('book', ids)
  assert.equal(answer.body.body.output, 'The tool said: Booked {"meal":"none","seat":"aisle"}')
  assert.deepEqual(server.bookings, [{ meal: 'none', seat: 'aisle' }])
  const [step] = answer.body.body.intermediate_steps
  assert.deepEqual([step.tool, step.status], ['desk__book', 'success'])

  const declined = await client.chat('book', { 'request-id': 'r2' })
  await decide(client, 'r2', callsIn(declined)[0] ?? '', { decision: 'reject' })
  assert.equal((await client.chat('book', { 'request-id': 'r2' })).body.body.output, 'The tool said: Not booked: decline')

  const visit = await client.chat('visit', { 'request-id': 'r3' })
  assert.deepEqual(visit.body.approval_required.calls[0].tool_input, {
    server: 'desk',
    question: 'Please pay.',
    url: 'https://pay.example/1',
  })
  assert.equal((await decide(client, 'r3', callsIn(visit)[0] ?? '')).status, 200)
  assert.equal((await client.chat('visit', { 'request-id': 'r3' })).body.body.output, 'The tool said: Visit: accept')

  await t.test('what a server asks the model counts as usage of the run, without the messages of the run', async () => {
    const answer = await client.chat('summarise', { 'request-id': 'r4' })
    assert.equal(answer.body.body.output, 'The tool said: Summary: blue')
    const [tokens] = answer.body.body.usage
    assert.deepEqual(tokens.details, { input: 300, output: 30, cached_input: 0, reasoning: 0 })
    const asked = model.requests.find(({ body }) => body.messages[0].content === 'Be short.')?.body
    assert.deepEqual(asked.messages.slice(1), [{ role: 'user', content: 'Summarise: blue.' }])
    assert.deepEqual([asked.tools, asked.max_tokens ?? asked.max_completion_tokens], [undefined, 4096])
    const trace = await client.request('GET', '/core/v1/runs/r4/trace')
    const spans = trace.body.spans as { id: string; parent_id: string | null; kind: string; name: string }[]
    const tool = spans.find(({ kind }) => kind === 'tool')
    assert.equal(spans.filter(({ kind }) => kind === 'model').length, 3)
    assert.ok(spans.some(({ kind, parent_id }) => kind === 'turn' && parent_id === tool?.id))
  })
})

test('kill -9 while a call goes on with its answer: it is not repeated, and the model learns that its outcome is unknown', async (t) => {
  const { server, first, again } = await start(t)
  const [call = ''] = callsIn(await first.client.chat('book', ids))
  const entered = Promise.withResolvers<void>()
  server.intercept = (_, __, body) => {
    if (body?.method !== 'tools/call') return false
    entered.resolve()
    return true
  }
  await decide(first.client, 'r1', call, { decision: 'approve', tool_input: { seat: 'window' } })
  await entered.promise
  await kill(first)
  server.intercept = () => false
  const { client } = await again()
  const { body } = await until(
    () => client.run('r1'),
    (run) => run.body.ended_at !== null,
  )
  assert.match(body.outcome.output, /outcome of this call is unknown/)
  assert.deepEqual(server.bookings, [])
})
