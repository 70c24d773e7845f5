import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { createFolder, runIn } from '../../src/cli/terminal-fixture.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

async function ask(url: string, sql: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows.length
  } finally {
    await client.end()
  }
}

async function examine(t: Parameters<typeof createFolder>[0], url: string, environment: Record<string, string> = {}): Promise<string> {
  const { out } = await runIn(await createFolder(t), ['doctor'], { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32), ...environment })
  return out
}

test('doctor checks a database before the first start without creating anything in it', async (t) => {
  const url = await server.createDatabase()
  const empty = url.replace(/[^/]+$/, 'empty')
  await ask(url, 'create database empty')
  const out = await examine(t, empty)
  assert.match(out, /^ok {4}store: Postgres \d+\S* as user postgres, \d+\.\d ms away; its tables are created by the first start$/m)
  assert.equal(await ask(empty, "select from pg_class where relnamespace = 'public'::regnamespace"), 0)
})

test('doctor reports version, distance, tables and the effect of row-level security', async (t) => {
  const url = await server.createDatabase()
  const out = await examine(t, url)
  assert.match(out, /^ok {4}store: Postgres .+; its tables are up to date$/m)
  assert.match(
    out,
    /^ok {4}row-level security: applies to the role agent_core_service, which runs the queries, on every table with a tenant$/m,
  )
  // The database may be shared with further machines.
  assert.match(out, /^warn {2}artifacts: files in .+, which processes on other machines cannot read\n {6}.+ARTIFACT_STORE/m)
  await ask(url, 'alter table messages disable row level security')
  assert.match(await examine(t, url), /^warn {2}row-level security: missing on messages\n {6}The next start adds the policies again/m)
  await ask(url, 'delete from kysely_migration')
  assert.match(await examine(t, url), /^ok {4}store: .+; the next start, or "agent-core db migrate", brings it up to date \(0001-schema/m)
  await ask(url, "insert into kysely_migration values ('9999-later', '2999-01-01')")
  assert.match(await examine(t, url), /^fail {2}store: .+a later version of agent-core has migrated it \(9999-later\)\n/m)
})

test('doctor distinguishes users bound by row-level security from users exempt from it', async (t) => {
  const url = await server.createDatabase()
  const as = (name: string) => url.replace('postgres:test', `${name}:test`)
  await ask(url, "create role bound login password 'test'")
  await ask(url, "create role unbound login password 'test' bypassrls")
  await ask(url, 'grant select on kysely_migration to bound, unbound')
  assert.match(await examine(t, as('bound')), /^ok {4}row-level security: applies to user bound, on every table with a tenant$/m)
  assert.match(
    await examine(t, as('unbound')),
    /^fail {2}row-level security: user unbound bypasses the policies and lacks the right to use the role agent_core_service\n/m,
  )
  await assert.rejects(openPostgres(as('unbound')), /bypasses row-level security/)
})

test('doctor reports more connections than the server accepts', async (t) => {
  const out = await examine(t, await server.createDatabase(), { WORKERS: '4', DATABASE_CONNECTIONS: '60' })
  assert.match(out, /^warn {2}store: this service may open 244 connections, but the server accepts 100$/m)
})
