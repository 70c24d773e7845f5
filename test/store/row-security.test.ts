import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { isKeyName } from '../../src/access/keys/keys.ts'
import type { Database, Scope } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { everyTenant } from '../../src/store/postgres/scopes.ts'
import { grantSchema } from '../../src/store/postgres/row-security.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** A login of its own, which owns a new database that nothing has migrated yet. */
async function createOwner(rights = ''): Promise<string> {
  const name = `owner_${randomUUID().replaceAll('-', '')}`
  const { host, port } = new URL(await server.createDatabase())
  const admin = new pg.Client(`postgres://postgres:test@${host}/postgres`)
  await admin.connect()
  await admin.query(`create role ${name} login password 'test' ${rights}`)
  await admin.query(`create database ${name} owner ${name}`)
  await admin.end()
  return `postgres://${name}:test@127.0.0.1:${port}/${name}`
}

/** Uses a database as a superuser does, then as an ordinary user that owns it. */
function testLogins(title: string, use: (database: Database, url: string) => Promise<void>): void {
  for (const login of ['a superuser', 'an ordinary owner']) {
    test(`as ${login}: ${title}`, async () => {
      const url = login === 'a superuser' ? await server.createDatabase() : await createOwner()
      const database = await openPostgres(url, { connections: 2 })
      try {
        await use(database, url)
      } finally {
        await database.close()
      }
    })
  }
}

const insert = (tenant: string, session: string) =>
  [
    'insert into messages (tenant, session, idx, role, content, created_at) values ($1, $2, 0, $3, $4, 0)',
    [tenant, session, 'human', 'hello'],
  ] as const

const add = (scope: Scope, ...of: [string, string]) => scope.unit((connection) => connection.execute(...insert(...of)))

async function sessionsOf(scope: Scope): Promise<string[]> {
  const { rows } = await scope.read.execute<{ session: string }>('select session from messages order by session', [])
  return rows.map(({ session }) => session)
}

testLogins('a query that names no tenant sees and changes the rows of its own alone', async (database) => {
  await add(database.forTenant('a'), 'a', 'a1')
  await add(database.forTenant('b'), 'b', 'b1')
  assert.deepEqual(await sessionsOf(database.forTenant('a')), ['a1'])
  assert.deepEqual(await sessionsOf(database.forTenant('b')), ['b1'])
  assert.deepEqual(await sessionsOf(database.forTenant('nobody')), [])
  assert.deepEqual(await sessionsOf(database.all), ['a1', 'b1'])
  const { changes } = await database.forTenant('a').unit((connection) => connection.execute("update messages set content = 'x'", []))
  const removed = await database.forTenant('b').unit((connection) => connection.execute('delete from messages', []))
  assert.deepEqual([changes, removed.changes, await sessionsOf(database.all)], [1, 1, ['a1']])
})

testLogins('a row of another tenant is not taken, nor given to one', async (database) => {
  await assert.rejects(add(database.forTenant('a'), 'b', 'b1'), /row-level security/)
  await add(database.forTenant('a'), 'a', 'a1')
  const move = database.forTenant('a').unit((connection) => connection.execute("update messages set tenant = 'b'", []))
  await assert.rejects(move, /row-level security/)
  assert.deepEqual(await sessionsOf(database.all), ['a1'])
})

testLogins('queries that take turns on few connections never see the rows of the one before', async (database) => {
  const tenants = Array.from({ length: 20 }, (_, n) => `t${n}`)
  await Promise.all(tenants.map((tenant) => add(database.forTenant(tenant), tenant, `of ${tenant}`)))
  const seen = await Promise.all(tenants.flatMap((tenant) => [1, 2, 3].map(() => sessionsOf(database.forTenant(tenant)))))
  assert.deepEqual(
    seen,
    tenants.flatMap((tenant) => [1, 2, 3].map(() => [`of ${tenant}`])),
  )
})

testLogins('nothing is seen where nobody was said, and the wall is not put aside', async (database) => {
  await add(database.forTenant('a'), 'a', 'a1')
  const ask = (sql: string) => database.all.unit((connection) => connection.execute<{ n: number }>(sql, []))
  const unset = database.all.unit(async (connection) => {
    await connection.execute('reset agent_core.tenant', [])
    const { rows } = await connection.execute('select 1 from messages', [])
    await connection.execute("select set_config('agent_core.tenant', $1, false)", [everyTenant])
    return rows.length
  })
  assert.equal(await unset, 0)
  const aside = database.all.unit(async (connection) => {
    await connection.execute('set local row_security = off', [])
    return connection.execute('select 1 from messages', [])
  })
  await assert.rejects(aside, /row-level security/)
  assert.equal((await ask('select count(*) as n from messages')).rows[0]?.n, 1)
})

