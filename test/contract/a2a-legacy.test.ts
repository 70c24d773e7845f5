import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import { startService } from '../fixtures/service.ts'

/** Requests as clients of A2A 0.3 send them: without a version, with other names of methods and fields. */
test('A2A: a client of version 0.3 finds the agent, sends, streams, reads and is notified', async (t) => {
  const receiver = await startReceiver(t)
  const environment = { OUTBOUND_ALLOW: receiver.host }
  const service = await startService(t, { script: [{ text: 'Hello.' }, { text: ['It ', 'is.'] }, { text: 'Done.' }], environment })
  const card = (await service.client.request('GET', '/.well-known/agent-card.json')).body
  assert.deepEqual(
    [card.url, card.preferredTransport, card.protocolVersion, card.security, card.securitySchemes.key.type],
    [`${service.url}/a2a`, 'JSONRPC', '0.3.0', [{ key: [] }, { bearer: [] }], 'apiKey'],
  )
  const call = (method: string, params: object) =>
    service.client.request('POST', '/a2a', { body: { jsonrpc: '2.0', id: 1, method, params } })
  const message = (text: string, more: object = {}) => ({
    message: { kind: 'message', messageId: text, role: 'user', parts: [{ kind: 'text', text }], ...more },
  })
  const first = (await call('message/send', message('Hi'))).body.result
  assert.deepEqual([first.kind, first.status.state, first.artifacts[0].parts], ['task', 'completed', [{ kind: 'text', text: 'Hello.' }]])
  assert.equal((await call('tasks/get', { id: first.id })).body.result.id, first.id)
  assert.equal((await call('tasks/get', { id: 'none' })).body.error.code, -32_001)

  const streamed = await call('message/stream', message('Is it?', { contextId: first.contextId }))
  const events = [...streamed.text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!).result)
  assert.deepEqual([events[0].kind, events.at(-1).status.state, events.at(-1).final], ['task', 'completed', true])

  const pushNotificationConfig = { id: 'hook', url: receiver.url, token: 'known' }
  const pushed = await call('message/send', { ...message('Push'), configuration: { blocking: true, pushNotificationConfig } })
  const { headers, body } = await receiver.reaches(1)
  assert.deepEqual(
    [headers['content-type'], headers['x-a2a-notification-token'], body.kind, body.id, body.status.state],
    ['application/json', 'known', 'task', pushed.body.result.id, 'completed'],
  )
  const named = { id: pushed.body.result.id, pushNotificationConfigId: 'hook' }
  assert.equal((await call('tasks/pushNotificationConfig/get', named)).body.result.pushNotificationConfig.url, receiver.url)
  assert.equal((await call('agent/getAuthenticatedExtendedCard', {})).body.result.url, card.url)
  assert.equal((await call('tasks/nonsense', {})).body.error.code, -32_601)
  assert.equal((await call('GetTask', { id: first.id })).body.error.code, -32_009)
})
