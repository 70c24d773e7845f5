import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { noFilters } from '../../src/runs/run-list.ts'
import type { Database } from '../../src/store/database.ts'
import { migrationNames } from '../../src/store/migrations/migrate.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { createRunListStore } from '../../src/store/reports/run-list.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { endOf, hour, newRun, running } from './fixture.ts'
import { createUnreleasedPostgres, createUnreleasedSqlite, executedOnPostgres, executedOnSqlite } from './unreleased-database.ts'

interface Place {
  /** Creates the database of an unreleased build. */
  create(rows?: string, last?: string): Promise<void>
  open(): Promise<Database>
  /** Names of the migrations that the database has had. */
  executed(): Promise<string[]>
}

describe('a database of an unreleased build, on SQLite', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'agent-core-unreleased-'))
  after(() => rmSync(root, { recursive: true, force: true }))
  registerTests(async () => {
    const folder = path.join(root, randomUUID())
    return {
      create: (...build) => createUnreleasedSqlite(folder, ...build),
      open: () => openSqlite(folder),
      executed: async () => executedOnSqlite(folder),
    }
  })
})

describe('a database of an unreleased build, on Postgres', () => {
  let server: PostgresServer
  before(async () => void (server = await startPostgres()))
  after(() => server.stop())
  const place = async (): Promise<Place> => {
    const url = await server.createEmptyDatabase()
    return {
      create: (...build) => createUnreleasedPostgres(url, ...build),
      open: () => openPostgres(url, { connections: 4 }),
      executed: () => executedOnPostgres(url),
    }
  }
  registerTests(place)

  test('processes that start at once take it over together', async () => {
    const { create, open, executed } = await place()
    await create(rows)
    const databases = await Promise.all([open(), open(), open()])
    assert.deepEqual(await executed(), migrationNames)
    await Promise.all(databases.map((database) => database.close()))
  })

  test('a migration that Postgres ends because of a deadlock with another process is made again', async (t) => {
    const url = await server.createEmptyDatabase()
    const client = new pg.Client(url)
    await client.connect()
    t.after(() => client.end())
    await client.query(`create sequence attempts; create function end_by_deadlock() returns event_trigger language plpgsql as $$
      begin if nextval('attempts') <= 2 then raise exception 'deadlock detected' using errcode = 'deadlock_detected'; end if; end $$;
      create event trigger end_by_deadlock on ddl_command_start execute function end_by_deadlock()`)
    await (await openPostgres(url, { connections: 4 })).close()
    const { rows } = await client.query('select last_value > 2 as "isRepeated" from attempts')
    assert.deepEqual(rows, [{ isRepeated: true }])
  })
})

const ann = { tenant: 't', owner: 'agent-core ann' }

/** A session of two messages, and its run. */
const rows = `
  insert into sessions (tenant, owner, session_id, key, short_name, checkpoint_id, message_count, window_start, created_at, updated_at)
    values ('t', '${ann.owner}', 's', 'key', 'hello', 'c', 2, 0, ${hour}, ${hour});
  insert into messages (tenant, session, idx, role, content, created_at, data)
    values ('t', 'key', 0, 'human', 'hello', ${hour}, null), ('t', 'key', 1, 'ai', 'answer', ${hour}, '{"requestId":"r1"}');
  insert into runs (tenant, owner, request_id, session, session_id, operation, body_hash, status, on_disconnect, holder, fence, place, message_index,
      agent, model, created_at, started_at, ended_at, finish_reason, continuable, prompt_tokens, completion_tokens, total_tokens, latency_ms, log, sub)
    values ('t', '${ann.owner}', 'r1', 'key', 's', 'chain', 'hash', 'success', 'cancel', 'old', 1, 1, 0,
      'agent', 'm', ${hour}, ${hour}, ${hour + 100}, 'stop', 0, 10, 5, 15, 100, '{"input":"hello","events":[]}', 'ann');`

function registerTests(createPlace: () => Promise<Place>): void {
  test('with all of its migrations is current, keeps its rows, and goes on', async () => {
    const { create, open, executed } = await createPlace()
    await create(rows)
    const first = await open()
    assert.deepEqual([first.migrated, await executed()], [migrationNames.slice(1), migrationNames])
    await first.close()
    const database = await open()
    const store = createRunStore(database)
    const turn = await running(store, newRun({ ...ann, requestId: 'r2', now: hour + 500 }))
    await store.finish({ ...ann, requestId: 'r2' }, 1, endOf(turn))
    const history = await store.history(ann.tenant, turn.session, 0)
    assert.deepEqual(
      history.map(({ content }) => content),
      ['hello', 'answer', 'hello', 'answer'],
    )
    const page = { ...noFilters, limit: 9, anyOwner: false, before: undefined }
    const listed = await createRunListStore(database).list(ann, page)
    assert.deepEqual(
      listed.map(({ requestId }) => requestId),
      ['r2', 'r1'],
    )
    await database.close()
  })

  test('without the last of its migrations is refused, and not changed', async () => {
    const { create, open } = await createPlace()
    await create('', '0032-key-creators')
    for (let start = 0; start < 2; start++)
      await assert.rejects(
        open(),
        /unreleased build of agent-core, and lacks 1 of its migrations \(0033-session-search .* use a new database/,
      )
  })
}