test('as a superuser: the role of the queries can change no table and no role', async () => {
  const database = await openPostgres(await server.createDatabase(), { connections: 1 })
  const ask = (sql: string) => database.all.unit((connection) => connection.execute<Record<string, string>>(sql, []))
  assert.deepEqual((await ask('select current_user as who')).rows, [{ who: 'agent_core_service' }])
  for (const sql of [
    'alter table messages disable row level security',
    'drop policy agent_core_tenant on messages',
    'create table other (tenant text)',
    'truncate messages',
    'alter role agent_core_service bypassrls',
    'select * from kysely_migration',
    "select pg_read_file('/etc/passwd')",
  ]) {
    await assert.rejects(ask(sql), /permission denied|must be owner/, sql)
  }
  await database.close()
})

testLogins('every table that has a tenant is covered, those that come later from the next start on', async (database, url) => {
  const client = await database.postgres!.connect()
  const open = async () => {
    const { rows } = await client.query<{ name: string }>(
      `select distinct relname as name from pg_class join information_schema.columns on table_name = relname and table_schema = 'public'
        where column_name = 'tenant' and relkind = 'r' and not (relrowsecurity and relforcerowsecurity)`,
    )
    return rows.map(({ name }) => name)
  }
  const covered = await client.query("select distinct tablename from pg_policies where policyname = 'agent_core_tenant'")
  assert.ok(covered.rows.length >= 14)
  assert.deepEqual(await open(), [])
  await client.query('create table "Later one" (tenant text, n integer)')
  assert.deepEqual(await open(), ['Later one'])
  const again = await openPostgres(url, { connections: 1 })
  assert.deepEqual(await open(), [])
  await again.forTenant('a').unit((connection) => connection.execute(`insert into "Later one" values ('a', 1)`, []))
  await assert.rejects(again.forTenant('b').unit((connection) => connection.execute(`insert into "Later one" values ('a', 1)`, [])))
  await again.close()
  await client.end()
})

test('the value for all tenants is not a valid tenant name', () => {
  assert.equal(isKeyName(everyTenant), false)
  assert.equal(isKeyName('*'), true)
})

test('a tenant with an unusual name works like any other', async () => {
  const database = await openPostgres(await server.createDatabase(), { connections: 1 })
  const names = ['*', "a' or true --", '%', '', 'a b', '🦊']
  for (const name of names) await add(database.forTenant(name), name, `of ${name}`)
  for (const name of names) assert.deepEqual(await sessionsOf(database.forTenant(name)), [`of ${name}`])
  await database.close()
})

test('the service can use its schema, including objects created later', async () => {
  const database = await openPostgres(await server.createDatabase(), { connections: 1 })
  const client = await database.postgres!.connect()
  await client.query('create schema beside; create table beside.first (n serial)')
  await grantSchema(client, 'beside')
  await client.query('create table beside.second (n serial)')
  for (const table of ['first', 'second']) {
    await database.all.unit((connection) => connection.execute(`insert into beside.${table} default values`, []))
  }
  await client.end()
  await database.close()
})

test('a user that bypasses row-level security uses the role when granted, or when allowed to create the role', async () => {
  const url = await createOwner('bypassrls createrole')
  await assert.rejects(openPostgres(url), /bypasses row-level security, and cannot use the role agent_core_service/)
  const { username, host } = new URL(url)
  const admin = new pg.Client(`postgres://postgres:test@${host}/postgres`)
  await admin.connect()
  const isWalled = async () => {
    const database = await openPostgres(url, { connections: 1 })
    assert.deepEqual((await database.all.read.execute('select current_user as who', [])).rows, [{ who: 'agent_core_service' }])
    await add(database.forTenant('a'), 'a', 'a1')
    assert.deepEqual(await sessionsOf(database.forTenant('b')), [])
    await database.forTenant('a').unit((connection) => connection.execute('delete from messages', []))
    await database.close()
  }
  await admin.query(`grant agent_core_service to ${username}`)
  await isWalled()
  // Roles are those of the whole server.
  await admin.query('alter role agent_core_service rename to agent_core_before')
  await isWalled()
  await admin.query('alter role agent_core_service bypassrls')
  await assert.rejects(openPostgres(url), /The role agent_core_service bypasses row-level security; it must not/)
  await admin.query('alter role agent_core_service nobypassrls')
  await admin.end()
})
