import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { closedAddress, startReceiver, verify } from '../fixtures/callback-receiver.ts'
import { event, gate, sendEvent, until } from '../fixtures/async-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const second = `whsec_${Buffer.alloc(24, 6).toString('base64')}`
const message = (content: string) => ({ messages: [{ role: 'user', content }] })

test('Async: the event is acknowledged at once; the signed answer is retried until delivered and stays readable', async (t) => {
  const receiver = await startReceiver(t, (_, index) => (index < 2 ? 503 : 200))
  const { client } = await startService(t, {
    script: { text: 'It is 3.', usage: { input: 2, output: 3 } },
    environment: {
      ...{ OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: '0.05,0.05', CALLBACK_SECRET: `${secret} ${second}` },
      PUBLIC_URL: 'https://agents.example/',
    },
  })
  const { status, body, headers } = await sendEvent(client, event('e1', { ...message('1 + 2?'), callback_url: receiver.url }))
  assert.equal(status, 200)
  const { request_id, session_id } = body
  assert.deepEqual(body, { status: 'accepted', id: 'e1', request_id, session_id })
  assert.deepEqual(
    { 'request-id': headers.get('request-id'), 'session-id': headers.get('session-id') },
    { 'request-id': request_id, 'session-id': session_id },
  )

  await receiver.reaches(3)
  const run = await until(
    async () => (await client.run(request_id)).body,
    ({ callback }) => callback.status === 'delivered',
  )
  const answer = {
    input: '1 + 2?',
    output: 'It is 3.',
    intermediate_steps: [],
    usage: [{ costAttribute: 'scripted', usage: 5, unit: 'tokens', details: { input: 2, output: 3, cached_input: 0, reasoning: 0 } }],
    generated_artifacts: [],
  }
  for (const received of receiver.received) {
    assert.equal(received.headers['content-type'], 'application/cloudevents+json')
    assert.equal(received.headers['webhook-id'], request_id)
    assert.equal(received.text, receiver.received[0]!.text)
    for (const one of [secret, second]) {
      assert.deepEqual(verify(one, received), {
        specversion: '1.0',
        type: 'ai.service.agent.chain.completed',
        source: 'https://agents.example',
        id: request_id,
        subject: session_id,
        time: run.ended_at,
        data: { event_id: 'e1', request_id, session_id, body: answer },
      })
    }
    assert.throws(() => verify(`whsec_${Buffer.alloc(32, 7).toString('base64')}`, received))
  }
  assert.deepEqual(
    { status: run.status, outcome: run.outcome, url: run.callback.url },
    { status: 'success', outcome: answer, url: receiver.url },
  )
  assert.deepEqual(
    run.callback.attempts.map((attempt: { status: number }) => attempt.status),
    [503, 503, 200],
  )
  const { messages } = (await client.session(session_id)).body
  assert.deepEqual(
    messages.map(({ content }: { content: string }) => content),
    ['1 + 2?', 'It is 3.'],
  )
})

