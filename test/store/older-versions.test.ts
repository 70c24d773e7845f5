import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { noFilters, type RunPage } from '../../src/runs/run-list.ts'
import type { Database } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { createRunReports } from '../../src/store/reports/run-reports.ts'
import { createSeriesStore } from '../../src/store/reports/series.ts'
import { createRunListStore } from '../../src/store/runs/run-list.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { createArtifactStore } from '../../src/store/sessions/artifacts.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { ai, endOf, hour, newRun, running } from './fixture.ts'
import { createOlderPostgres, createOlderSqlite } from './older-database.ts'

type OpenOlder = (last: string, rows: string) => Promise<Database>

describe('an older database on SQLite', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'agent-core-older-'))
  after(() => rmSync(root, { recursive: true, force: true }))
  registerUpgrades(async (last, rows) => {
    const folder = path.join(root, randomUUID())
    await createOlderSqlite(folder, last, rows)
    return openSqlite(folder)
  })
})

describe('an older database on Postgres', () => {
  let server: PostgresServer
  before(async () => void (server = await startPostgres()))
  after(() => server.stop())
  const createOlder = async (last: string, rows: string) => {
    const url = await server.createEmptyDatabase()
    await createOlderPostgres(url, last, rows)
    return url
  }
  registerUpgrades(async (last, rows) => openPostgres(await createOlder(last, rows), { connections: 4 }))

  test('a migration that Postgres ends because of a deadlock with a process of the older version is made again', async (t) => {
    const url = await createOlder('0015-tool-pins', insertSession('s', 'r1', []))
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

interface OlderRun {
  id: string
  sessionId?: string
  owner?: string
  operation?: string
  status?: string
  endedAt?: number | null
}

const tenant = 't'
const ann = { tenant, owner: 'agent-core ann' }

function insertRun({
  id,
  sessionId = 's',
  owner = ann.owner,
  operation = 'chain',
  status = 'success',
  endedAt = hour + 100,
}: OlderRun): string {
  return `insert into runs (tenant, owner, request_id, session, session_id, operation, body_hash, request, status, on_disconnect, holder, fence, place,
      message_index, agent, model, created_at, started_at, ended_at, finish_reason, continuable, prompt_tokens, completion_tokens, total_tokens,
      latency_ms, log)
    values ('${tenant}', '${owner}', '${id}', 'key-${sessionId}', '${sessionId}', '${operation}', 'hash', null, '${status}', 'cancel', 'old', 1, 1,
      0, 'agent', 'm', ${hour}, ${hour}, ${endedAt}, 'stop', 0, 10, 5, 15, 100, '{"input":"hello","events":[]}');`
}

/** A session of two messages; the answer has files with these ids. */
function insertSession(sessionId: string, requestId: string, files: string[]): string {
  const toArtifact = (id: string) => ({
    id,
    name: `${id}.txt`,
    type: 'text/plain',
    size: 3e9,
    sha256: 'ab',
    tool: 'write_file',
    createdAt: hour,
  })
  const data = JSON.stringify({ requestId, ...(files.length > 0 && { artifacts: files.map(toArtifact) }) })
  const key = `key-${sessionId}`
  return `insert into sessions (tenant, owner, session_id, key, short_name, checkpoint_id, message_count, window_start, created_at, updated_at)
      values ('${tenant}', '${ann.owner}', '${sessionId}', '${key}', 'hello', 'c', 2, 0, ${hour}, ${hour});
    insert into messages (tenant, session, idx, role, content, created_at, data) values
      ('${tenant}', '${key}', 0, 'human', 'hello', ${hour}, null),
      ('${tenant}', '${key}', 1, 'ai', 'The word "artifacts":[{ is text here.', ${hour}, '${data}');`
}

function insertMetrics(success: number): string {
  return `insert into metrics
      (tenant, hour, success, prompt_tokens, completion_tokens, total_tokens, latency_ms, min_latency_ms, max_latency_ms)
    values ('${tenant}', ${hour}, ${success}, 30, 15, 45, 300, 100, 100);`
}

const always = { from: undefined, to: undefined }

function registerUpgrades(openOlder: OpenOlder): void {
  test('runs removed from the logs before their migration are not counted', async () => {
    const runs = [{ id: 'a' }, { id: 'b', status: 'gone', endedAt: null }, { id: 'c' }]
    const database = await openOlder('0007-retention', insertMetrics(3) + runs.map(insertRun).join(''))
    const reports = createRunReports(database)
    const { counts } = await reports.sums(tenant, always)
    assert.deepEqual({ count: await reports.count(tenant, always), success: counts.success }, { count: 2, success: 3 })
    await database.close()
  })

  test('runs, files and logs of the older version are listed', async () => {
    const database = await openOlder('0010-run-losses', olderRows)
    await verifyRuns(database)
    await verifyFiles(database)
    await verifyLogs(database)
    await database.close()
  })

  test('a session of the older version goes on', async () => {
    const database = await openOlder('0010-run-losses', olderRows)
    const store = createRunStore(database)
    const run = newRun({ ...ann, requestId: 'r9', sessionId: 's', now: hour + 500 })
    const turn = await running(store, run)
    const artifact = { id: '9', name: 'new.txt', type: 'text/plain', size: 1, sha256: 'ab', tool: 'write_file', createdAt: hour + 600 }
    const message = { ...ai('done'), data: { requestId: 'r9', artifacts: [artifact] } }
    await store.finish(run, 1, endOf(turn, { message, endedAt: hour + 600 }))
    assert.equal((await store.history(tenant, turn.session, 0)).length, 4)
    assert.deepEqual((await idsOf(database))[0], 'r9')
    assert.deepEqual((await filesOf(database))[0], { id: '9', sessionId: 's', requestId: 'r9' })
    assert.equal(await createRunReports(database).count(tenant, always), 4)
    await database.close()
  })
}

/** Ended runs, a running one, a direct tool execution, a tombstone; sessions with and without files, of which `fork` is a fork of `s`. */
const olderRows = [
  insertMetrics(2) + insertMetrics(1).replace(`${hour},`, `${hour + 3_600_000},`),
  ...[
    { id: 'r1' },
    { id: 'r2', sessionId: 'plain', operation: 'chain_streaming' },
    { id: 'r3', owner: 'idp bob smith', sessionId: 'of-bob', status: 'error', endedAt: hour + 3_600_000 },
    { id: 'r4', sessionId: 'running', status: 'running', endedAt: null },
    { id: 'tool', operation: 'tool_execute' },
    { id: 'tombstone', status: 'gone', endedAt: null },
  ].map(insertRun),
  insertSession('s', 'r1', ['1', '2']),
  insertSession('plain', 'r2', []),
  insertSession('fork', 'r1', ['1', '2']),
  ...Array.from({ length: 60 }, (_, n) => insertSession(`many-${n}`, 'r2', [String(100 + n)])),
  `insert into processes (id, alive_until) values ('old', ${hour});`,
  `insert into access_keys (jti, tenant, sub, roles, created_at, expires_at) values ('k', '${tenant}', 'ann', '["user"]', ${hour}, ${hour});`,
].join('\n')

async function idsOf(database: Database, change: Partial<RunPage> = {}): Promise<string[]> {
  const page = { ...noFilters, limit: 100, anyOwner: true, before: undefined, ...change }
  return (await createRunListStore(database).list(ann, page)).map(({ requestId }) => requestId)
}

async function filesOf(database: Database) {
  const files = await createArtifactStore(database).list(ann, { limit: 100, before: undefined })
  return files.map(({ id, sessionId, requestId }) => ({ id, sessionId, requestId }))
}

async function verifyRuns(database: Database): Promise<void> {
  const cases: [Partial<RunPage>, string[]][] = [
    [{}, ['r4', 'r3', 'r2', 'r1']],
    [{ anyOwner: false }, ['r4', 'r2', 'r1']],
    [{ sub: 'bob smith' }, ['r3']],
    [{ status: 'error' }, ['r3']],
    [{ status: 'running' }, ['r4']],
    [{ sessionId: 's' }, ['r1']],
    [{ operation: 'chain_streaming' }, ['r2']],
    [{ tool: 'write_file' }, []],
    [{ version: '1' }, []],
  ]
  for (const [filters, expected] of cases) assert.deepEqual(await idsOf(database, filters), expected, JSON.stringify(filters))
}

async function verifyFiles(database: Database): Promise<void> {
  const files = await filesOf(database)
  assert.equal(files.length, 64)
  const many = Array.from({ length: 60 }, (_, n) => String(159 - n))
  assert.deepEqual(
    files.map(({ id, sessionId }) => (sessionId.startsWith('many') ? id : `${id} ${sessionId}`)),
    ['2 s', '2 fork', ...many, '1 s', '1 fork'],
  )
  const artifacts = createArtifactStore(database)
  const { size, session, createdAt, name } = (await artifacts.find(ann, '2', { anyOwner: false }))!
  assert.deepEqual({ size, session, createdAt, name }, { size: 3e9, session: 'key-fork', createdAt: hour, name: '2.txt' })
  assert.equal(await artifacts.find({ tenant, owner: 'idp bob smith' }, '2', { anyOwner: false }), undefined)
}

async function verifyLogs(database: Database): Promise<void> {
  const reports = createRunReports(database)
  assert.equal(await reports.count(tenant, always), 3)
  const entries = await reports.ended(tenant, { ...always, offset: 0, limit: 10 })
  assert.deepEqual(
    entries.map(({ requestId }) => requestId),
    ['r3', 'r2', 'r1'],
  )
  const ends: number[] = []
  for await (const page of createSeriesStore(database).runs(tenant, { since: 0, until: hour * 2 }, 'sub')) {
    ends.push(...page.map(({ endedAt }) => endedAt))
  }
  assert.deepEqual(ends, [hour + 3_600_000, hour + 100, hour + 100])
}
