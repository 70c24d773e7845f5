import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskState, type Part, type Task } from '@a2a-js/sdk'
import { all, answerOf, ask, connect, taskOf, textOf } from '../fixtures/a2a-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const place = { name: 'get_place', description: 'The place of the device.', schema: { type: 'object', properties: {} } }
const metadata = { 'urn:agent-core:chat-options:1': { client_tools: [place] } }

function script({ body }: ModelServerRequest) {
  const results = body.messages.filter(({ role }: { role: string }) => role === 'tool').map(({ content }: { content: string }) => content)
  return results.length > 0 ? { text: `Results: ${results.join(', ')}.` } : callOf('get_place')
}

const data = (value: object): Part => ({ content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: '' })

/** The first client tool call that a task waits for. */
function callIn({ status }: Pick<Task, 'status'>): string {
  const content = status!.message!.parts[1]!.content
  assert.ok(content?.$case === 'data')
  return content.value.client_tool_calls.calls[0].tool_call_id
}

test('A2A: a task waits for a client tool, tells its address, and goes on with the output after a restart', async (t) => {
  const receiver = await startReceiver(t)
  const service = await startService(t, { script, environment: { OUTBOUND_ALLOW: receiver.host } })
  const client = await connect(service)
  const config = { tenant: '', id: 'hook', taskId: '', url: receiver.url, token: '', authentication: undefined }
  const configuration = { acceptedOutputModes: [], returnImmediately: false, taskPushNotificationConfig: config }
  const waiting = await taskOf(client.sendMessage({ ...ask('Where am I?'), metadata, configuration }))
  assert.equal(waiting.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
  assert.match(textOf(waiting.status.message!.parts[0]!), /^The client runs: get_place \{\}\. Answer in this task with a data part/)
  const callId = callIn(waiting)
  assert.equal((await receiver.reaches(1)).body.task.status.state, 'TASK_STATE_INPUT_REQUIRED')
  await assert.rejects(client.sendMessage(ask('approve', { taskId: waiting.id })), /waits for the client/)
  await assert.rejects(client.sendMessage(ask([data({ tool_call_id: callId })], { taskId: waiting.id })), /output/)
  await assert.rejects(client.sendMessage(ask([data({ tool_call_id: 'x', output: 1 })], { taskId: waiting.id })), /No call x/)
  const bob = await connect(service, { sub: 'bob' })
  await assert.rejects(bob.sendMessage(ask([data({ tool_call_id: callId, output: 1 })], { taskId: waiting.id })), /no task/)

  await service.restart()
  const again = await connect(service)
  const done = await taskOf(again.sendMessage(ask([data({ tool_call_id: callId, output: 'Lund' })], { taskId: waiting.id })))
  assert.deepEqual([done.status?.state, answerOf(done)], [TaskState.TASK_STATE_COMPLETED, 'Results: Lund.'])
  assert.equal((await receiver.reaches(2)).body.task.status.state, 'TASK_STATE_COMPLETED')
})

test('A2A: a stream ends with the client tool calls; an error of the client reaches the model', async (t) => {
  const service = await startService(t, { script })
  const client = await connect(service, undefined, { binding: 'HTTP+JSON' })
  const events = await all(client.sendMessageStream({ ...ask('Where am I?'), metadata }))
  const last = events.at(-1)?.payload
  assert.ok(last?.$case === 'statusUpdate')
  assert.equal(last.value.metadata?.['finish_reason'], 'tool_calls')
  const answer = ask([data({ tool_call_id: callIn(last.value), error: 'No signal.' })], { taskId: last.value.taskId })
  assert.match(answerOf(await taskOf(client.sendMessage(answer))), /No signal\./)
  const faulty = { 'urn:agent-core:chat-options:1': { client_tools: [{ ...place, name: 'not a name' }] } }
  await assert.rejects(client.sendMessage({ ...ask('Where?'), metadata: faulty }), /client_tools/)
})
