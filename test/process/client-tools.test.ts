import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { decide } from '../fixtures/approvals.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { callOf } from '../fixtures/tools.ts'

const place = { name: 'get_place', description: 'The place.', schema: { type: 'object', properties: {} } }
const question = { messages: [{ role: 'user', content: 'Where am I?' }], client_tools: [place] }
const ids = { 'request-id': 'r1', 'session-id': 's1' }

test('a run that waits for its client survives kill -9: another process takes the output, and asks for it once', async (t) => {
  const folder = await makeFolder(t)
  const model = await startModelServer(({ body }: ModelServerRequest): ModelAnswer => {
    const { role, content } = body.messages.at(-1)
    return role === 'tool' ? { text: `You are in ${content}.` } : callOf('get_place')
  })
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary } }))
  const first = await serve(t, folder)
  const waiting = await first.client.chat(question, ids)
  assert.equal(waiting.status, 202, waiting.text)
  const { tool_call_id: callId } = waiting.body.client_tool_calls.calls[0]
  first.child.kill('SIGKILL')
  assert.equal(await first.ended, 'SIGKILL')

  const second = await serve(t, folder)
  assert.deepEqual((await second.client.chat(question, ids)).body, waiting.body)
  assert.equal((await decide(second.client, 'r1', callId, { decision: 'output', output: 'Basel' })).status, 200)
  const answer = await second.client.chat(question, ids)
  assert.equal(answer.body.body.output, 'You are in Basel.')
  second.child.kill('SIGKILL')
  await second.ended

  const third = await serve(t, folder)
  assert.deepEqual((await third.client.chat(question, ids)).body, answer.body)
  assert.equal((await decide(third.client, 'r1', callId, { decision: 'output', output: 'Basel' })).status, 200)
  assert.equal(model.requests.length, 2, 'the model was asked once before and once after the output')
})
