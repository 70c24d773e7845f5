import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../src/agent/messages.ts'
import type { Tool } from '../src/agent/tool.ts'
import type { ModelScript } from './model-server.ts'
import type { Client, Reply } from './service-client.ts'
import { startService, type ServiceOptions } from './service-fixture.ts'
import { callOf, fakeTool } from './service-tools.ts'

const schema = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false }

/** A `send` that needs approval, and notes what it was called with. */
function sending(traits: Partial<Tool> = {}) {
  const sent: JsonObject[] = []
  const execute = async (input: JsonObject) => {
    sent.push(input)
    return `sent to ${String(input['to'])}`
  }
  return { sent, tool: fakeTool('send', execute, { schema, effect: 'write', approval: { by: 'caller' }, ...traits }) }
}

const asks: ModelScript = [callOf('send', { to: 'Bob' }), { text: 'It is done.' }]

async function start(t: TestContext, options: ServiceOptions & { traits?: Partial<Tool> } = {}) {
  const { sent, tool } = sending(options.traits)
  const service = await startService(t, { script: asks, tools: [tool], ...options })
  return { ...service, sent }
}

const callIn = (reply: Reply, at = 0): string => reply.body.approval_required.calls[at].tool_call_id

function decide(client: Client, requestId: string, body: object): Promise<Reply> {
  return client.request('POST', `/core/v1/runs/${requestId}/approvals`, { body })
}

test('Approval: a chain that needs approval is 202 with what it waits for, and goes on when that is decided', async (t) => {
  const { client, sent } = await start(t)
  const headers = { 'request-id': 'r1', 'session-id': 's1' }
  const waiting = await client.chat('Write to Bob.', headers)
  assert.equal(waiting.status, 202, waiting.text)
  const { input, output, intermediate_steps: steps, usage } = waiting.body.body
  assert.deepEqual([input, output, steps], ['Write to Bob.', '', []])
  assert.equal(usage[0].costAttribute, 'scripted')
  const call = callIn(waiting)
  assert.deepEqual(waiting.body.approval_required, {
    request_id: 'r1',
    calls: [{ tool_call_id: call, tool: 'send', tool_input: { to: 'Bob' } }],
  })
  const run = await client.run('r1')
  assert.deepEqual([run.body.status, run.body.ended_at, run.body.outcome], ['interrupted', null, undefined])
  assert.deepEqual(run.body.approval_required, waiting.body.approval_required)
  const again = await client.chat('Write to Bob.', headers)
  assert.deepEqual([again.status, again.body], [202, waiting.body])
  assert.deepEqual(sent, [])
  const decided = await decide(client, 'r1', { tool_call_id: call, decision: 'approve' })
  assert.deepEqual([decided.status, decided.body.approval_required], [200, undefined], decided.text)
  const answer = await client.chat('Write to Bob.', headers)
  assert.deepEqual([answer.status, answer.body.body.output], [200, 'It is done.'])
  assert.deepEqual(
    answer.body.body.intermediate_steps.map((step: { tool: string; status: string }) => [step.tool, step.status]),
    [['send', 'success']],
  )
  assert.deepEqual(sent, [{ to: 'Bob' }])
  const ended = await client.run('r1')
  assert.deepEqual([ended.body.status, ended.body.outcome.output], ['success', 'It is done.'])
})
