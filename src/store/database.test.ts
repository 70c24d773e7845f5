import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DummyDriver, Kysely, PostgresAdapter, PostgresQueryCompiler, sql, SqliteAdapter, SqliteQueryCompiler } from 'kysely'
import { statement, type Connection, type Param } from './database.ts'
import type { Tables } from './tables.ts'

const common = { createDriver: () => new DummyDriver(), createIntrospector: () => undefined as never }
const sqlite = new Kysely<Tables>({
  dialect: { ...common, createAdapter: () => new SqliteAdapter(), createQueryCompiler: () => new SqliteQueryCompiler() },
})
const postgres = new Kysely<Tables>({
  dialect: { ...common, createAdapter: () => new PostgresAdapter(), createQueryCompiler: () => new PostgresQueryCompiler() },
})

function record() {
  const calls: [string, readonly unknown[]][] = []
  const connection: Connection = {
    async execute(text, parameters) {
      calls.push([text, parameters])
      return { rows: [], changes: 0 }
    },
  }
  return { calls, connection }
}

interface Values {
  id: string
  until: number
}

const update = (db: Kysely<Tables>) =>
  statement(db, (builder, param: Param<Values>) =>
    builder
      .updateTable('processes')
      .set({ alive_until: sql`alive_until + ${param('until')}` })
      .where('id', 'in', [param('id'), 'fixed'])
      .where('alive_until', '<', param('until'))
      .returning('id'),
  )

test('values are bound to their placeholders on each execution', async () => {
  const { calls, connection } = record()
  const run = update(sqlite)
  await run(connection, { id: "a'; --", until: 5 })
  await run(connection, { id: 'b', until: 0 })
  const text = 'update "processes" set "alive_until" = alive_until + ? where "id" in (?, ?) and "alive_until" < ? returning "id"'
  assert.deepEqual(calls, [
    [text, [5, "a'; --", 'fixed', 5]],
    [text, [0, 'b', 'fixed', 0]],
  ])
})

test('each placeholder has its own number on Postgres', async () => {
  const { calls, connection } = record()
  await update(postgres)(connection, { id: 'a', until: 5 })
  assert.deepEqual(calls, [
    [
      'update "processes" set "alive_until" = alive_until + $1 where "id" in ($2, $3) and "alive_until" < $4 returning "id"',
      [5, 'a', 'fixed', 5],
    ],
  ])
})

test('rows have the type of the query, and values the types of their columns', async () => {
  const { connection } = record()
  const find = statement(sqlite, (builder, param: Param<{ key: string }>) =>
    builder.selectFrom('sessions').select(['key', 'message_count']).where('key', '=', param('key')),
  )
  const { rows } = await find(connection, { key: 'k' })
  const first: { key: string; message_count: number } | undefined = rows[0]
  // @ts-expect-error The query does not select `active_run`.
  assert.equal(first?.active_run, undefined)
  statement(sqlite, (builder, param: Param<{ n: string }>) =>
    // @ts-expect-error `message_count` is a number.
    builder.selectFrom('sessions').select('key').where('message_count', '=', param('n')),
  )
})
