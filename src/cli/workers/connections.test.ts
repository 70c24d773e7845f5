import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { openConnections } from './connections.ts'
import { createFakeProcesses, type FakeWorker } from './processes-fixture.ts'

async function prepare(t: TestContext, workers: number) {
  const connections = await openConnections({ host: '127.0.0.1', port: 0 })
  const clients: Socket[] = []
  t.after(() => {
    connections.close()
    for (const client of clients) client.destroy()
  })
  const processes = createFakeProcesses()
  const all = Array.from({ length: workers }, () => processes.start({ onMessage() {}, onEnd() {} }) as FakeWorker)
  async function come(): Promise<Socket> {
    const client = connect(connections.port, '127.0.0.1')
    clients.push(client)
    await once(client, 'connect')
    return client
  }
  return { connections, all, come }
}

/** Waits until the listening side has seen the actions of the clients. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

test('connections go to the workers in turn, but not to a worker that has not acknowledged the last connection', async (t) => {
  const { connections, all, come } = await prepare(t, 2)
  const [a, b] = all as [FakeWorker, FakeWorker]
  connections.join(a)
  connections.join(b)
  for (let n = 0; n < 5; n++) await come()
  await until(() => a.connections.length + b.connections.length === 2)
  connections.acknowledge(b)
  await until(() => b.connections.length === 2)
  connections.acknowledge(b)
  connections.acknowledge(a)
  await until(() => a.connections.length + b.connections.length === 5)
  assert.deepEqual([a.connections.length, b.connections.length], [2, 3])
  // This process has closed its handle of the acknowledged connection.
  assert.deepEqual(
    b.connections.map(({ destroyed }) => destroyed),
    [true, true, false],
  )
})

test('the unacknowledged connection of a dying worker goes to another worker, unnoticed by the client', async (t) => {
  const { connections, all, come } = await prepare(t, 2)
  const [a, b] = all as [FakeWorker, FakeWorker]
  connections.join(a)
  const client = await come()
  await until(() => a.connections.length === 1)
  connections.remove(a)
  await come()
  connections.join(b)
  assert.deepEqual(b.connections, a.connections)
  b.connections[0]!.end('hello')
  assert.equal(String((await once(client, 'data'))[0]), 'hello')
  connections.acknowledge(b)
  assert.equal(b.connections.length, 2)
  assert.equal(a.connections.length, 1)
})

test('a leaving worker gets no more connections; new connections wait for another worker', async (t) => {
  const { connections, all, come } = await prepare(t, 2)
  const [a, b] = all as [FakeWorker, FakeWorker]
  connections.join(a)
  await come()
  await until(() => a.connections.length === 1)
  connections.leave(a)
  connections.acknowledge(a)
  await come()
  connections.join(b)
  await until(() => b.connections.length === 1)
  assert.equal(a.connections.length, 1)
})

test('a port in use is an error', async (t) => {
  const { connections } = await prepare(t, 0)
  await assert.rejects(openConnections({ host: '127.0.0.1', port: connections.port }), { code: 'EADDRINUSE' })
})
