import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

// contract.md, "Streaming": nothing accepted is lost. "Errors": overload is 503 with `retry-after`.

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const script = ({ body }: ModelServerRequest) => ({ text: `you said ${body.messages.at(-1).content}`.split(/(?= )/), pauseMs: 30 })

/** Two services on a shared database, and the database URL. */
async function startTwo(t: TestContext) {
  const url = await server.createDatabase()
  const environment = { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }
  const start = async () => startService(t, { script, environment })
  const services = [await start(), await start()]
  return { url, services, clients: services.map(({ client }) => client) }
}

interface Talk {
  /** Answers with a status other than 200. */
  refused: Reply[]
  texts: string[]
}

/** Sends chats sequentially in a session. Refused chats are retried with the same request id, as clients do. */
async function talk(client: Client, session: string, isOver: () => boolean): Promise<Talk> {
  const told: Talk = { refused: [], texts: [] }
  for (let n = 1; !isOver() || n <= 3; n++) {
    const ids = { 'session-id': session, 'request-id': `${session}-${n}` }
    const ask = async () => {
      const reply = await client.chat(`${session} ${n}`, ids)
      if (reply.status !== 200) told.refused.push(reply)
      return reply
    }
    const reply = await until(ask, ({ status }) => status === 200)
    assert.equal(reply.body.body.output, `you said ${session} ${n}`)
    told.texts.push(`${session} ${n}`, `you said ${session} ${n}`)
  }
  return told
}

/** Chats with both services while the database is disturbed. No chat is lost, and no client gets an internal error. */
async function talkWhile(t: TestContext, happens: (url: string) => Promise<void>): Promise<void> {
  const { url, clients } = await startTwo(t)
  let isOver = false
  const talks = Array.from({ length: 8 }, (_, n) => talk(clients[n % 2]!, `s${n}`, () => isOver))
  const happening = happens(url).finally(() => (isOver = true))
  const told = await Promise.all(talks)
  await happening
  for (const [n, { refused, texts }] of told.entries()) {
    for (const { status, headers, text } of refused) {
      assert.equal(status, 503, text)
      assert.ok(headers.has('retry-after') || text.includes('ProcessLost'), text)
    }
    for (const client of clients) {
      const { body } = await client.session(`s${n}`)
      assert.deepEqual(
        body.messages.map((message: { content: string }) => message.content),
        texts,
      )
    }
  }
}

test('chats continue when the database server restarts', async (t) => {
  await talkWhile(t, async () => {
    await sleep(300)
    await server.restart(1500)
    await sleep(500)
  })
})

test('chats continue while connections to the database are cut repeatedly', async (t) => {
  await talkWhile(t, async (url) => {
    const admin = new pg.Client(url)
    await admin.connect()
    const cut =
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and random() < 0.5'
    for (let n = 0; n < 20; n++) {
      await sleep(100)
      await admin.query(cut)
    }
    await admin.end()
  })
})

test('readiness reports that the database is away, and that it is back', async (t) => {
  const { services } = await startTwo(t)
  const [{ client }] = services as [(typeof services)[0]]
  const ready = async () => (await client.request('GET', '/health/ready')).status
  assert.equal(await ready(), 200)
  const restarted = server.restart(1000)
  await until(ready, (status) => status === 503)
  await restarted
  await until(ready, (status) => status === 200)
})

test('a run whose database restarts in between ends normally, without any effect on its reader', async (t) => {
  const gate = gatedTool('wait', { effect: 'write' })
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const script = ({ body }: ModelServerRequest) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : callOf('wait'))
  const { client } = await startService(t, { script, tools: [gate.tool], environment })
  const stream = await client.stream('go', { 'session-id': 's', 'request-id': 'r' })
  await gate.entered
  const restarted = server.restart(1000)
  await sleep(500)
  gate.open()
  await restarted
  const events = await stream.rest()
  assert.equal(events.at(-1)?.chunk.finish_reason, 'stop')
  assert.equal(
    events.some(({ chunk }) => chunk.error !== undefined),
    false,
  )
  assert.deepEqual({ inputCount: gate.inputs.length, status: (await client.run('r')).body.status }, { inputCount: 1, status: 'success' })
  assert.equal((await client.chat('again', { 'session-id': 's' })).status, 200)
})
