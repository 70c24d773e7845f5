import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import pg from 'pg'
import { event, gate, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver, verify } from '../fixtures/callback-receiver.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const message = (content: string) => ({ messages: [{ role: 'user', content }] })
const lastOf = ({ body }: ModelServerRequest) => body.messages.at(-1).content as string

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** Two replicas as separate processes. */
async function serveTwo(t: TestContext, script: (request: ModelServerRequest) => ModelAnswer, config: object, own = {}) {
  const model = await startModelServer(script)
  t.after(() => model.close())
  const llms = { primary: { provider: 'openai-compatible', model: 'scripted', base_url: model.url } }
  const database = await server.createDatabase()
  const environment = { DATABASE_URL: database, SECRET_KEY: 'x'.repeat(32), CALLBACK_SECRET: secret, ...own }
  const start = async () => {
    const folder = await makeFolder(t)
    await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms, ...config }))
    return serve(t, folder, environment)
  }
  return { model, database, first: await start(), second: await start() }
}

/** Number of runs by process. */
async function holders(database: string): Promise<number[]> {
  const client = new pg.Client(database)
  await client.connect()
  await client.query("set agent_core.tenant = E'\\x01'")
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::int as count from runs where holder <> '' and status <> 'pending' group by holder",
  )
  await client.end()
  return rows.map(({ count }) => count)
}

test('both replicas work on runs accepted by one; after kill -9 of one, each run ends once and each callback is delivered', async (t) => {
  const receiver = await startReceiver(t)
  const events = 120
  const config = { limits: { async_concurrency: 8 } }
  const { first, second, database } = await serveTwo(t, (request) => ({ text: `answer to ${lastOf(request)}`, delayMs: 100 }), config, {
    OUTBOUND_ALLOW: receiver.host,
    CALLBACK_RETRY_SECONDS: '1,1,1,1',
  })
  const ids = Array.from({ length: events }, (_, n) => `e${n}`)
  const send = (id: string, client: Client) =>
    sendEvent(client, event(id, { ...message(id), callback_url: receiver.url }), { 'request-id': id, 'session-id': `of-${id}` })
  const accepted = await Promise.all(ids.map((id) => send(id, first.client)))
  assert.ok(accepted.every(({ status }) => status === 200))
  await receiver.reaches(events / 4)
  const shares = await holders(database)
  assert.equal(shares.length, 2, `of ${shares.join()}`)
  first.child.kill('SIGKILL')
  const killedAt = performance.now()
  const told = () => new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
  await until(
    async () => told().size,
    (size) => size === events,
    120_000,
  )
  t.diagnostic(`all told ${Math.round(performance.now() - killedAt)} ms after the kill`)
  for (const received of receiver.received) {
    const { type, data } = verify(secret, received) as { type: string; data: { request_id: string; body: { output: string } } }
    assert.deepEqual(
      { type, output: data.body.output },
      { type: 'ai.service.agent.chain.completed', output: `answer to ${data.request_id}` },
    )
  }
  for (const id of ids) {
    const { body } = await until(
      () => second.client.run(id),
      (run) => run.body.callback.status === 'delivered',
    )
    assert.equal(body.status, 'success')
  }
  assert.equal((await second.client.session('of-e0')).body.messages.length, 2)
})

/** Two replicas in the test process. The model holds all requests until the gate opens. */
async function startTwo(t: TestContext) {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const { script, open, entered } = gate((request) => ({ text: `answer to ${lastOf(request)}` }))
  const options = { script, environment, config: { limits: { async_concurrency: 1 } } }
  // The second replica shares the configuration, and thus the model, of the first.
  const here = await startService(t, options)
  const there = await startService(t, options)
  const send = (id: string, { client } = here, session = id) =>
    sendEvent(client, event(id, message(id)), { 'request-id': id, 'session-id': session })
  const ended = (id: string) =>
    until(
      async () => (await there.client.run(id)).body,
      (run) => run.ended_at !== null,
    )
  return { here, there, send, ended, open, entered }
}

test('SIGTERM hands runs that do not end in time to another replica at once', async (t) => {
  const { here, there, send, ended, open, entered } = await startTwo(t)
  await send('a')
  await send('b')
  await entered
  await until(
    async () => here.model.requests.length,
    (count) => count === 2,
  )
  await here.close(0)
  open()
  for (const id of ['a', 'b']) assert.equal((await ended(id)).outcome.output, `answer to ${id}`)
  assert.deepEqual(
    there.log.filter((line) => line.includes('"level":50')),
    [],
  )
})

test('a replica at its limit leaves runs to another; further runs stay unclaimed, and are followed and cancelled anywhere', async (t) => {
  const { here, there, send, ended, open } = await startTwo(t)
  await send('a')
  await send('b')
  await until(
    async () => here.model.requests.length,
    (count) => count === 2,
  )
  await send('c')
  await send('behind', there, 'a')
  // The answers start with the first event.
  const followers = [here, there].map(({ client }) => client.follow('behind'))
  await send('unwanted', here, 'b')
  const cancelled = await there.client.request('DELETE', '/core/v1/runs/unwanted')
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  await send('deleted', there)
  assert.equal((await here.client.request('DELETE', '/core/v1/sessions/deleted')).status, 200)
  assert.equal((await there.client.run('deleted')).status, 410)
  for (const id of ['c', 'behind']) assert.equal((await here.client.run(id)).body.status, 'pending')
  open()
  for (const id of ['a', 'b', 'c', 'behind']) assert.equal((await ended(id)).outcome.output, `answer to ${id}`)
  assert.equal(here.model.requests.filter((request) => lastOf(request) === 'deleted').length, 0)
  for (const follower of followers) {
    const { status, body, rest } = await follower
    assert.equal(status, 200, JSON.stringify(body))
    const chunks = await rest()
    assert.equal(chunks.at(-1)?.chunk.finish_reason, 'stop', JSON.stringify(chunks))
  }
})

test('jobs left in the table of an older version are run', async (t) => {
  const url = await server.createDatabase()
  const client = new pg.Client(url)
  await client.connect()
  t.after(() => client.end())
  const data = JSON.stringify({ owner: 'agent-core ann', requestId: 'unknown' })
  const add = (id: string) =>
    client.query(`insert into jobs (id, kind, tenant, data, due_at, attempts, wanted_at) values ($1, 'feedback', 't', $2, 5, 1, 5)`, [
      id,
      data,
    ])
  await client.query("set agent_core.tenant = E'\\x01'")
  await add('before')
  const { settings, service } = await startService(t, { environment: { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) } })
  assert.ok(service.adminKeyFile && settings)
  await until(
    async () =>
      (await client.query("select from jobs union all select from agent_core_jobs.job where name = 'feedback' and state <= 'active'"))
        .rowCount,
    (count) => count === 0,
  )
})
