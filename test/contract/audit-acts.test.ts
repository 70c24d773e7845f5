import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { query, type Database } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/open.ts'
import { openEvents } from '../fixtures/audit-events.ts'
import { actorOf, actsConfig, auditedActs, openWorld } from '../fixtures/audited-acts.ts'
import { bothDatabases } from '../fixtures/both-databases.ts'
import { startService } from '../fixtures/service.ts'

const databases = bothDatabases()

async function start(t: TestContext, environment: Record<string, string>) {
  const service = await startService(t, { script: { text: ['Four.'] }, environment, config: actsConfig })
  const database = await openDatabase(service.settings)
  t.after(() => database.close())
  const newEvents = await openEvents(t, service.settings)
  return { service, database, newEvents, world: await openWorld(service, database) }
}

/** Tables with what the acts make and remove. */
const tables = [
  'access_keys',
  'console_sessions',
  'configurations',
  'tool_pins',
  'budget_windows',
  'schedules',
  'sub_agents',
  'sessions',
  'messages',
  'memories',
  'uploads',
  'knowledge_documents',
  'datasets',
  'experiments',
  'experiment_results',
  'examples',
] as const

/** Columns that change beside the acts: the use of a key, and the indexing of a document. */
const changing = { last_used_at: null, state: null, revision: null, metadata: null, passages: null }

async function contentOf({ db, all }: Database): Promise<object> {
  const read = async (table: (typeof tables)[number]) => {
    const { rows } = await query(all.read, db.selectFrom(table).selectAll())
    return rows.map((row) => JSON.stringify({ ...row, ...changing })).toSorted()
  }
  return Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await read(table)])))
}

/** Makes the transaction of each act fail at its event, until the returned function is called. */
async function killTransactions({ all, postgres }: Database): Promise<() => Promise<void>> {
  const run = async (...statements: string[]) => {
    const client = await postgres?.connect()
    for (const statement of statements)
      await (client ? client.query(statement) : all.unit((connection) => connection.execute(statement, [])))
    await client?.end()
  }
  if (postgres) {
    const body = "begin raise exception 'killed'; end"
    await run(
      `create or replace function kill_act() returns trigger language plpgsql as $$ ${body} $$`,
      'create trigger kill_act before insert on audit_events for each row execute function kill_act()',
    )
    return () => run('drop trigger kill_act on audit_events')
  }
  await run("create trigger kill_act before insert on audit_events begin select raise(abort, 'killed'); end")
  return () => run('drop trigger kill_act')
}

/** The file of a single process is written before its version is recorded. */
const isOfFile = (title: string, database: Database) => !database.isShared && /configuration is (changed|restored)/.test(title)

for (const { name, environment } of databases) {
  test(`Acts: a killed transaction leaves neither the act nor its event, on ${name}`, async (t) => {
    const { database, newEvents, world } = await start(t, await environment())
    await newEvents()
    for (const { title, act, status, event } of auditedActs)
      await t.test(title, async () => {
        if (event && !isOfFile(title, database)) {
          const content = await contentOf(database)
          const revive = await killTransactions(database)
          const killed = await act(world)
          await revive()
          assert.ok(killed.status >= 500, killed.text)
          assert.deepEqual(await newEvents(), [])
          assert.deepEqual(await contentOf(database), content)
        }
        const reply = await act(world)
        assert.equal(reply.status, status, reply.text)
        assert.equal((await newEvents()).length, event ? 1 : 0)
      })
  })

  test(`Acts: each leaves one event with who acted, in which version, on ${name}`, async (t) => {
    const { service, newEvents, world } = await start(t, await environment())
    await newEvents()
    for (const { title, act, status, event } of auditedActs)
      await t.test(title, async () => {
        const reply = await act(world)
        assert.equal(reply.status, status, reply.text)
        const common = { tenant: 'default', outcome: 'success', actor: actorOf(world, 'api'), data: null }
        const configVersion = service.service.agent.version
        const recorded = (await newEvents()).map(({ id: _id, ...rest }) => rest)
        assert.deepEqual(recorded, event ? [{ ...common, configVersion, ...event(world) }] : [])
      })
  })
}