test('Async: an invalid event is refused with the location of its fault, and nothing is stored', async (t) => {
  const { client, model } = await startService(t, { script: { text: 'ok' } })
  const right = event('e', message('hi'))
  const { id: _id, ...withoutId } = right
  const { source: _source, ...withoutSource } = right
  const { data: _data, ...withoutData } = right
  const wrong: [object, (string | number)[]][] = [
    [{ ...right, specversion: '0.3' }, ['body', 'specversion']],
    [{ ...right, type: 'ai.service.agent.other' }, ['body', 'type']],
    [withoutId, ['body', 'id']],
    [{ ...right, id: '' }, ['body', 'id']],
    [{ ...right, id: 7 }, ['body', 'id']],
    [withoutSource, ['body', 'source']],
    [{ ...right, source: '' }, ['body', 'source']],
    [withoutData, ['body', 'data']],
    [event('e', { messages: [] }), ['body', 'data', 'messages']],
    [event('e', { messages: [{ role: 'assistant', content: 'x' }] }), ['body', 'data', 'messages', 0, 'role']],
    [event('e', { ...message('hi'), session_id: 'no id' }), ['body', 'data', 'session_id']],
    [
      event('e', { ...message('hi'), data_filter_hints: [{ tool_name: 'x', filter_key: 'k', filter_type: 'equals', filter_value: 'v' }] }),
      ['body', 'data', 'data_filter_hints', 0, 'tool_name'],
    ],
  ]
  for (const [body, loc] of wrong) {
    const reply = await sendEvent(client, body)
    assert.equal(reply.status, 422, loc.join('.'))
    assert.deepEqual(reply.body.detail[0].loc, loc)
  }
  for (const url of ['', 'ftp://example.com/', '/hook', 'http://', 'javascript:alert(1)', 'http://example.com/?\0']) {
    const reply = await sendEvent(client, event('e', { ...message('hi'), callback_url: url }))
    assert.deepEqual({ status: reply.status, loc: reply.body.detail[0].loc }, { status: 422, loc: ['body', 'data', 'callback_url'] }, url)
  }
  const tooLong = await sendEvent(client, event('e', message('x'.repeat(200_001))))
  assert.deepEqual(
    { status: tooLong.status, error_type: tooLong.body.details.error_type },
    { status: 413, error_type: 'MaxInputException' },
  )
  const noFile = await sendEvent(client, event('e', { ...message('hi'), context_files: ['nothing.txt'] }))
  assert.equal(noFile.status, 400)
  const unfit = await client.request('POST', '/core/v1/chain_async', { body: right, headers: { 'content-type': 'text/plain' } })
  assert.equal(unfit.status, 415)
  assert.equal(model.requests.length, 0)
  assert.equal((await sendEvent(client, right)).status, 200)
})

test('Async: chain_async accepts the content type of CloudEvents, chain does not', async (t) => {
  const { client } = await startService(t, { script: { text: 'ok' } })
  const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' }
  assert.equal((await client.request('POST', '/core/v1/chain_async', { body: event('e', message('hi')), headers })).status, 200)
  const chain = await client.request('POST', '/core/v1/chain', { body: message('hi'), headers })
  assert.deepEqual({ status: chain.status, error_type: chain.body.details.error_type }, { status: 415, error_type: 'UnsupportedMediaType' })
})

test('Async: the header names the session, else the data; stix headers and null fields work as in chain', async (t) => {
  const seen: Record<string, string>[] = []
  const look = fakeTool('look', async (_input, { headers }) => (seen.push(headers), {}))
  const { client } = await startService(t, {
    tools: [look],
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'ok' } : callOf('look', {})),
  })
  const nothing = { images: null, context_files: null, data_filter_hints: null, auto_memory_retain: null, callback_url: null, stream: true }
  const first = await sendEvent(client, event('1', { ...message('hi'), ...nothing, session_id: 'of-data' }), { 'stix-case': '7' })
  const other = await sendEvent(client, event('2', { ...message('hi'), session_id: 'of-data' }), {
    'session-id': 'of-header',
    'request-id': 'r2',
  })
  assert.equal(first.body.session_id, 'of-data')
  assert.deepEqual({ session_id: other.body.session_id, request_id: other.body.request_id }, { session_id: 'of-header', request_id: 'r2' })
  await until(
    async () => (await client.run(first.body.request_id)).body,
    ({ status }) => status === 'success',
  )
  assert.deepEqual(seen[0], { 'stix-case': '7' })
})

