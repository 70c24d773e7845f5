import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

const messages = [{ role: 'user', content: 'Hello.' }]

test('a chat may say how much the model thinks, for its own run and as a part of the request', async (t) => {
  const { client, model } = await startService(t, { script: () => ({ text: 'Hi.' }) })
  const headers = { 'request-id': 'effort-1' }
  const reply = await client.chat({ messages, reasoning_effort: 'xhigh' }, headers)
  assert.equal(reply.status, 200)
  assert.equal(model.requests.at(-1)?.body.reasoning_effort, 'xhigh')
  assert.equal((await client.chat({ messages, reasoning_effort: 'low' }, headers)).status, 409)
  assert.equal((await client.chat({ messages, reasoning_effort: 'endless' })).status, 422)
  await client.chat({ messages, reasoning_effort: null })
  assert.equal('reasoning_effort' in (model.requests.at(-1)?.body ?? {}), false)
})
