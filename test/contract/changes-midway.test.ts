import assert from 'node:assert/strict'
import { test } from 'node:test'
import { event, gate, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import { createClient } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

/** Keys, sessions and the configuration change while runs are active. */

const chat = (content: string) => ({ messages: [{ role: 'user', content }] })

test('Access: runs go on to their end after their key was revoked; further requests with the key are 401', async (t) => {
  const receiver = await startReceiver(t)
  const { script, open, entered } = gate(({ body }) => ({ text: `to ${body.messages.at(-1).content}` }))
  const service = await startService(t, { script, environment: { OUTBOUND_ALLOW: receiver.host } })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const made = (await admin.request('POST', '/core/v1/keys', { body: { sub: 'ann', roles: ['user'] } })).body
  const client = createClient(service.url, made.key)
  const json = client.chat('json', { 'request-id': 'json' })
  const streaming = client.stream('stream', { 'request-id': 'stream' })
  const accepted = await sendEvent(client, event('e', { ...chat('async'), callback_url: receiver.url }), { 'request-id': 'async' })
  assert.equal(accepted.status, 200)
  await entered
  await until(
    async () => service.model.requests.length,
    (count) => count === 3,
  )
  assert.equal((await admin.request('DELETE', `/core/v1/keys/${made.jti}`)).status, 200)
  await until(async () => (await client.run('json')).status === 401, Boolean)
  open()
  assert.equal((await json).body.body.output, 'to json')
  assert.equal((await (await streaming).rest()).at(-1)?.chunk.finish_reason, 'stop')
  assert.equal((await receiver.reaches(1)).body.data.body.output, 'to async')
  assert.equal((await client.follow('stream')).status, 401)
  assert.equal((await client.chat('json', { 'request-id': 'json' })).status, 401)
})

test('Sessions: an async run whose session is deleted is cancelled and sends no callback', async (t) => {
  const receiver = await startReceiver(t)
  const { script, open, entered } = gate(() => ({ text: 'late' }))
  const { client, model } = await startService(t, { script, environment: { OUTBOUND_ALLOW: receiver.host } })
  await sendEvent(client, event('e', { ...chat('go'), callback_url: receiver.url }), { 'request-id': 'r', 'session-id': 's' })
  await entered
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 200)
  assert.equal(await model.requests[0]!.closedEarly, true)
  assert.equal((await client.run('r')).status, 410)
  open()
  // A second run whose callback arrives shows that the first had its time.
  await sendEvent(client, event('f', { ...chat('go'), callback_url: receiver.url }), { 'request-id': 'second' })
  assert.equal((await receiver.reaches(1)).body.id, 'second')
})

test('Agent configuration: an async run that was accepted before a change runs with the configuration at its start', async (t) => {
  const seen: string[] = []
  const { script, open, entered } = gate(({ body }) => {
    seen.push(body.messages[0].content.split('\n')[0])
    return { text: 'ok' }
  })
  const { client, as } = await startService(t, { script, config: { instructions: 'Old.', limits: { async_concurrency: 1 } } })
  for (const id of ['first', 'second']) await sendEvent(client, event(id, chat('go')), { 'request-id': id })
  await entered
  const admin = await as({ sub: 'root', roles: ['admin'] })
  const changed = await admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { instructions: 'New.' } } })
  assert.equal(changed.status, 200, changed.text)
  open()
  await until(async () => (await client.run('second')).body.status === 'success', Boolean)
  assert.deepEqual(seen, ['Old.', 'New.'])
})