test('Async: an internal callback_url in any form is refused before anything is stored', async (t) => {
  const receiver = await startReceiver(t)
  const { client, model } = await startService(t, { script: { text: 'ok' }, environment: { OUTBOUND_ALLOW: 'example.org' } })
  const port = new URL(receiver.url).port
  const hosts = ['127.0.0.1', 'localhost', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254', '10.1.2.3', '0.0.0.0']
  for (const host of [...hosts, 'nowhere.invalid']) {
    const reply = await sendEvent(client, event(host, { ...message('hi'), callback_url: `http://${host}:${port}/` }))
    assert.deepEqual(
      { status: reply.status, loc: reply.body.detail?.[0].loc },
      { status: 422, loc: ['body', 'data', 'callback_url'] },
      host,
    )
    assert.doesNotMatch(reply.text, /127\.0|getaddrinfo/)
  }
  assert.deepEqual({ receivedCount: receiver.received.length, requestCount: model.requests.length }, { receivedCount: 0, requestCount: 0 })
})

test('Async: a repeated event gets the first ids and runs nothing, whatever its data, also after a restart', async (t) => {
  const receiver = await startReceiver(t)
  const service = await startService(t, { script: { text: 'ok' }, environment: { OUTBOUND_ALLOW: receiver.host } })
  const data = { ...message('hi'), callback_url: receiver.url }
  const first = await sendEvent(service.client, event('same', data), { 'request-id': 'r1', 'session-id': 's1' })
  await receiver.reaches(1)
  const others: [object, Record<string, string>?][] = [
    [event('same', data)],
    [event('same', data), { 'request-id': 'r1' }],
    [event('same', data), { 'request-id': 'r2', 'session-id': 's2' }],
    [event('same', { ...message('something else'), callback_url: 'http://10.0.0.1/' })],
    [event('same', message('x'.repeat(300_000)))],
  ]
  const again = async () => {
    for (const [body, headers] of others) {
      const reply = await sendEvent(service.client, body, headers)
      assert.deepEqual({ status: reply.status, body: reply.body }, { status: 200, body: first.body })
      assert.equal(reply.headers.get('session-id'), 's1')
    }
  }
  await again()
  await service.restart()
  await again()
  assert.deepEqual(
    { requestCount: service.model.requests.length, receivedCount: receiver.received.length },
    { requestCount: 1, receivedCount: 1 },
  )

  const otherSource = await sendEvent(service.client, { ...event('same', message('hi')), source: 'urn:other' })
  assert.notEqual(otherSource.body.request_id, 'r1')
  const bob = await service.as({ sub: 'bob' })
  assert.notEqual((await sendEvent(bob, event('same', message('hi')))).body.request_id, 'r1')
})

test('Async: of concurrent copies of an event one runs, and all get its ids', async (t) => {
  const service = await startService(t, { script: { text: 'ok' } })
  const sent = Array.from({ length: 20 }, (_, n) =>
    sendEvent(service.client, event('same', message(`hi ${n}`)), n % 2 ? { 'request-id': `r${n}` } : {}),
  )
  const replies = await Promise.all(sent)
  assert.equal(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size, 1)
  const { request_id } = replies[0]!.body
  await until(
    async () => (await service.client.run(request_id)).body,
    ({ status }) => status === 'success',
  )
  assert.equal(service.model.requests.length, 1)
})

test('Async: a request id of another event or operation is refused', async (t) => {
  const { client } = await startService(t, { script: { text: 'ok' } })
  const id = { 'request-id': 'taken' }
  assert.equal((await sendEvent(client, event('1', message('hi')), id)).status, 200)
  for (const reply of [await sendEvent(client, event('2', message('hi')), id), await client.chat('hi', id)]) {
    assert.deepEqual({ status: reply.status, error_type: reply.body.details.error_type }, { status: 409, error_type: 'RequestIdReused' })
  }
  assert.equal((await client.chat('hi', { 'request-id': 'chain' })).status, 200)
  assert.equal((await sendEvent(client, event('3', message('hi')), { 'request-id': 'chain' })).status, 409)
  // Refused events are not stored.
  assert.equal((await sendEvent(client, event('3', message('hi')))).status, 200)
})

test('Async: a session runs its requests in order of arrival and stores a message when its turn comes', async (t) => {
  const { script, open } = gate(({ body }) => ({ text: `answer to ${body.messages.at(-1).content}` }))
  const { client } = await startService(t, { script, config: { limits: { max_session_wait: 30 } } })
  const inSession = { 'session-id': 's' }
  const first = await sendEvent(client, event('1', message('one')), inSession)
  const second = await sendEvent(client, event('2', message('two')), inSession)
  const third = client.chat('three', inSession)
  await until(
    async () => (await client.run(first.body.request_id)).body,
    ({ status }) => status === 'running',
  )
  const { status, started_at } = (await client.run(second.body.request_id)).body
  assert.deepEqual({ status, started_at }, { status: 'pending', started_at: null })
  assert.equal((await client.session('s')).body.messages.length, 1)
  open()
  assert.equal((await third).body.body.output, 'answer to three')
  const { messages } = (await client.session('s')).body
  assert.deepEqual(
    messages.map(({ content }: { content: string }) => content),
    ['one', 'answer to one', 'two', 'answer to two', 'three', 'answer to three'],
  )
})

test('Async: at most one run per worker; queued runs use no execution time, and can be read and followed', async (t) => {
  let [running, most] = [0, 0]
  const work = fakeTool('work', async () => {
    most = Math.max(most, ++running)
    await sleep(500)
    running--
    return {}
  })
  const { client } = await startService(t, {
    tools: [work],
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : callOf('work', {})),
    // The fifth pair waits longer than the execution time limit.
    config: { limits: { async_concurrency: 2, max_session_wait: 0 }, max_execution_time: 2 },
  })
  const sent = await Promise.all(Array.from({ length: 10 }, (_, n) => sendEvent(client, event(`e${n}`, message(`${n}`)))))
  const ids = sent.map(({ body }) => body.request_id as string)
  const states = await Promise.all(ids.map(async (id) => (await client.run(id)).body.status))
  assert.ok(states.includes('pending'), states.join())
  const last = ids[states.lastIndexOf('pending')]!
  const events = await (await client.follow(last)).rest()
  assert.equal(events.at(-1)?.chunk.finish_reason, 'stop')
  for (const id of ids)
    await until(
      async () => (await client.run(id)).body,
      ({ status }) => status === 'success',
    )
  assert.equal(most, 2)
  // A synchronous chat needs no worker.
  assert.equal((await client.chat('hi')).status, 200)
})

