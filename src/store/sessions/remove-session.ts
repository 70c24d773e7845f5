import { randomUUIDv7 } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { Acting } from '../../audit/acts.ts'
import { toLapsed, toUnknown } from '../../runs/execution/acts.ts'
import { query, type Database, type Connection } from '../database.ts'
import { subtractFromLogCounts } from '../reports/log-counts.ts'
import { forgetSession } from '../memory/memories.ts'
import { removedWithRun, removedWithSession, type RunRow, type SessionRow, type Tables } from '../tables.ts'
import { isChat, keyColumns } from '../rows.ts'
import { createRecordActs } from '../runs/acts.ts'
import { whereChat, whereToolExecution } from '../runs/statements.ts'

interface Removal {
  caller: Owner
  sessionId: string
  jobId: string
  now: number
  /** Who deletes the session, for the ledger. */
  acting?: Acting
}

/** Removes a session with all its contents, as a part of a unit of work. False when the session does not exist. */
export async function removeSession(
  { db, jobs, ledger }: Pick<Database, 'db' | 'jobs' | 'ledger'>,
  connection: Connection,
  { caller, sessionId, jobId, now, acting }: Removal,
): Promise<boolean> {
  const { tenant, owner } = caller
  // First statement, as in every unit that changes a session: concurrent runs wait for the lock, and then find no session.
  const deletion = db.deleteFrom('sessions').where('tenant', '=', tenant).where('owner', '=', owner).where('session_id', '=', sessionId)
  const { rows } = await query(connection, deletion.returning(['owner', 'session_id', 'key']))
  const session = rows[0]
  if (!session) return false
  const closeRuns = await runsToClose({ db, ledger }, connection, { tenant, owner, sessionId, now })
  await removeContents(db, connection, tenant, rows, now)
  await closeRuns()
  await jobs.insert(connection, [{ id: jobId, kind: 'session_deleted', tenant, data: { session: session.key }, dueAt: now }])
  await ledger.record(connection, tenant, acting, { action: 'session.deleted', target: `session:${sessionId}` })
  return true
}

/**
 * What the ledger says of runs and executions that the removal of their session cuts off: waiting calls lapse, and the outcome of started calls is
 * unknown. The returned function is called when nothing can store a start any more.
 */
async function runsToClose(
  database: Pick<Database, 'db' | 'ledger'>,
  connection: Connection,
  { tenant, owner, sessionId, now }: Owner & { sessionId: string; now: number },
): Promise<() => Promise<void>> {
  const { db } = database
  const recordActs = createRecordActs(database)
  const ofSession = db.selectFrom('runs').select(['request_id', 'config_version']).where('tenant', '=', tenant).where('owner', '=', owner)
  const unended = ofSession.where('session_id', '=', sessionId).where('status', 'in', ['pending', 'running', 'interrupted'])
  const cut = (await query(connection, unended)).rows.map(({ request_id: requestId, config_version }) => ({
    key: { tenant, owner, requestId },
    agent: { version: config_version ?? undefined },
    now: () => now,
    newId: randomUUIDv7,
  }))
  const lapsed = await Promise.all(
    cut.map(({ key }) => {
      const waiting = db.selectFrom('approvals').select(['call_id as callId', 'tool', 'by']).where('decision', 'is', null)
      return query(connection, waiting.where((is) => is.and(keyColumns(key))).where('salt', 'is not', null))
    }),
  )
  return async () => {
    for (const [index, context] of cut.entries())
      await recordActs(connection, context.key, (open) => [
        ...lapsed[index]!.rows.map((call) => toLapsed(context, call)),
        ...open.map((call) => toUnknown(context, call)),
      ])
  }
}

type RemovedSession = Pick<SessionRow, 'owner' | 'session_id' | 'key'>

/**
 * Removes sessions that the unit of work has locked. Adds a job that deletes the files of each session with artifacts in the messages;
 * a sweep finds the remaining files.
 */
export async function removeSessions(
  { db, jobs }: Pick<Database, 'db' | 'jobs'>,
  connection: Connection,
  tenant: string,
  sessions: readonly RemovedSession[],
  now: number,
): Promise<void> {
  const keys = sessions.map(({ key }) => key)
  const ofSessions = db.selectFrom('messages').where('tenant', '=', tenant).where('session', 'in', keys)
  const withFiles = ofSessions.select('session').distinct().where('data', 'like', '%"artifacts":[%')
  const { rows } = await query(connection, withFiles)
  await query(connection, db.deleteFrom('sessions').where(whereTenant(tenant)).where('key', 'in', keys))
  await removeContents(db, connection, tenant, sessions, now)
  const notifications = rows.map(({ session }) => ({
    id: randomUUIDv7(),
    kind: 'session_deleted' as const,
    tenant,
    data: { session },
    dueAt: now,
  }))
  await jobs.insert(connection, notifications)
}

