import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const thoughtsOf = ({ body }: ModelServerRequest): unknown[] =>
  body.messages.filter(({ role }: { role: string }) => role === 'assistant').map((message: any) => message.reasoning_content)

test('Returned reasoning: a provider gets its reasoning back in the turn and in later questions of the session', async (t) => {
  const look = fakeTool('look', async () => ({ seen: true }))
  const { client, model } = await startService(t, {
    tools: [look],
    script: [{ ...callOf('look'), reasoning: 'First I look.' }, { reasoning: 'Now I know.', text: 'It is red.' }, { text: 'Yes.' }],
  })
  const session = { 'session-id': 's' }
  assert.equal((await client.chat('Which colour?', session)).body.body.output, 'It is red.')
  assert.equal((await client.chat('Sure?', session)).body.body.output, 'Yes.')
  assert.deepEqual(model.requests.map(thoughtsOf), [[], ['First I look.'], ['First I look.', 'Now I know.']])
})

test('Returned reasoning: an empty answer is asked for again, and is an error in the end', async (t) => {
  const { client, model } = await startService(t, { script: [{ reasoning: 'Hm.', text: [] }, { text: 'Here.' }] })
  assert.equal((await client.chat('Hello')).body.body.output, 'Here.')
  assert.equal(model.requests.length, 2)
  const silent = await startService(t, { script: { text: [], finish: 'stop' } })
  const { status, body } = await silent.client.chat('Hello')
  assert.deepEqual({ status, type: body.details.error_type }, { status: 502, type: 'ModelUnavailable' })
  assert.equal(silent.model.requests.length, 3)
})
