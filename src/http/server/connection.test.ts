import assert from 'node:assert/strict'
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createDrain, linger } from './connection.ts'

const roomy = { bytes: 1e9, silentMs: 60_000, totalMs: 60_000, connections: 10 }

/** The service's and the client's end of connections. */
async function pairs(t: TestContext, count: number): Promise<{ service: Socket; client: Socket }[]> {
  const accepted: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const made: { service: Socket; client: Socket }[] = []
  for (let n = 0; n < count; n++) {
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
    await new Promise<void>((resolve) => client.once('connect', () => resolve()))
    while (accepted.length <= n) await new Promise((resolve) => setImmediate(resolve))
    made.push({ service: accepted[n]!, client })
  }
  t.after(() => {
    for (const { service, client } of made) for (const socket of [service, client]) socket.destroy()
    server.close()
  })
  return made
}

const closing = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))

test('a client that sends on after the end of its connection is disconnected at the limit of bytes, of silence or of time', async (t) => {
  for (const limits of [
    { ...roomy, bytes: 1_000_000 },
    { ...roomy, silentMs: 500 },
    { ...roomy, totalMs: 500 },
  ]) {
    const [{ service, client }] = (await pairs(t, 1)) as [{ service: Socket; client: Socket }]
    const closed = closing(service)
    linger(service, 'the answer')
    createDrain(limits)(service, () => false)
    const isSilent = limits.silentMs < roomy.silentMs
    const timer = setInterval(() => isSilent || client.write(Buffer.alloc(200_000)), 20)
    const answer = await new Promise((resolve) => client.once('data', (data) => resolve(String(data))))
    await closed
    clearInterval(timer)
    assert.equal(answer, 'the answer')
  }
})

test('more connections than may drain at a time end the oldest', async (t) => {
  const [first, second, third] = await pairs(t, 3)
  const drain = createDrain({ ...roomy, connections: 2 })
  const closed = closing(first!.service)
  for (const pair of [first, second, third]) drain(pair!.service, () => false)
  await closed
  assert.deepEqual([second!.service.destroyed, third!.service.destroyed], [false, false])
})

test('requests that are answered early on one connection are drained one after the other', async (t) => {
  const [{ service }] = (await pairs(t, 1)) as [{ service: Socket; client: Socket }]
  const before = service.listenerCount('close')
  const drain = createDrain({ ...roomy, connections: 1 })
  for (let n = 0; n < 20; n++) drain(service, () => false)
  assert.deepEqual([service.destroyed, service.listenerCount('close') - before], [false, 1])
})
