import assert from 'node:assert/strict'
import { test } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

const chat = { messages: [{ role: 'user', content: 'hello' }] }
const binary = { 'ce-specversion': '1.0', 'ce-type': 'ai.service.agent.chain', 'ce-source': 'urn:test', 'ce-id': 'b-1' }
const batch = { 'content-type': 'application/cloudevents-batch+json' }

function outputOf(client: Client, requestId: string): Promise<string> {
  return until(
    () => client.run(requestId),
    ({ body }) => body.status === 'success',
  ).then(({ body }) => body.outcome.output)
}

test('CloudEvents: in binary mode the headers are the attributes and the body is the data', async (t) => {
  const { client } = await startService(t, { script: { text: 'hi' } })
  const first = await sendEvent(client, { ...chat, session_id: 'of-body' }, binary)
  assert.deepEqual([first.status, first.body.status, first.body.id, first.body.session_id], [200, 'accepted', 'b-1', 'of-body'])
  assert.equal(first.headers.get('session-id'), 'of-body')
  assert.equal(await outputOf(client, first.body.request_id), 'hi')
  // The same event in structured mode is the same event.
  const again = await sendEvent(client, event('b-1', chat))
  assert.equal(again.body.request_id, first.body.request_id)
})

test('CloudEvents: headers of binary mode are unquoted and percent-decoded', async (t) => {
  const { client } = await startService(t, { script: { text: 'hi' } })
  const encoded = await sendEvent(client, chat, { ...binary, 'ce-id': 'Euro%20%E2%82%AC%20%F0%9F%98%80' })
  assert.deepEqual({ status: encoded.status, id: encoded.body.id }, { status: 200, id: 'Euro € 😀' })
  const quoted = await sendEvent(client, chat, { ...binary, 'ce-id': '"a\\"b%"' })
  assert.deepEqual({ status: quoted.status, id: quoted.body.id }, { status: 200, id: 'a"b%' })
  const broken = await sendEvent(client, chat, { ...binary, 'ce-id': '%E2%82' })
  assert.deepEqual({ status: broken.status, loc: broken.body.detail[0].loc }, { status: 422, loc: ['header', 'ce-id'] })
})

test('CloudEvents: faults of binary mode name the header, or the field of the body', async (t) => {
  const { client } = await startService(t, { script: {} })
  const { 'ce-id': _, ...withoutId } = binary
  for (const [headers, body, loc] of [
    [withoutId, chat, ['header', 'ce-id']],
    [{ ...binary, 'ce-specversion': '0.3' }, chat, ['header', 'ce-specversion']],
    [{ ...binary, 'ce-type': 'other' }, chat, ['header', 'ce-type']],
    [binary, { messages: [] }, ['body', 'messages']],
    [
      binary,
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'ai', content: 'y' },
        ],
      },
      ['body', 'messages', 1, 'role'],
    ],
    [binary, { ...chat, callback_url: 'ftp://x' }, ['body', 'callback_url']],
  ] as const) {
    const reply = await sendEvent(client, body, headers)
    assert.deepEqual({ status: reply.status, loc: reply.body.detail[0].loc }, { status: 422, loc }, JSON.stringify(reply.body))
  }
})

test('CloudEvents: data_base64 is decoded to data', async (t) => {
  const { client } = await startService(t, { script: { text: 'hi' } })
  const { data: _, ...envelope } = event('e64', {})
  const encode = (text: string) => Buffer.from(text).toString('base64')
  const { status, body } = await sendEvent(client, { ...envelope, data_base64: encode(JSON.stringify(chat)) })
  assert.equal(status, 200)
  assert.equal(await outputOf(client, body.request_id), 'hi')
  const place = ['body', 'data_base64']
  for (const bad of [
    { data_base64: '***' },
    { data_base64: encode('{') },
    { data_base64: 5 },
    { data_base64: encode('{"__proto__":{}}') },
    { data_base64: encode('{}'), data: chat },
  ]) {
    const reply = await sendEvent(client, { ...envelope, ...bad })
    assert.deepEqual({ status: reply.status, loc: reply.body.detail[0].loc }, { status: 422, loc: place }, JSON.stringify(bad))
  }
  const many = await sendEvent(client, { ...envelope, data_base64: encode(`[${'0,'.repeat(100_001)}0]`) })
  assert.deepEqual({ status: many.status, error_type: many.body.details.error_type }, { status: 413, error_type: 'MaxInputException' })
})

