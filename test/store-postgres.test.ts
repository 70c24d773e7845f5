import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import type { Database } from '../src/store/database.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { startPostgres, type PostgresServer } from './postgres-server.ts'
import { registerStoreContract } from './store-contract.ts'

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

test('a connection that breaks in a unit rejects it, and the next one gets another', () =>
  withDatabase(async (database) => {
    const killed = database.all.unit(async (connection) => {
      await connection.execute('select pg_terminate_backend(pg_backend_pid())', [])
    })
    await assert.rejects(killed)
    await database.ping()
    const { rows } = await database.all.unit((connection) => connection.execute<{ one: number }>('select 1 as one', []))
    assert.deepEqual(rows, [{ one: 1 }])
  }))

test('a connection that breaks while a unit is busy with nothing does not end the process', () =>
  withDatabase(async (database, url) => {
    const other = new pg.Client(url)
    await other.connect()
    const killed = database.all.unit(async (connection) => {
      const { rows } = await connection.execute<{ pid: number }>('select pg_backend_pid() as pid', [])
      await other.query('select pg_terminate_backend($1, 5000)', [rows[0]!.pid])
      await connection.execute('select 1', [])
    })
    await assert.rejects(killed)
    await other.end()
    await database.ping()
  }))

test('a unit that throws leaves nothing', () =>
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

test('a process that hangs in a unit does not hold its locks for ever', () =>
  withDatabase(async (database) => {
    const show = 'show idle_in_transaction_session_timeout'
    const { rows } = await database.all.unit((connection) => connection.execute<Record<string, string>>(show, []))
    assert.deepEqual(Object.values(rows[0]!), ['10s'])
  }))

test('several processes that start at once migrate one after another', async () => {
  const url = (await server.createDatabase()).replace(/\/[^/]+$/, '/postgres')
  const name = 'unmigrated'
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const opened = await Promise.all(Array.from({ length: 4 }, () => openPostgres(url.replace(/postgres$/, name), { connections: 2 })))
  for (const database of opened) await database.ping()
  assert.equal(opened.filter(({ migrated }) => migrated.length > 0).length, 1)
  for (const database of opened) await database.close()
})

test('a server that is not there is an error, and leaves nothing open', async () => {
  await assert.rejects(openPostgres('postgres://postgres:test@127.0.0.1:1/none'), /can not be reached/)
})