async function removeContents(
  db: Kysely<Tables>,
  connection: Connection,
  tenant: string,
  sessions: readonly RemovedSession[],
  now: number,
): Promise<void> {
  const keys = sessions.map(({ key }) => key)
  for (const table of removedWithSession) {
    await query(connection, db.deleteFrom(table).where(whereTenant(tenant)).where('session', 'in', keys))
  }
  await removeWindows(db, connection, tenant, keys)
  const ended = db.selectFrom('runs').select('ended_at').where(whereTenant(tenant)).where('session', 'in', keys)
  const logged = await query(connection, ended.where('ended_at', 'is not', null).where(whereChat))
  await subtractFromLogCounts(connection, db, tenant, logged.rows)
  const mark = toTombstone(db, now).returning(['owner', 'request_id'])
  // Before the details of runs: waits for a run that is storing a checkpoint, and prevents further checkpoints.
  const { rows } = await query(connection, mark.where(whereTenant(tenant)).where('session', 'is not', null).where('session', 'in', keys))
  const executed = mark
    .where('tenant', '=', tenant)
    .where(whereToolExecution)
    .where(isInPairs(['session_id', 'owner'], sessions))
    .where('status', '!=', 'gone')
  const executions = await query(connection, executed)
  await removeRunDetails(db, connection, tenant, rows)
  await forgetSalts(db, connection, tenant, executions.rows)
  const sources = db.selectFrom('memory_sources').select('session').distinct().where('tenant', '=', tenant).where('session', 'in', keys)
  const learned = new Set((await query(connection, sources)).rows.map(({ session }) => session))
  const byOwner = sessions.filter(({ key }) => learned.has(key)).toSorted((a, b) => (a.owner < b.owner ? -1 : 1))
  for (const { owner, key } of byOwner) await forgetSession(connection, db, { tenant, owner }, key)
}

/** Removes the salts of what the ledger says about runs: nobody can find out any more which inputs its hashes are of. */
async function forgetSalts(db: Kysely<Tables>, connection: Connection, tenant: string, runs: readonly RunColumns[]): Promise<void> {
  for (let start = 0; start < runs.length; start += namesPerStatement) {
    const isInSlice = isInPairs(['request_id', 'owner'], runs.slice(start, start + namesPerStatement))
    const salted = db.updateTable('audit_events').set({ salt: null }).where('tenant', '=', tenant).where(isInSlice)
    await query(connection, salted.where('request_id', 'is not', null).where('salt', 'is not', null))
  }
}

/** Removes what budgets have counted for runs and sessions, by their subjects. */
async function removeWindows(db: Kysely<Tables>, connection: Connection, tenant: string, subjects: readonly string[]): Promise<void> {
  const ofLives = db.deleteFrom('budget_windows').where(whereTenant(tenant)).where('window_start', '=', 0)
  await query(connection, ofLives.where('subject', 'in', subjects))
}

/** Turns runs and tool executions into tombstones, which keep the request ids so that no request runs again. */
export function toTombstone(db: Kysely<Tables>, now: number) {
  const emptied = {
    status: 'gone',
    session: null,
    body_hash: '',
    request: null,
    holder: '',
    message_index: null,
    agent: '',
    model: '',
    started_at: null,
    ended_at: null,
    finish_reason: null,
    continuable: 0,
    error: null,
    log: null,
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    latency_ms: 0,
    ran_ms: 0,
    work_rank: null,
    sub: null,
    input: null,
    config_version: null,
    cost: null,
    tool_errors: null,
    gone_at: now,
    unstored: null,
    message_ranks: null,
    open_messages: null,
    continues: null,
  } satisfies Record<Exclude<keyof RunRow, KeptColumn>, string | number | null>
  return db.updateTable('runs').set(emptied)
}

/** The columns of a run that its tombstone keeps: no content, and nothing of the answer. */
type KeptColumn =
  | 'tenant'
  | 'owner'
  | 'request_id'
  | 'session_id'
  | 'operation'
  | 'on_disconnect'
  | 'fence'
  | 'place'
  | 'created_at'
  | 'losses'
  | 'has_notifications'

type RunColumns = Pick<RunRow, 'owner' | 'request_id'>

type EndedRow = RunColumns & Pick<RunRow, 'operation' | 'ended_at'>

/** Removes ended runs that the unit of work has locked, and leaves their sessions. */
export async function removeRuns(
  db: Kysely<Tables>,
  connection: Connection,
  tenant: string,
  runs: readonly EndedRow[],
  now: number,
): Promise<void> {
  if (runs.length === 0) return
  await subtractFromLogCounts(connection, db, tenant, runs.filter(isChat))
  await query(
    connection,
    toTombstone(db, now)
      .where('tenant', '=', tenant)
      .where(isInPairs(['request_id', 'owner'], runs)),
  )
  await removeRunDetails(db, connection, tenant, runs)
}

/** Removes the rows of other tables that belong to runs which became tombstones. */
export async function removeRunDetails(
  db: Kysely<Tables>,
  connection: Connection,
  tenant: string,
  runs: readonly RunColumns[],
): Promise<void> {
  for (let start = 0; start < runs.length; start += namesPerStatement) {
    const isInSlice = isInPairs(['owner', 'request_id'], runs.slice(start, start + namesPerStatement))
    for (const table of removedWithRun) {
      await query(connection, db.deleteFrom(table).where('tenant', '=', tenant).where(isInSlice))
    }
  }
  await forgetSalts(db, connection, tenant, runs)
  const subjects = runs.map(({ request_id, owner }) => `${request_id} ${owner}`)
  for (let start = 0; start < subjects.length; start += namesPerStatement)
    await removeWindows(db, connection, tenant, subjects.slice(start, start + namesPerStatement))
}

/**
 * True when a row belongs to the tenant, without using an index by tenant. With a plain comparison SQLite would prefer that index to the one
 * of a list of keys, and read all rows of the tenant.
 */
export function whereTenant(tenant: string): RawBuilder<boolean> {
  return sql<boolean>`tenant || '' = ${tenant}`
}

/** True when two columns equal one of the pairs. Both databases look up each pair in an index. */
export function isInPairs<A extends string, B extends string>([a, b]: [A, B], rows: readonly Record<A | B, string>[]): RawBuilder<boolean> {
  const pairs = sql.join(rows.map((row) => sql`(${row[a]}, ${row[b]})`))
  return sql<boolean>`(${sql.ref(a)}, ${sql.ref(b)}) in (values ${pairs})`
}

/** Pairs per statement: databases limit the number of parameters. */
const namesPerStatement = 500
