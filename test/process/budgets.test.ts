import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import pg from 'pg'
import { DatabaseSync } from 'node:sqlite'
import { stringify } from 'yaml'
import { until } from '../fixtures/async-client.ts'
import { startModelServer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { scripted } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

// A process takes runs over one at a time once they have been lost several times.
const kills = 2
const chatsPerKill = 50
const prices = { input: 1, output: 3 }
const budgets = [
  { name: 'callers', scope: 'caller', window: 'month', limit: { usd: 100 } },
  { name: 'runs', scope: 'run', limit: { tokens: 100_000 } },
]

type Query = (sql: string) => Promise<any[]>

const databases: Record<string, () => Promise<{ environment: Record<string, string>; open(folder: string): Query }>> = {
  SQLite: async () => ({
    environment: {},
    open: (folder) => async (sql) => {
      const database = new DatabaseSync(path.join(folder, '.agent-core', 'agent-core.db'), { readOnly: true })
      const rows = database.prepare(sql).all()
      database.close()
      return rows
    },
  }),
  Postgres: async () => {
    const url = await server.createDatabase()
    const query: Query = async (sql) => {
      const client = new pg.Client(url)
      await client.connect()
      const { rows } = await client.query(sql)
      await client.end()
      return rows
    }
    return { environment: { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }, open: () => query }
  },
}

/** A model that answers chats of the text `answer`, holds all others until `release`, and counts what its answers cost. */
async function startModel(t: TestContext) {
  let counted = 0
  let held = 0
  let isReleased = false
  const model = await startModelServer(({ body }: ModelServerRequest) => {
    const isHeld = !isReleased && !JSON.stringify(body.messages).includes('answer')
    if (isHeld) held++
    else counted += 902_000
    return { text: 'Four.', usage: { input: 2, output: 300 }, ...(isHeld && { begins: new Promise<void>(() => {}) }) }
  })
  t.after(() => model.close())
  return { model, counted: () => counted, held: () => held, release: () => (isReleased = true) }
}

for (const [name, openDatabase] of Object.entries(databases))
  test(`${kills * chatsPerKill} calls whose process is killed before the answer are paid in full, on ${name}`, async (t) => {
    const { environment, open } = await openDatabase()
    const { model, counted, held, release } = await startModel(t)
    const folder = await makeFolder(t)
    const query = open(folder)
    const primary = { ...scripted(model), prices, max_output_tokens: 300 }
    const limits = { reconnect_grace: 1 }
    await writeFile(path.join(folder, 'agent.yaml'), stringify({ llms: { primary }, budgets, limits }))
    let lost = 0
    for (let kill = 0; kill < kills; kill++) {
      const service = await serve(t, folder, environment)
      assert.equal((await service.client.chat('answer', { 'session-id': `answered-${kill}` })).status, 200)
      const before = held()
      const asked = Array.from({ length: chatsPerKill }, (_, n) =>
        service.client.chat('2 + 2?', { 'request-id': `${kill}-${n}`, 'session-id': `${kill}-${n}` }).catch(() => undefined),
      )
      await until(
        async () => held() - before,
        (count) => count === chatsPerKill,
      )
      const reserved = `select coalesce(sum(amount), 0) as amount, count(*) as count from budget_reservations where budget = 'callers' and request_id like '${kill}-%'`
      const [row] = await query(reserved)
      assert.equal(Number(row.count), chatsPerKill)
      lost += Number(row.amount)
      service.child.kill('SIGKILL')
      await Promise.all([...asked, service.ended])
    }
    release()
    const service = await serve(t, folder, environment)
    const unended = "select request_id from runs where status in ('pending', 'running')"
    for (const sql of [unended, 'select id from budget_reservations'])
      await until(
        () => query(sql),
        ({ length }) => length === 0,
        // A busy machine needs minutes to take so many runs over.
        200_000,
      )
    const [window] = await query("select spent, reserved, estimated from budget_windows where budget = 'callers'")
    const { spent, reserved, estimated } = window
    assert.deepEqual({ spent: Number(spent), reserved: Number(reserved) }, { spent: counted() + Number(estimated), reserved: 0 })
    assert.equal(Number(estimated), lost)
    t.diagnostic(`${model.requests.length} requests, ${counted() / 1e9} USD counted, ${lost / 1e9} USD estimated`)
    service.child.kill('SIGTERM')
    await service.ended
  })
