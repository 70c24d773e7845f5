import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { createAccessKeyStore } from './secrets/access-keys.ts'
import { query, type Database, type Scope, type Connection, type SyncConnection } from './database.ts'
import { excerptsOf, pageOf } from './sessions/session-rows.ts'
import { createSessionStore } from './sessions/sessions.ts'
import { jobStatements } from './jobs/sqlite-jobs.ts'
import { queueStatements } from './queue/statements.ts'
import type { RunReports, Span } from '../runs/reports/observability.ts'
import { createRunRanks } from './queue/moves.ts'
import type { CallbackPage } from '../runs/callbacks/callback-list.ts'
import { createCallbackListStore } from './runs/callbacks.ts'
import { createRunListStore } from './reports/run-list.ts'
import { noFilters, type RunPage } from '../runs/run-list.ts'
import { createRunReports } from './reports/run-reports.ts'
import { runStatements } from './runs/statements.ts'
import { createRunStore, openRunInsert } from './runs/runs.ts'
import { createScheduleStore } from './schedules/schedules.ts'
import { createSqliteChat } from './runs/sqlite-chat.ts'
import { createArtifactStore } from './sessions/artifacts.ts'
import { createSeriesStore } from './reports/series.ts'
import type { SeriesStore } from '../runs/reports/series.ts'
import { createUnstoredRuns } from './runs/unstored.ts'
import { createSummaryStore } from './sessions/conversations.ts'
import type { SummaryStore } from '../runs/window/summary.ts'
import { createFind } from './sessions/search/find-matches.ts'
import { documentsWith } from './sessions/search/session-index.ts'
import { retentionKinds } from '../runs/retention.ts'
import { removeRunDetails, removeSessions } from './sessions/remove-session.ts'
import { createRetentionStore } from './sessions/retention.ts'
import { createUploadStore } from './documents/uploads.ts'
import { openSqlite } from './sqlite/sqlite.ts'
import { hasWord, wordFunction } from './words.ts'
import { endOf } from '../../test/store/fixture.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'agent-core-plans-'))
let database: Database
let explainer: DatabaseSync
before(async () => {
  database = await openSqlite(folder)
  explainer = new DatabaseSync(path.join(folder, 'agent-core.db'))
  explainer.function(wordFunction, hasWord)
})
after(async () => {
  explainer.close()
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The plans of what is asked, instead of answers. Statements that match `found` are answered with `row`. */
async function plansOf(ask: (database: Database) => Promise<unknown>, found?: RegExp, row: object = {}): Promise<string> {
  const plans: string[] = []
  const connection: Connection = {
    async execute(sql) {
      plans.push(
        ...explainer
          .prepare(`explain query plan ${sql}`)
          .all()
          .map((row) => String(row.detail)),
      )
      return { rows: found?.test(sql) ? [row as never] : [], changes: 0 }
    },
  }
  const scope: Scope = { read: connection, write: connection, unit: (work) => work(connection) }
  await ask({ ...database, all: scope, forTenant: () => scope })
  return plans.join('; ')
}

const caller = { tenant: 't', owner: 'o' }

test('no statement of a chat scans a table or sorts', async () => {
  for (const statements of [runStatements(database.db, false), queueStatements(database.db)]) {
    for (const [name, ask] of Object.entries(statements)) {
      const plans = await plansOf(({ all: { read } }) => (ask as (connection: Connection, values: object) => Promise<unknown>)(read, {}))
      assert.doesNotMatch(plans, /SCAN|TEMP/, name)
    }
  }
})

test('a run of a tenant is found by its request id without a scan, for any owner', async () => {
  const key = { ...caller, requestId: 'r' }
  for (const start of [
    { issuer: undefined, sub: undefined },
    { issuer: 'i', sub: 's' },
  ]) {
    const plan = await plansOf((on) => createRunStore(on).ownersOf(key, start))
    assert.match(plan, /SEARCH runs USING INDEX \S+ \(tenant=\? AND request_id=\?\)/)
  }
})

test('excerpts are read by keys only, without scans of sessions or messages', async () => {
  const runs = [{ ...caller, requestId: 'r' }]
  const plan = await plansOf((on) => excerptsOf(on, 't', runs, { messages: 6, characters: 9 }))
  assert.match(plan, /SEARCH runs [^;]+\(tenant=\? AND request_id=\? AND owner=\?\)/)
  assert.match(plan, /SEARCH sessions [^;]+\(key=\?\)/)
  assert.match(plan, /SEARCH messages [^;]+\(session=\? AND idx>\?\)/)
})

test('the next run of a queue and the unended runs are found with partial indexes', async () => {
  const next = await plansOf(({ all: { read }, db }) =>
    runStatements(db, false).handOver(read, { tenant: 't', session: 's', requestId: 'r' }),
  )
  assert.match(next, /SEARCH runs USING INDEX runs_waiting \(session=\?\)/)
  const orphans = await plansOf((on) => createRunStore(on).orphans('p', 0))
  assert.match(orphans, /SCAN runs USING INDEX runs_active/)
})

test('a due job is found by its kind and time, however many jobs wait', async () => {
  const due = await plansOf(({ all, db }) => jobStatements(db).nextDue(all.read, { kind: 'callback' }))
  assert.match(due, /^SEARCH jobs USING COVERING INDEX jobs_due \(kind=\?\)$/)
  const claim = await plansOf(({ all, db }) => jobStatements(db).claim(all.read, { kind: 'callback', now: 0, until: 1, limit: 1 }))
  assert.match(claim, /INDEX jobs_ranked \(kind=\?\)/)
  assert.doesNotMatch(claim, /SCAN jobs|TEMP/)
})

test('the next due schedules are read from their index, in order, and nothing else is read where none is due', async () => {
  const due = await plansOf((on) => createScheduleStore(on, openRunInsert(on)).due(100))
  assert.equal(due, 'SCAN schedules USING INDEX schedules_due')
})

test('the fires of a schedule, and their runs, are found by keys', async () => {
  const key = { ...caller, id: 's' }
  const store = (on: Database) => createScheduleStore(on, openRunInsert(on))
  const fires = await plansOf((on) => store(on).fires(key, { limit: 10, before: 5 }))
  assert.match(fires, /SEARCH schedule_fires [^;]+\(tenant=\? AND schedule_id=\? AND scheduled_for<\?\); SEARCH runs [^;]+request_id=\?/)
  assert.doesNotMatch(fires, /SCAN|TEMP/)
  const found = await plansOf((on) => store(on).find('t', 's'))
  assert.match(found, /SEARCH schedules [^;]+\(tenant=\? AND id=\?\)/)
  const removed = await plansOf((on) => store(on).removeExpired(0, 10))
  assert.doesNotMatch(removed, /SCAN (?!schedules USING INDEX schedules_ended)/)
})

test('the rank of an async run is read from the ends of partial indexes', async () => {
  const give = await plansOf((on) => createRunRanks(on).give(on.all.read, { tenant: 't', owner: 'o', requestId: 'r' }))
  assert.match(give, /INDEX runs_at_work \(tenant=\? AND owner=\?/)
  const front = await plansOf((on) => createRunRanks(on).prepare())
  assert.match(front, /COVERING INDEX runs_to_work/)
})

test('a page of sessions is read from an index, for owners and administrators, at any position', async () => {
  const before = { ...caller, sessionId: 's', key: 'k', shortName: '', messageCount: 0, checkpointId: '', createdAt: 0, updatedAt: 0 }
  const page = (anyOwner: boolean, isFirst: boolean) =>
    plansOf((on) => createSessionStore(on).list(caller, { limit: 9, anyOwner, before: isFirst ? undefined : before }))
  assert.equal(await page(false, true), 'SEARCH sessions USING INDEX sessions_recent (tenant=? AND owner=?)')
  assert.equal(await page(true, true), 'SEARCH sessions USING INDEX sessions_of_tenant (tenant=?)')
  assert.match(await page(false, false), /^SEARCH .* sessions_recent \(tenant=\? AND owner=\? AND \(updated_at,session_id\)<\(\?,\?\)\)$/)
  assert.match(await page(true, false), /^SEARCH .* sessions_of_tenant \(tenant=\? AND \(updated_at,session_id,owner\)<\(\?,\?,\?\)\)$/)
})

test('a page of files is read from an index, at any position, and a file by its id', async () => {
  const list = (before: { id: string; sessionId: string } | undefined) =>
    plansOf((on) => createArtifactStore(on).list(caller, { limit: 9, before }))
  assert.match(await list(undefined), /^SEARCH artifacts USING INDEX \S+ \(tenant=\? AND owner=\?\)$/)
  assert.match(
    await list({ id: 'a', sessionId: 's' }),
    /^SEARCH artifacts USING INDEX \S+ \(tenant=\? AND owner=\? AND \(id,session_id\)<\(\?,\?\)\)$/,
  )
  const plan = await plansOf((on) => createArtifactStore(on).find(caller, 'a', { anyOwner: true }))
  assert.match(plan, /^SEARCH artifacts USING INDEX artifacts_id \(tenant=\? AND id=\?\)/)
})

test('a page of uploads is read from the index of their owner, also with a purpose', async () => {
  for (const purpose of [undefined, 'vision']) {
    for (const after of [undefined, 'id']) {
      const page = { limit: 9, order: 'newest_first', after, purpose } as const
      const plan = await plansOf((on) => createUploadStore(on).list({ kind: 'own', ...caller }, page, 1))
      assert.match(plan, /^SEARCH uploads USING INDEX uploads_owner \(tenant=\? AND owner=\?( AND id<\?)?\)$/)
    }
  }
})

test('the messages of a search are read by the keys of their sessions', async () => {
  const session = { ...caller, sessionId: 's', key: 'k', shortName: '', messageCount: 2, checkpointId: '', createdAt: 0, updatedAt: 0 }
  const plan = await plansOf((on) => createFind(on, 't', ['a']).matchingKeys([session]))
  assert.match(
    plan,
    /^SEARCH sessions USING INDEX sessions_key \(key=\?\); .*SEARCH messages USING INDEX \S+ \(session=\? AND idx>\? AND idx<\?\)$/,
  )
})

test('a summary reads the window of its session, and no message before', async () => {
  const session = { owner: 'o', window_start: 40, summary: null }
  const of = (ask: (summaries: SummaryStore) => Promise<unknown>) =>
    plansOf((on) => ask(createSummaryStore(on, { history: () => assert.fail() })), /from "sessions"/, session)
  const ofWindow = /SEARCH messages USING INDEX \S+ \(session=\? AND idx>\?\)$/
  assert.match(await of((summaries) => summaries.window('t', 's')), ofWindow)
  assert.match(await of((summaries) => summaries.moveWindow('t', 's', { start: 40, end: 80, deleted: 0, summary: { text: '' } })), ofWindow)
})

test('the index of the search is read by keys, and the sessions behind it from both ends of an index', async () => {
  const scope = { tenant: 't', owner: '' }
  const end = { segment: 0, updatedAt: 0, sessionId: 's', owner: 'o' }
  const slices = await plansOf(async (on) => {
    for await (const _ of documentsWith(on, scope, [1, 2], { segment: 200, below: Infinity }));
  })
  assert.match(slices, /^(SEARCH search_slices USING INDEX \S+ \(tenant=\? AND owner=\? AND segment=\? AND slice=\?\)(; )?)+$/)
  const position = { ...caller, sessionId: 's', key: 'k', shortName: '', messageCount: 0, checkpointId: '', createdAt: 0, updatedAt: 0 }
  for (const [anyOwner, index] of [
    [true, 'sessions_of_tenant \\(tenant=\\? AND '],
    [false, 'sessions_recent \\(tenant=\\? AND owner=\\? AND '],
  ] as const) {
    const plan = await plansOf(({ db, all }) => query(all.read, pageOf(db, caller, { limit: 9, anyOwner, before: position, after: end })))
    assert.match(plan, new RegExp(`^SEARCH sessions USING INDEX ${index}\\S+>\\(\\?\\S+ AND \\S+<\\(\\?\\S+\\)$`))
  }
})

test('series are read from covering indexes, newest first, without a sort', async () => {
  const read = async (pages: (store: SeriesStore) => AsyncIterable<readonly unknown[]>) =>
    plansOf(async (on) => {
      for await (const _ of pages(createSeriesStore(on)));
    })
  const span = { since: 1, until: 2 }
  for (const key of ['none', 'version', 'sub'] as const) {
    const plan = await read((store) => store.runs('t', span, key))
    assert.match(plan, /^SEARCH runs USING COVERING INDEX runs_ended \(tenant=\? AND ended_at>\? AND ended_at<\?\)$/)
  }
  const byTool = await read((store) => store.runs('t', span, 'tool'))
  assert.match(byTool, /^SEARCH run_tools USING COVERING INDEX run_tools_ended \(tenant=\? AND ended_at>\? AND ended_at<\?\); SEARCH runs /)
  assert.doesNotMatch(byTool, /TEMP/)
  const tools = await read((store) => store.toolUses('t', span))
  assert.match(tools, /^SEARCH run_tools USING INDEX run_tools_ended \(tenant=\? AND ended_at>\? AND ended_at<\?\)$/)
})

test('the end of a simple chat reads the queue of its session from the index of waiting runs, and writes no entry of the lists of runs', async () => {
  const updates: string[] = []
  const reads: string[] = []
  const rows = (sql: string) => (reads.push(sql), [])
  const connection: SyncConnection = { rows, change: (sql) => updates.push(sql), defer: () => assert.fail() }
  const byStep = { begin: () => assert.fail(), finish: () => assert.fail(), checkpoint: () => assert.fail() }
  const chat = createSqliteChat(database.db, { unit: async (work) => work(connection) }, byStep)
  await chat.finish({ ...caller, requestId: 'r' }, 1, endOf({ session: 's', messageIndex: 0, messageCount: 1, windowStart: 0 }))
  const plans = reads.map((sql) => explainer.prepare(`explain query plan ${sql}`).get()!.detail)
  assert.deepEqual(plans, ['SEARCH runs USING INDEX runs_waiting (session=?)'])
  const end = updates.find((sql) => sql.startsWith('update "runs"'))!
  const indexOf = explainer.prepare(`select name from sqlite_master where type = 'index' and rootpage = ?`)
  const opened = explainer.prepare(`explain ${end}`).all()
  const written = opened.filter(({ opcode }) => opcode === 'OpenWrite').map(({ p2 }) => indexOf.get(p2 as number)?.name)
  assert.ok(written.includes('runs_ended'))
  for (const list of ['runs_listed', 'runs_listed_by_sub', 'runs_listed_by_version']) assert.ok(!written.includes(list), list)
})

test('a page of runs with several filters is read from the index of the first that selects few runs', async () => {
  const page = { ...noFilters, status: 'error', operation: 'chain', sub: 's', tool: 't', version: 'v', toolErrors: true } as const
  const first = { before: undefined, limit: 9, anyOwner: true }
  const indexIf = async (many: RegExp) => {
    const plan = await plansOf((on) => createRunListStore(on, 5).list(caller, { ...page, ...first }), many)
    return plan.match(/run\w+(listed|tool_errors)\w*/g)?.at(-1)
  }
  const indexes: [RegExp, string][] = [
    [/^never/, 'runs_listed_by_status'],
    [/status = 'error' limit 1 offset 5/, 'runs_with_tool_errors'],
    [/(status = 'error'|tool_errors is not null) limit 1 offset 5/, 'runs_listed_by_version'],
    [/(status = 'error'|tool_errors is not null|config_version = \?) limit 1 offset 5/, 'run_tools_listed'],
    [/(status = 'error'|tool_errors is not null|config_version = \?|tool = \?) limit 1 offset 5/, 'runs_listed_by_sub'],
    [/(status = 'error'|tool_errors is not null|config_version = \?|tool = \?|sub = \?) limit 1 offset 5/, 'runs_listed'],
    [/limit 1 offset 5/, 'runs_listed_by_status'],
  ]
  for (const [many, index] of indexes) assert.equal(await indexIf(many), index)
})

/** The plan of a page of runs with several filters begins with that of a count, which reads the index of the first filter alone. */
function withoutProbe(plan: string): string {
  return plan.replace(/^SEARCH \w+ USING (COVERING )?INDEX \w+ \(tenant=\?[^;]*; (?=SEARCH|MERGE)/, '')
}

/** The plan of a page of runs of all operations: parts of an index in the order of the list, merged without a sort. */
function merged(index: string, columns: string): RegExp {
  const part = `SEARCH runs USING INDEX ${index} \\(${columns}[^;]*\\)`
  const two = `MERGE \\(UNION ALL\\); LEFT; ${part}; RIGHT; ${part}`
  return new RegExp(`^MERGE \\(UNION ALL\\); LEFT; ${two}; RIGHT; ${two}$`)
}

test('a page of runs is read from the index of its first filter, in order, at any position', async () => {
  const first = { ...noFilters, before: undefined, limit: 9, anyOwner: true }
  const page = (change: Partial<RunPage>) => plansOf((on) => createRunListStore(on).list(caller, { ...first, ...change }))
  const indexes: [Partial<RunPage>, RegExp][] = [
    [{}, merged('runs_listed', 'tenant=\\? AND operation=\\?')],
    [{ status: 'success', operation: 'chain' }, /^SEARCH runs USING INDEX runs_listed \(tenant=\? AND operation=\?/],
    [{ anyOwner: false }, /^SEARCH runs USING INDEX runs_listed_by_sub \(tenant=\? AND sub=\?/],
    [{ toolErrors: true }, /^SEARCH runs USING INDEX runs_with_tool_errors \(tenant=\?/],
    [{ sub: 's' }, /^SEARCH runs USING INDEX runs_listed_by_sub \(tenant=\? AND sub=\?/],
    [{ version: 'v' }, merged('runs_listed_by_version', 'tenant=\\? AND config_version=\\? AND operation=\\?')],
    [{ version: 'v', sub: 's' }, merged('runs_listed_by_version', 'tenant=\\? AND config_version=\\? AND operation=\\?')],
    [
      { version: 'v', operation: 'chain' },
      /^SEARCH runs USING INDEX runs_listed_by_version \(tenant=\? AND config_version=\? AND operation=\?/,
    ],
    [{ status: 'error', tool: 't', sub: 's', version: 'v' }, /^SEARCH runs USING INDEX runs_listed_by_status \(tenant=\? AND status=\?/],
    [{ status: 'interrupted', anyOwner: false }, /^SEARCH runs USING INDEX runs_listed_by_status \(tenant=\? AND status=\?/],
    [
      { tool: 't', status: 'success', sub: 's' },
      /^SEARCH run_tools USING COVERING INDEX run_tools_listed \(tenant=\? AND tool=\?[^;]*; SEARCH runs USING INDEX \S+ \(tenant=\? AND request_id=\? AND owner=\?\)$/,
    ],
  ]
  const before = { createdAt: 1, requestId: 'r', owner: 'o' }
  for (const [filter, plan] of indexes) {
    for (const bounds of [{}, { before }, { since: 1, until: 2 }, { since: 1, before }]) {
      const found = await page({ ...filter, ...bounds }).then(withoutProbe)
      assert.match(found, plan)
      assert.doesNotMatch(found, /SCAN|TEMP/)
      if ('before' in bounds || 'since' in bounds) assert.match(found, /created_at/)
    }
  }
  for (const status of ['pending', 'running'] as const) {
    assert.match(await page({ status, anyOwner: false, tool: 't' }), /^SCAN runs USING INDEX runs_active; /)
  }
  const ofSession = await page({ sessionId: 's', sub: 's', status: 'error', version: 'v' })
  assert.match(ofSession, /SEARCH runs USING INDEX runs_of_session \(session=\?\)/)
  assert.match(ofSession, /SEARCH sessions USING INDEX \S+ \(tenant=\? AND session_id=\?/)
  assert.doesNotMatch(ofSession, /SCAN/)
})

test('a page of callbacks is read from an index in order, for owners and operators, of any status', async () => {
  const whole = { status: undefined, limit: 9, anyOwner: true, before: undefined }
  const before = { createdAt: 1, requestId: 'r', owner: 'o', configId: 'a' }
  const page = (change: Partial<CallbackPage>) => plansOf((on) => createCallbackListStore(on).list(caller, { ...whole, ...change }))
  for (const bounds of [{}, { before }]) {
    for (const table of ['callbacks', 'task_notifications']) {
      const uses = (index: string, columns: string) => new RegExp(`SEARCH ${table} USING INDEX ${table}_${index} \\(${columns}=\\?`)
      assert.match(await page(bounds), uses('listed', 'tenant'))
      assert.match(await page({ ...bounds, status: 'delivered' }), uses('listed', 'tenant'))
      assert.match(await page({ ...bounds, status: 'failed' }), uses('undelivered', 'tenant=\\? AND status'))
      for (const status of [undefined, 'failed'] as const) {
        const own = await page({ ...bounds, status, anyOwner: false })
        assert.match(own, uses('of_owner', 'tenant=\\? AND owner'))
        // The two pages are merged; neither is sorted before.
        assert.equal(own.match(/TEMP/g)?.length, 1)
      }
    }
  }
  const runs = await plansOf((on) => createCallbackListStore(on).runsOf('t', [{ ...caller, requestId: 'r' }]))
  assert.match(runs, /SEARCH runs USING INDEX \S+ \(tenant=\? AND request_id=\? AND owner=\?\)/)
})

test('a session is found by its id without reading others, also by administrators', async () => {
  for (const anyOwner of [false, true]) {
    const plans = await plansOf((on) => createSessionStore(on).find(caller, 's', { anyOwner }))
    assert.match(plans, /^SEARCH sessions USING INDEX \w+ \(tenant=\? AND session_id=\?/)
  }
})

test('revoked keys are read without reading other keys', async () => {
  const plans = await plansOf((on) => createAccessKeyStore(on).revokedSince(0))
  assert.match(plans, /access_keys_revoked \(revoked_at>\?\)/)
})

test('a page of keys is read from an index, at any position', async () => {
  const page = (before?: { createdAt: number; jti: string }) => plansOf((on) => createAccessKeyStore(on).page('t', { limit: 9, before }))
  assert.equal(await page(), 'SEARCH access_keys USING INDEX access_keys_listed (tenant=?)')
  assert.match(
    await page({ createdAt: 1, jti: 'a' }),
    /^SEARCH access_keys USING INDEX access_keys_listed \(tenant=\? AND \(created_at,jti\)<\(\?,\?\)\)$/,
  )
})

test('logs and metrics are read from an index, and counts from the index only', async () => {
  const of = (ask: (reports: RunReports) => Promise<unknown>) => plansOf((database) => ask(createRunReports(database)))
  const span = { from: 1, to: 2 }
  const whole = { from: undefined, to: undefined }
  const countOf = (queries: Span) => of((reports) => reports.count('t', queries).catch(() => 0))
  assert.match(await countOf(whole), /^SEARCH metrics USING INDEX \S+ \(tenant=\?\)$/)
  assert.match(await countOf(span), /^SEARCH runs USING COVERING INDEX runs_ended \(tenant=\? AND ended_at>\? AND ended_at<\?\)$/)
  const far = await of((reports) => reports.ended('t', { ...whole, limit: 10, offset: 5000 }))
  assert.match(far, /SEARCH metrics USING INDEX \S+ \(tenant=\? AND hour>\? AND hour<\?\)/)
  assert.doesNotMatch(far, /SCAN (runs|metrics)/)
  for (const page of [whole, span])
    assert.match(
      await of((reports) => reports.withRequestId('t', 'r', page)),
      /^SEARCH runs USING INDEX \S+ \(tenant=\? AND request_id=\?\)/,
    )
  for (const page of [whole, span]) {
    const plan = await of((reports) => reports.ended('t', { ...page, limit: 10, offset: 0 }))
    assert.match(plan, /USING INDEX runs_ended/)
    assert.doesNotMatch(plan, /SCAN|TEMP/)
  }
  assert.match(await of((reports) => reports.sums('t', span).catch(() => 0)), /SEARCH metrics USING INDEX \S+ \(tenant=\? AND hour>/)
})

test('expired rows are found with indexes, whatever else is stored', async () => {
  for (const kind of retentionKinds) {
    const tenants = await plansOf((on) => createRetentionStore(on).tenants(kind, 1)[Symbol.asyncIterator]().next())
    assert.match(tenants, /^SEARCH \S+ USING (COVERING )?INDEX \S+ \(tenant>\?\)/, kind)
    assert.doesNotMatch(tenants, /SCAN|TEMP/, kind)
    const removed = await plansOf((on) => createRetentionStore(on).remove(kind, 't', 1, { limit: 9, now: 2 }))
    assert.match(removed, /SEARCH \S+ USING .*INDEX \S+ \(tenant=\? AND (\w+>\? AND )?\w+<\?\)/, kind)
    assert.doesNotMatch(removed, /SCAN|TEMP/, kind)
  }
})

test('unstored runs that have ended long ago are found by an index of their own', async () => {
  const plan = await plansOf((on) => createUnstoredRuns(on).removeExpired(1, 9))
  assert.equal(plan, 'SEARCH runs USING INDEX runs_unstored (ended_at<?)')
})

test('data of removed sessions is found by their keys and ids', async () => {
  // With many a plan by tenant would seem the better one.
  const sessions = Array.from({ length: 200 }, (_, n) => ({ key: `k${n}`, owner: `o${n}`, session_id: `s${n}` }))
  const plans = await plansOf((on) => on.all.unit((connection) => removeSessions(on, connection, 't', sessions, 1)))
  assert.doesNotMatch(plans, /SCAN (?!\d+-ROW VALUES)|TEMP B-TREE FOR ORDER/)
  assert.doesNotMatch(plans, /\(tenant=\?\)/)
  assert.match(plans, /runs_of_session \(session=\?\)/)
  assert.match(plans, /executions_of_session \(tenant=\? AND session_id=\? AND owner=\?\)/)
  const named = await plansOf((on) =>
    on.all.unit((connection) => removeRunDetails(on.db, connection, 't', [{ owner: 'o', request_id: 'r' }])),
  )
  assert.doesNotMatch(named, /SCAN (?!\d+-ROW VALUES|CONSTANT ROW)/)
  assert.match(named, /run_steps USING .*\(tenant=\? AND owner=\? AND request_id=\?\)/)
  assert.match(named, /SEARCH audit_events USING INDEX audit_events_run \(tenant=\? AND request_id=\?\)/)
})
