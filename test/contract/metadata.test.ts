import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

test('Metadata: the reply has name, conversation starters and capabilities of the agent', async (t) => {
  const described = {
    id: 'a-1',
    name: 'Ada',
    description: 'Counts.',
    uri_id: 'ada',
    conversation_starters: [{ title: 'Sum', message: 'What is 1 + 1?' }],
  }
  const { client } = await startService(t, { script: {}, config: { ...described, tools: [{ name: 'calculator' }] } })
  const { status, body } = await client.request('GET', '/core/v1/metadata')
  const { capabilities, ...rest } = body.body
  assert.deepEqual({ status, keys: Object.keys(body), rest }, { status: 200, keys: ['body'], rest: described })
  assert.ok(capabilities.every((one: unknown) => typeof one === 'string'))
  for (const one of ['sub_agents', 'tool:calculator']) assert.ok(capabilities.includes(one), one)
})
