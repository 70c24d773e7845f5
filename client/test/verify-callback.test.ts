import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startReceiver } from '../../test/fixtures/callback-receiver.ts'
import { startService } from '../../test/fixtures/service.ts'
import { AgentCoreError, createClient, verifyCallback } from '../src/index.ts'

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const body = JSON.stringify({ type: 'ai.service.agent.chain.completed', data: { text: 'grün' } })

function signed({ at = new Date(), key = secret, text = body } = {}): Record<string, string> {
  const signature = new Webhook(key).sign('r1', at, text)
  return { 'webhook-id': 'r1', 'webhook-timestamp': String(Math.floor(at.getTime() / 1000)), 'webhook-signature': signature }
}

const refuses = (received: Partial<Parameters<typeof verifyCallback>[0]>, message: RegExp) =>
  assert.rejects(verifyCallback({ secret, headers: signed(), body, ...received }), (error) => {
    assert.ok(error instanceof AgentCoreError)
    assert.deepEqual({ status: error.status, type: error.errorType }, { status: 0, type: 'InvalidSignature' })
    assert.match(error.message, message)
    return true
  })

test('verifyCallback: a signed callback is read, whatever the form of its headers and its body', async () => {
  const headers = signed()
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
  for (const form of [headers, upper, new Headers(headers)])
    for (const content of [body, new TextEncoder().encode(body)]) {
      const { webhookId, event } = await verifyCallback({ secret, headers: form, body: content })
      assert.deepEqual({ webhookId, event }, { webhookId: 'r1', event: JSON.parse(body) })
    }
})

test('verifyCallback: during a rotation one of several secrets, and one of several signatures, is enough', async () => {
  const other = `whsec_${Buffer.alloc(24, 2).toString('base64')}`
  await verifyCallback({ secret: [other, secret], headers: signed(), body })
  const headers = signed()
  headers['webhook-signature'] = `v1a,abc v1,??? ${signed({ key: other })['webhook-signature']} ${headers['webhook-signature']}`
  await verifyCallback({ secret, headers, body })
  await refuses({ secret: other, headers: signed() }, /does not match/)
})

test('verifyCallback: a changed, old or unsigned callback is refused', async () => {
  await refuses({ body: `${body} ` }, /does not match/)
  await refuses({ headers: { ...signed(), 'webhook-id': 'r2' } }, /does not match/)
  await refuses({ headers: signed({ at: new Date(Date.now() - 400_000) }) }, /signed 40\d s before or after/)
  await refuses({ headers: signed({ at: new Date(Date.now() + 400_000) }) }, /before or after/)
  await verifyCallback({ secret, headers: signed({ at: new Date(Date.now() - 400_000) }), body, toleranceSeconds: 500 })
  await refuses({ headers: {} }, /headers of a webhook are missing/)
  await refuses({ headers: { ...signed(), 'webhook-timestamp': 'now' } }, /in seconds/)
  await refuses({ headers: { ...signed(), 'webhook-signature': '' } }, /does not match/)
  await refuses({ headers: signed({ text: '[]' }), body: '[]' }, /not a JSON object/)
  await assert.rejects(verifyCallback({ secret: 'whsec_?', headers: signed(), body }), TypeError)
})

test('verifyCallback: the result of an asynchronous chat arrives signed', async (t) => {
  const receiver = await startReceiver(t)
  const environment = { CALLBACK_SECRET: secret, OUTBOUND_ALLOW: receiver.host }
  const { url, key } = await startService(t, { environment, script: { text: 'It is 4.' } })
  const client = createClient({ baseUrl: url, accessKey: (await key()).key })
  const request = { messages: [{ role: 'user' as const, content: 'What is 2 + 2?' }] }
  const accepted = await client.async(request, { url: receiver.url, eventId: 'e1' }, { requestId: 'r1' })
  assert.deepEqual(
    { status: accepted.status, id: accepted.id, request_id: accepted.request_id },
    { status: 'accepted', id: 'e1', request_id: 'r1' },
  )
  const { headers, text } = await receiver.reaches(1)
  const { webhookId, event } = await verifyCallback({ secret, headers, body: text })
  assert.equal(webhookId, 'r1')
  assert.ok(event.type === 'ai.service.agent.chain.completed')
  assert.deepEqual({ event_id: event.data.event_id, output: event.data.body.output }, { event_id: 'e1', output: 'It is 4.' })
})
