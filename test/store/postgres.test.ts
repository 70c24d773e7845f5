import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Database } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { endOf, storeOf } from './fixture.ts'
import { registerStoreContract } from './contract.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

registerStoreContract('the store on Postgres', async () => openPostgres(await server.createDatabase()))
registerStoreContract('the store on Postgres, chats step by step', async () =>
  stepByStep(await openPostgres(await server.createDatabase())),
)

/** Without the statements that do at once what a plain chat needs. */
function stepByStep(database: Database): Database {
  const { postgres, ...rest } = database
  assert.ok(postgres)
  return rest
}

async function withDatabase(use: (database: Database, url: string) => Promise<void>): Promise<void> {
  const url = await server.createDatabase()
  const database = await openPostgres(url, { connections: 4 })
  try {
    await use(database, url)
  } finally {
    await database.close()
  }
}

test('a unit of work is repeated on another connection when its connection breaks, even while idle', () =>
  withDatabase(async (database, url) => {
    const other = new pg.Client(url)
    await other.connect()
    let times = 0
    const unit = database.all.unit(async (connection) => {
      const { rows } = await connection.execute<{ pid: number }>('select pg_backend_pid() as pid', [])
      if (++times === 1) await other.query('select pg_terminate_backend($1, 5000)', [rows[0]!.pid])
      await connection.execute('select 1', [])
      if (times > 2) return times
      const sleeping = connection.execute('select pg_sleep(30)', [])
      const killed = other.query('select pg_terminate_backend($1, 5000)', [rows[0]!.pid])
      await Promise.all([sleeping, killed])
      return times
    })
    assert.equal(await unit, 3)
    await other.end()
    await database.ping()
  }))

test('a unit of work that throws stores nothing', () =>
  withDatabase(async (database) => {
    const insert = "insert into processes (id, alive_until) values ('p', 1)"
    await assert.rejects(
      database.all.unit(async (connection) => {
        await connection.execute(insert, [])
        throw new Error('no')
      }),
      /no/,
    )
    assert.deepEqual((await database.all.read.execute('select * from processes', [])).rows, [])
  }))

test('a process that hangs in a unit of work does not hold its locks forever', () =>
  withDatabase(async (database) => {
    const show = 'show idle_in_transaction_session_timeout'
    const { rows } = await database.all.unit((connection) => connection.execute<Record<string, string>>(show, []))
    assert.deepEqual(Object.values(rows[0]!), ['10s'])
  }))

async function createEmpty(): Promise<string> {
  const url = await server.createDatabase()
  const name = `empty_${randomUUID().replaceAll('-', '')}`
  await ask(url, `create database ${name}`)
  return url.replace(/[^/]+$/, name)
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

test('processes that start at once on several empty databases migrate each database once', async () => {
  const [first, second] = [await createEmpty(), await createEmpty()]
  // A server on which no service has ever been.
  await ask(first, `alter role agent_core_service rename to agent_core_before`)
  for (const url of [first, second]) await ask(url, 'drop schema public cascade; create schema public')
  const urls = [first, second, first, second, first, second, first, second]
  const opened = await Promise.all(urls.map((url) => openPostgres(url, { connections: 2 })))
  const isAway = (url: string) => opened.filter(({ migrated }, n) => urls[n] === url && migrated.length > 0).length
  for (const database of opened) {
    await database.ping()
    await database.forTenant('a').unit((connection) => connection.execute('select 1 from sessions', []))
  }
  assert.deepEqual([isAway(first), isAway(second)], [1, 1])
  for (const database of opened) await database.close()
})

test('processes that start at once migrate an empty database together', async () => {
  const url = await createEmpty()
  const environment = { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-'))
  const outputs = await Promise.all(Array.from({ length: 4 }, () => runProgram(['db', 'migrate'], folder, environment)))
  assert.equal(outputs.filter((text) => text.startsWith('Migrated: 0001-schema')).length, 1, outputs.join(''))
  assert.equal(outputs.filter((text) => text === 'The database is up to date.\n').length, 3, outputs.join(''))
  await rm(folder, { recursive: true })
})

async function runProgram(args: string[], cwd: string, environment: Record<string, string>): Promise<string> {
  const program = fileURLToPath(new URL('../../scripts/sources.mjs', import.meta.url))
  const env = { PATH: process.env['PATH'], ...environment }
  return (await promisify(execFile)(process.execPath, [program, ...args], { cwd, env })).stdout
}

test('a failed migration leaves the database unchanged', async () => {
  const url = await createEmpty()
  // The first migration makes `sessions` before it comes to this one.
  await ask(url, 'create table messages (n integer)')
  await assert.rejects(openPostgres(url), /could not be migrated/)
  const tables = await ask(
    url,
    "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and relname !~ '^kysely'",
  )
  assert.deepEqual(tables, [{ relname: 'messages' }])
  await ask(url, 'drop table messages')
  const database = await openPostgres(url)
  await database.close()
})

test('a database of a later version is refused and left unchanged', async () => {
  const url = await server.createDatabase()
  await ask(url, "insert into kysely_migration values ('9999-later', '2999-01-01')")
  await assert.rejects(
    openPostgres(url),
    /^Error: The database was migrated by a later version of agent-core \(9999-later\)\. Start that version, or restore a backup\.$/,
  )
})

test('queries continue during a migration by a later version: stale statements are prepared anew', () =>
  withDatabase(async (database, url) => {
    const { store, start, newRun } = storeOf(database)
    const { run, turn } = await start()
    const look = () => Promise.all(Array.from({ length: 8 }, () => store.find(run)))
    await look()
    await ask(url, 'alter table runs add column later text; alter table sessions add column later text')
    assert.equal((await look()).filter((found) => found?.status === 'running').length, 8)
    await store.finish(run, 1, endOf(turn))
    assert.equal((await store.begin(newRun())).kind, 'running')
  }))

test('an unreachable server is an error, and no connection stays open', async () => {
  await assert.rejects(
    openPostgres('postgres://postgres:test@127.0.0.1:1/none'),
    /"none" at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED/,
  )
})
