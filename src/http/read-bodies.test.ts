import assert from 'node:assert/strict'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import type { Principal } from '../access/principal.ts'
import { boundBodies, type BodyRoomOptions } from './body-room.ts'
import { replyWithErrors } from './error-reply.ts'

const kilobyte = 1024
const half = 'x'.repeat(100 * kilobyte)

async function listen(t: TestContext, options: Partial<BodyRoomOptions>) {
  const app = fastify({ bodyLimit: 1024 * kilobyte })
  t.after(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  replyWithErrors(app)
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', async (request) => {
    request.principal = { tenant: 't', owner: request.headers['x-caller'] } as unknown as Principal
  })
  boundBodies(app, { bodyLimit: 1024 * kilobyte, ...options })
  app.post('/', async (request) => ({ length: (request.body as string).length }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo

  /** A body of two halves of 100 KiB, without a length beforehand; the second is sent by `finish`. */
  return (caller: string) => {
    const request = http.request({ port, host: '127.0.0.1', method: 'POST', headers: { 'x-caller': caller, 'content-type': 'text/plain' } })
    const answer = new Promise<IncomingMessage>((resolve, reject) => request.on('response', resolve).on('error', reject))
    const status = answer.then(async (response) => {
      for await (const _ of response);
      return response.statusCode
    })
    // Some are cut off at the end.
    for (const one of [answer, status]) one.catch(() => undefined)
    const sent = new Promise<void>((resolve) => request.write(half, () => resolve()))
    return { sent, status, answer, finish: () => void request.end(half) }
  }
}

test('bodies that take too much memory together are refused, those of one caller at half of it', async (t) => {
  const send = await listen(t, { room: 700 * kilobyte })
  const [first, second, third] = [send('a'), send('a'), send('a')]
  await Promise.all([first.sent, second.sent, third.sent])
  // Of 350 KiB 300 are taken.
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

test('one body that is larger than the room is taken, and one of which nothing comes is given up', async (t) => {
  const send = await listen(t, { room: 150 * kilobyte, stalledMs: 200 })
  const alone = send('a')
  alone.finish()
  assert.equal(await alone.status, 200)
  const stalled = send('a')
  assert.equal(await stalled.status, 408)
  const next = send('a')
  next.finish()
  assert.equal(await next.status, 200)
})
