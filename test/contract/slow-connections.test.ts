import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { suite, test, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startService, type TestService } from '../fixtures/service.ts'

/** Seconds after which a client that has begun no request, or not all of its headers, is disconnected. */
const limitSeconds = 30

interface Closed {
  seconds: number
  text: string
}

/** Opens a connection that stays open on the side of the client, and returns when and after which text the service closes it. */
async function open(t: TestContext, { url }: TestService, send: (socket: Socket) => void): Promise<Closed> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => socket.destroy())
  const start = performance.now()
  let text = ''
  socket.on('data', (data) => (text += String(data))).on('error', () => undefined)
  socket.once('connect', () => send(socket))
  await new Promise<void>((resolve) => socket.once('close', () => resolve()).once('end', () => resolve()))
  return { seconds: (performance.now() - start) / 1000, text }
}

function assertRefused({ seconds, text }: Closed): void {
  assert.ok(seconds > limitSeconds / 2 && seconds < limitSeconds, `closed after ${seconds} s`)
  assert.match(text, /^HTTP\/1.1 408 /)
}

// The tests wait for the same seconds together.
suite('Connections', { concurrency: true }, () => {
  test('Connections: a silent client is disconnected after 30 s, and a client with half of its headers', async (t) => {
    const service = await startService(t, { script: {} })
    const drip = (socket: Socket) => {
      socket.write('GET /health HTTP/1.1\r\nhost: x\r\nlong: ')
      const timer = setInterval(() => socket.write('x'), 500)
      socket.once('end', () => clearInterval(timer)).once('close', () => clearInterval(timer))
    }
    const closed = await Promise.all([
      open(t, service, () => undefined),
      open(t, service, (socket) => socket.write('POST /core/v1/chain HTTP/1.1\r\nhost: x\r\n')),
      open(t, service, drip),
      open(t, service, (socket) => socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\nGET /health')),
    ])
    const { text } = closed.pop()!
    assert.match(text, /^HTTP\/1.1 200 .*HTTP\/1.1 408 /s)
    closed.forEach(assertRefused)
  })

  test('Connections: a connection stays open for longer between two requests', async (t) => {
    const { url } = await startService(t, { script: {} })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const sockets = new Set<unknown>()
    for (const seconds of [0, limitSeconds + 5]) {
      await wait(seconds * 1000)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const request = httpRequest(`${url}/health`, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject)
      request.on('socket', (socket) => sockets.add(socket)).end()
      await promise
    }
    assert.equal(sockets.size, 1)
  })

  test('Connections: a slow body of a caller with a key takes longer', async (t) => {
    const { url, key } = await startService(t, { script: { text: 'Hello.' } })
    const headers = { 'x-service-access': (await key()).key, 'content-type': 'application/json' }
    const request = httpRequest(`${url}/core/v1/chain`, { method: 'POST', headers })
    const status = new Promise((resolve, reject) => request.on('response', (r) => resolve(r.resume().statusCode)).on('error', reject))
    request.write('{"messages":[{"role":"user","content":"hi"}]')
    for (let second = 0; second < limitSeconds + 5; second++) {
      await wait(1000)
      request.write(' '.repeat(8192))
    }
    request.end('}')
    assert.equal(await status, 200)
  })
})