test('Async: a burst of one caller delays no other caller and runs in order of arrival', async (t) => {
  const asked: string[] = []
  const { script, open, entered } = gate(({ body }) => (asked.push(body.messages.at(-1).content), { text: 'ok' }))
  const service = await startService(t, { script, config: { limits: { async_concurrency: 1 } } })
  const bob = await service.as({ sub: 'bob' })
  await sendEvent(service.client, event('0', message('ann 0')))
  await entered
  for (let n = 1; n < 10; n++) await sendEvent(service.client, event(`${n}`, message(`ann ${n}`)))
  for (const n of [0, 1]) await sendEvent(bob, event(`${n}`, message(`bob ${n}`)))
  open()
  await until(
    async () => asked.length,
    (length) => length === 12,
  )
  assert.deepEqual(
    asked.filter((text) => text.startsWith('ann')),
    Array.from({ length: 10 }, (_, n) => `ann ${n}`),
  )
  assert.ok(asked.indexOf('bob 0') <= 3 && asked.indexOf('bob 1') <= 5, asked.join())
})

test('Async: a run cancelled while queued or running sends its callback, and the session continues', async (t) => {
  const receiver = await startReceiver(t)
  const { script, open, entered } = gate(() => ({ text: 'ok' }))
  const service = await startService(t, {
    script,
    config: { limits: { async_concurrency: 1 } },
    environment: { OUTBOUND_ALLOW: receiver.host, CALLBACK_SECRET: secret },
  })
  const { client } = service
  const send = (id: string, session: string) =>
    sendEvent(client, event(id, { ...message(id), callback_url: receiver.url }), { 'session-id': session, 'request-id': id })
  await send('running', 'a')
  await entered
  await send('waits-for-worker', 'b')
  await send('waits-for-session', 'a')
  for (const [at, id] of ['waits-for-worker', 'waits-for-session', 'running'].entries()) {
    const { status, body } = await client.request('DELETE', `/core/v1/runs/${id}`)
    assert.deepEqual([status, body.status], [200, 'cancelled'], id)
    const received = await receiver.reaches(at + 1)
    const { type, data } = verify(secret, received) as { type: string; data: { request_id: string; error: object } }
    assert.deepEqual({ type, request_id: data.request_id }, { type: 'ai.service.agent.chain.failed', request_id: id })
    assert.deepEqual(data.error, { body: 'The run was cancelled.', status_code: 409, details: { error_type: 'Cancelled' } })
  }
  assert.equal((await client.session('b')).status === 404 || (await client.session('b')).body.messages.length === 0, true)
  open()
  assert.equal((await client.chat('and now?', { 'session-id': 'a' })).status, 200)
  assert.equal((await client.chat('and now?', { 'session-id': 'b' })).status, 200)
  const { messages } = (await client.session('b')).body
  assert.deepEqual(
    messages.map(({ content }: { content: string }) => content),
    ['and now?', 'ok'],
  )
})