test('CloudEvents: a batch is answered in its order, and a faulty event refuses no other event', async (t) => {
  const { client } = await startService(t, { script: { text: 'hi' } })
  const { data: _, ...envelope } = event('4', {})
  const events = [
    event('1', { ...chat, session_id: 'one' }),
    { ...event('2', chat), type: 'other' },
    event('3', { messages: [{ role: 'user', content: 'x'.repeat(200_001) }] }),
    { ...envelope, data_base64: Buffer.from(JSON.stringify(chat)).toString('base64') },
    'no event',
    event('1', chat),
    event('7', { ...chat, context_files: ['nothing.md'] }),
  ]
  const reply = await sendEvent(client, events, { ...batch, 'request-id': 'batch-1' })
  assert.deepEqual(
    { status: reply.status, 'request-id': reply.headers.get('request-id'), 'session-id': reply.headers.get('session-id') },
    { status: 200, 'request-id': 'batch-1', 'session-id': null },
  )
  const [first, type, long, encoded, text, repeated] = reply.body
  assert.deepEqual(
    reply.body.map((answer: { status?: string; status_code?: number }) => answer.status ?? answer.status_code),
    ['accepted', 422, 413, 'accepted', 422, 'accepted', 400],
  )
  assert.deepEqual([first.id, first.session_id, encoded.id], ['1', 'one', '4'])
  assert.deepEqual(type.details.errors[0].loc, ['body', 1, 'type'])
  assert.equal(long.details.error_type, 'MaxInputException')
  assert.deepEqual(text.details.errors[0].loc, ['body', 4])
  assert.equal(repeated.request_id, first.request_id)
  assert.notEqual(encoded.request_id, first.request_id)
  for (const { request_id: id } of [first, encoded]) assert.equal(await outputOf(client, id), 'hi')
})

test('CloudEvents: a batch must be a list of at most 100 events', async (t) => {
  const { client } = await startService(t, { script: { text: 'hi' } })
  const empty = await sendEvent(client, [], batch)
  assert.deepEqual({ status: empty.status, body: empty.body }, { status: 200, body: [] })
  for (const body of [Array.from({ length: 101 }, (_, n) => event(`e${n}`, chat)), event('e', chat)]) {
    const { status, body: reply } = await sendEvent(client, body, batch)
    assert.deepEqual({ status, loc: reply.detail[0].loc }, { status: 422, loc: ['body'] })
  }
  const full = await sendEvent(
    client,
    Array.from({ length: 100 }, (_, n) => event(`f${n}`, chat)),
    batch,
  )
  assert.deepEqual(
    full.body.map(({ id }: { id: string }) => id),
    Array.from({ length: 100 }, (_, n) => `f${n}`),
  )
  const elsewhere = await client.request('POST', '/core/v1/chain', { body: [], headers: batch })
  assert.equal(elsewhere.status, 415)
})

test('CloudEvents: a broken event of a batch does not affect the value count of the next event', async (t) => {
  const { client } = await startService(t, { script: { text: 'hi' } })
  const encoded = (id: string, text: string) => {
    const { data: _, ...envelope } = event(id, {})
    return { ...envelope, data_base64: Buffer.from(text).toString('base64') }
  }
  const statuses = async (...events: object[]) => {
    const { body } = await sendEvent(client, events, batch)
    return body.map((answer: { status?: string; status_code?: number }) => answer.status ?? answer.status_code)
  }
  assert.deepEqual(await statuses(encoded('1', '"'), encoded('2', `[${'{},'.repeat(100_000)}{}]`)), [422, 413])
  const nested = JSON.stringify({ ...chat, x: JSON.parse('['.repeat(20) + ']'.repeat(20)) })
  assert.deepEqual(await statuses(encoded('3', '['.repeat(990)), encoded('4', nested)), [422, 'accepted'])
})

test('CloudEvents: each event of a batch counts as a request of its caller', async (t) => {
  const config = { access: { rate_limits: { user: { requests_per_minute: 3 } } } }
  const { client } = await startService(t, { script: { text: 'hi' }, config })
  const events = Array.from({ length: 5 }, (_, n) => event(`r${n}`, chat))
  const { body } = await sendEvent(client, events, batch)
  assert.deepEqual(
    body.map((answer: { status?: string; status_code?: number }) => answer.status ?? answer.status_code),
    ['accepted', 'accepted', 'accepted', 429, 429],
  )
  const { error_type: errorType, retry_after: retryAfter } = body[3].details
  assert.equal(errorType, 'RateLimited')
  assert.ok(retryAfter >= 1 && retryAfter <= 60, String(retryAfter))
  assert.equal((await sendEvent(client, event('r5', chat))).status, 429)
})
