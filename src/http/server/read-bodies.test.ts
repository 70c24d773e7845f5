import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import type { Principal } from '../../access/permissions.ts'
import { replyWithErrors } from './error-reply.ts'
import { BodyBudget, BodyChunks, readBodies, type BodyBudgetOptions, type BodyOptions } from './read-bodies.ts'

const kilobyte = 1024
const half = 'x'.repeat(100 * kilobyte)

async function listen(t: TestContext, { stalledMs, ...limits }: Partial<BodyBudgetOptions> & Pick<BodyOptions, 'stalledMs'>) {
  const app = fastify({ bodyLimit: 1024 * kilobyte })
  t.after(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  replyWithErrors(app, { count: () => undefined, countSignIn: () => undefined })
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', async (request) => {
    request.principal = { tenant: 't', owner: request.headers['x-caller'] } as unknown as Principal
  })
  const readText = readBodies(app, {
    budget: new BodyBudget({ bodyLimit: 1024 * kilobyte, ...limits }),
    ...(stalledMs !== undefined && { stalledMs }),
  })
  app.removeContentTypeParser('text/plain')
  app.addContentTypeParser('text/plain', (request, _payload, done) => {
    readText(request, (error, text) => done(error ?? null, text))
  })
  const events = new EventEmitter()
  app.addHook('preParsing', async () => void events.emit('reserved'))
  app.post('/', async (request, reply) => {
    const { body, bodyReservation } = request
    if (body !== 'release' && body !== 'take') return { length: (body as string).length }
    // The answer lasts until its client disconnects.
    if (body === 'release') bodyReservation!.release()
    reply.raw.once('close', () => {
      if (body === 'take') bodyReservation!.take(1024 * kilobyte)
      events.emit('closed')
    })
    reply.raw.writeHead(200).write(' ')
    return reply.hijack()
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo

  /** Sends a chunked body without content-length; `finish` sends the second half. */
  const send = (caller: string, first = half) => {
    const request = http.request({ port, host: '127.0.0.1', method: 'POST', headers: { 'x-caller': caller, 'content-type': 'text/plain' } })
    const answer = new Promise<IncomingMessage>((resolve, reject) => request.on('response', resolve).on('error', reject))
    const status = answer.then(async (response) => {
      for await (const _ of response);
      return response.statusCode
    })
    // Open connections are closed at the end of a test.
    for (const promise of [answer, status]) promise.catch(() => undefined)
    const sent = new Promise<void>((resolve) => request.write(first, () => resolve()))
    return { sent, status, answer, request, finish: () => void request.end(half) }
  }
  return Object.assign(send, { next: (event: 'reserved' | 'closed') => once(events, event) })
}

test('bodies over the budget are refused, and bodies of one caller over half of the budget', async (t) => {
  const send = await listen(t, { budgetBytes: 700 * kilobyte })
  const [first, second, third] = [send('a'), send('a'), send('a')]
  await Promise.all([first.sent, second.sent, third.sent])
  // The caller holds 300 of its 350 KiB.
  const refused = send('a')
  assert.deepEqual([await refused.status, (await refused.answer).headers['retry-after']], [503, '2'])
  const others = [send('b'), send('b'), send('b')]
  await Promise.all(others.map(({ sent }) => sent))
  assert.equal(await Promise.race([send('c').status, send('d').status]), 503)
  third.finish()
  assert.equal(await third.status, 503)
  first.finish()
  assert.equal(await first.status, 200)
  second.finish()
  assert.equal(await second.status, 200)
  const again = send('a')
  again.finish()
  assert.equal(await again.status, 200)
})

test('a single body over its share of the budget is accepted, and a stalled body is refused', async (t) => {
  const send = await listen(t, { budgetBytes: 150 * kilobyte, stalledMs: 200 })
  const alone = send('a')
  alone.finish()
  assert.equal(await alone.status, 200)
  const stalled = send('a')
  assert.equal(await stalled.status, 408)
  const next = send('a')
  next.finish()
  assert.equal(await next.status, 200)
})

test('a small body that stalls or arrives too slowly is refused', async (t) => {
  const send = await listen(t, { stalledMs: 150 })
  const stalled = send('a', '{')
  assert.equal(await stalled.status, 408)
  const trickled = send('a', '{')
  const trickle = setInterval(() => trickled.request.write(' '), 20)
  t.after(() => clearInterval(trickle))
  const answer = await trickled.answer
  assert.deepEqual({ statusCode: answer.statusCode, connection: answer.headers.connection }, { statusCode: 408, connection: 'close' })
})

test('arriving bodies are limited for each caller separately', async (t) => {
  const send = await listen(t, { maxArriving: 2 })
  const open = [send('a', '{'), send('a', '{')]
  await Promise.all(open.map(({ sent }) => sent))
  await new Promise((resolve) => setTimeout(resolve, 50))
  const refused = send('a', '{')
  assert.deepEqual([await refused.status, (await refused.answer).headers['retry-after']], [503, '2'])
  const other = send('b', '{')
  other.finish()
  assert.equal(await other.status, 200)
  for (const { finish } of open) finish()
  assert.deepEqual(await Promise.all(open.map(({ status }) => status)), [200, 200])
  const next = send('a', '{')
  next.finish()
  assert.equal(await next.status, 200)
})

test('an aborted body releases its part of the budget', async (t) => {
  const send = await listen(t, { budgetBytes: 300 * kilobyte })
  const broken = send('a')
  await broken.sent
  await new Promise((resolve) => setTimeout(resolve, 50))
  broken.request.destroy()
  await new Promise((resolve) => setTimeout(resolve, 50))
  const next = send('a', 'x'.repeat(140 * kilobyte))
  next.finish()
  assert.equal(await next.status, 200)
})

test('the second release of a body does not touch later bodies of the caller', async (t) => {
  const send = await listen(t, { maxArriving: 1 })
  const early = send('a', 'release')
  early.request.end()
  await early.answer
  const later = send('a', '{')
  await send.next('reserved')
  early.request.destroy()
  await send.next('closed')
  assert.equal(await send('a', '{').status, 503)
  later.finish()
  assert.equal(await later.status, 200)
})

test('nothing is reserved for a request whose client has gone', async (t) => {
  const send = await listen(t, { budgetBytes: 300 * kilobyte })
  const gone = send('a', 'take')
  gone.request.end()
  await gone.answer
  gone.request.destroy()
  await send.next('closed')
  const next = send('a', 'x'.repeat(140 * kilobyte))
  next.finish()
  assert.equal(await next.status, 200)
})

test('a body with many values reserves the memory of the parsed values', async (t) => {
  const send = await listen(t, { budgetBytes: 1024 * kilobyte })
  const values = send('a', `[${'0,'.repeat(10_000)}`)
  await values.sent
  await new Promise((resolve) => setTimeout(resolve, 50))
  const other = send('a')
  assert.equal(await other.status, 503)
})

test('chunks become the text in their order, also with characters cut in two', () => {
  const text = 'aé€😀'.repeat(400)
  for (const chunkBytes of [1, 3, 1000, 100_000]) {
    const chunks = new BodyChunks()
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += chunkBytes) chunks.add(bytes.subarray(at, at + chunkBytes))
    assert.equal(chunks.toText(), text)
  }
  assert.equal(new BodyChunks().toText(), '')
})