test('Async: a failed run is final: its callback is sent, and the same event runs nothing', async (t) => {
  const receiver = await startReceiver(t)
  const { client, model } = await startService(t, { script: { status: 401, body: 'no' }, environment: { OUTBOUND_ALLOW: receiver.host } })
  const one = event('e', { ...message('hi'), callback_url: receiver.url })
  const first = await sendEvent(client, one)
  const { body } = await receiver.reaches(1)
  assert.equal(body.type, 'ai.service.agent.chain.failed')
  assert.deepEqual(
    { status_code: body.data.error.status_code, error_type: body.data.error.details.error_type, body: body.data.body },
    { status_code: 502, error_type: 'ModelUnavailable', body: undefined },
  )
  const calls = model.requests.length
  assert.deepEqual((await sendEvent(client, one)).body, first.body)
  const { status, error } = (await client.run(first.body.request_id)).body
  assert.deepEqual({ status, error }, { status: 'error', error: body.data.error })
  await sleep(50)
  assert.deepEqual(
    { requestCount: model.requests.length, receivedCount: receiver.received.length },
    { requestCount: calls, receivedCount: 1 },
  )
})

test('Async: a run that times out sends the best answer so far', async (t) => {
  const receiver = await startReceiver(t)
  const { client } = await startService(t, {
    script: { text: ['so ', 'far'], silentAfter: 2 },
    config: { max_execution_time: 0.3 },
    environment: { OUTBOUND_ALLOW: receiver.host },
  })
  const { body } = await sendEvent(client, event('e', { ...message('hi'), callback_url: receiver.url }))
  const received = await receiver.reaches(1)
  assert.equal(received.body.type, 'ai.service.agent.chain.completed')
  assert.match(received.body.data.body.output, /^so /)
  assert.equal((await client.run(body.request_id)).body.status, 'timeout')
})

test('Callback: redirects are not followed, 410 ends it, the last attempt fails it; it can be resent until delivered', async (t) => {
  let status = 302
  const inside = await startReceiver(t)
  const receiver = await startReceiver(t, (_received, _index, response) => {
    response.setHeader('location', inside.url)
    return status
  })
  const { client } = await startService(t, {
    script: { text: 'ok' },
    environment: { OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: '0.01,0.01' },
  })
  const { request_id } = (await sendEvent(client, event('e', { ...message('hi'), callback_url: receiver.url }))).body
  const callback = async () => (await client.run(request_id)).body.callback
  const again = () => client.request('POST', `/core/v1/runs/${request_id}/callback`)
  const failed = await until(callback, (one) => one.status !== 'pending')
  assert.equal(failed.status, 'failed')
  assert.deepEqual(
    failed.attempts.map(({ status, error }: { status: number; error: string }) => [status, error]),
    Array(3).fill([302, 'Redirects are not followed.']),
  )
  status = 410
  assert.equal((await again()).body.callback.status, 'gone')
  status = 500
  const { body } = await again()
  assert.ok(['pending', 'failed'].includes(body.callback.status))
  assert.equal((await until(callback, (one) => one.status === 'failed')).attempts.length, 7)
  status = 200
  const sent = await again()
  assert.deepEqual([sent.status, sent.body.request_id, sent.body.callback.status], [200, request_id, 'delivered'])
  const refused = await again()
  assert.deepEqual(
    { status: refused.status, error_type: refused.body.details.error_type },
    { status: 409, error_type: 'CallbackDelivered' },
  )
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1)
  assert.deepEqual([receiver.received.length, inside.received.length], [8, 0])
})

test('Callback: only the caller resends it, for an ended run with a callback', async (t) => {
  const receiver = await startReceiver(t)
  const { script, open } = gate(() => ({ text: 'ok' }))
  const service = await startService(t, { script, environment: { OUTBOUND_ALLOW: receiver.host } })
  const again = async (id: string, client = service.client) => {
    const { status, body } = await client.request('POST', `/core/v1/runs/${id}/callback`)
    return [status, body.details?.error_type]
  }
  await sendEvent(service.client, event('e', { ...message('hi'), callback_url: receiver.url }), { 'request-id': 'mine' })
  await sendEvent(service.client, event('f', message('hi')), { 'request-id': 'silent' })
  assert.deepEqual(await again('mine'), [409, 'RunNotEnded'])
  open()
  await receiver.reaches(1)
  assert.deepEqual(await again('silent'), [404, 'NotFound'])
  assert.deepEqual(await again('unknown'), [404, 'NotFound'])
  assert.deepEqual(await again('mine', await service.as({ sub: 'bob' })), [404, 'NotFound'])
  assert.deepEqual(await again('mine', await service.as({ tenant: 'acme' })), [404, 'NotFound'])
  assert.deepEqual(await again('mine', await service.as({ roles: ['viewer'] })), [403, 'Forbidden'])
  await service.client.chat('hi', { 'request-id': 'chain' })
  assert.deepEqual(await again('chain'), [404, 'NotFound'])
})

test('Callback: an unreachable receiver is an attempt without a status; credentials are sent but never shown or logged', async (t) => {
  const receiver = await startReceiver(t)
  const service = await startService(t, {
    script: { text: 'ok' },
    environment: { OUTBOUND_ALLOW: '127.0.0.1', CALLBACK_RETRY_SECONDS: '60' },
  })
  const { client, log } = service
  const send = (id: string, url: string) => sendEvent(client, event(id, { ...message('hi'), callback_url: url }), { 'request-id': id })
  const closed = await closedAddress()
  await send('closed', closed.replace('//', '//ann:hidden-word@'))
  const { callback } = await until(
    async () => (await client.run('closed')).body,
    (run) => run.callback.attempts.length > 0,
  )
  assert.deepEqual({ url: callback.url, status: callback.status }, { url: closed, status: 'pending' })
  assert.deepEqual(
    { status: callback.attempts[0].status, error: callback.attempts[0].error },
    { status: null, error: 'The connection failed (ECONNREFUSED).' },
  )
  await send('open', receiver.url.replace('//', '//ann:hidden-word@'))
  const { headers } = await receiver.reaches(1)
  assert.equal(headers.authorization, `Basic ${Buffer.from('ann:hidden-word').toString('base64')}`)
  assert.doesNotMatch(log.join(''), /hidden-word/)
})

test('Callback: each tenant has its own secret, created at the first start', async (t) => {
  const receiver = await startReceiver(t)
  const service = await startService(t, { script: { text: 'ok' }, environment: { OUTBOUND_ALLOW: receiver.host } })
  const acme = await service.as({ tenant: 'acme' })
  await sendEvent(service.client, event('e', { ...message('hi'), callback_url: receiver.url }))
  const own = await receiver.reaches(1)
  const kept = (await readFile(path.join(service.settings.dataDir, 'callback-secret'), 'utf8')).trim()
  verify(kept, own)
  await sendEvent(acme, event('e', { ...message('hi'), callback_url: receiver.url }))
  const theirs = await receiver.reaches(2)
  assert.throws(() => verify(kept, theirs))
  assert.doesNotMatch(service.log.join(''), /whsec_/)
})
