import { randomUUIDv7 } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import { query, type Database } from '../database.ts'
import { uncount } from '../reports/log-counts.ts'
import { forgetSession } from '../memory/memories.ts'
import type { Connection } from '../statement.ts'
import { removedWithRun, removedWithSession, type RunRow, type SessionRow, type Tables } from '../tables.ts'
import { whereChat, whereToolExecution } from '../runs/where-chat.ts'

interface Removal {
  caller: Owner
  sessionId: string
  jobId: string
  now: number
}

/** A part of one unit of work: all of a session goes, or nothing. */
export async function removeSession(
  { db, jobs }: Pick<Database, 'db' | 'jobs'>,
  connection: Connection,
  { caller, sessionId, jobId, now }: Removal,
): Promise<boolean> {
  const { tenant, owner } = caller
  // First, as in every unit that changes a session: runs that begin, end or move wait here, and find it gone.
  const deletion = db.deleteFrom('sessions').where('tenant', '=', tenant).where('owner', '=', owner).where('session_id', '=', sessionId)
  const { rows } = await query(connection, deletion.returning(['owner', 'session_id', 'key']))
  const session = rows[0]
  if (!session) return false
  await removeContents(db, connection, tenant, rows, now)
  await jobs.insert(connection, [{ id: jobId, kind: 'session_deleted', tenant, data: { session: session.key }, dueAt: now }])
  return true
}

type RemovedSession = Pick<SessionRow, 'owner' | 'session_id' | 'key'>

/**
 * The same for sessions that the unit holds locked. Whoever keeps files is told of those whose messages have some; what else there may be
 * is swept.
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
    await query(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('session', 'in', keys))
  }
  const ended = db.selectFrom('runs').select('ended_at').where(whereTenant(tenant)).where('session', 'in', keys)
  const logged = await query(connection, ended.where('ended_at', 'is not', null).where(whereChat))
  await uncount(connection, db, tenant, logged.rows)
  const mark = toTombstone(db, now).returning(['owner', 'request_id'])
  // First: a run that is just storing a checkpoint is waited for, and stores no other.
  const { rows } = await query(connection, mark.where(whereTenant(tenant)).where('session', 'is not', null).where('session', 'in', keys))
  const executed = mark
    .where('tenant', '=', tenant)
    .where(whereToolExecution)
    .where(isOneOf(['session_id', 'owner'], sessions))
    .where('status', '!=', 'gone')
  await query(connection, executed)
  await removeRunDetails(db, connection, tenant, rows)
  const sources = db.selectFrom('memory_sources').select('session').distinct().where('tenant', '=', tenant).where('session', 'in', keys)
  const learned = new Set((await query(connection, sources)).rows.map(({ session }) => session))
  const byOwner = sessions.filter(({ key }) => learned.has(key)).toSorted((a, b) => (a.owner < b.owner ? -1 : 1))
  for (const { owner, key } of byOwner) await forgetSession(connection, db, { tenant, owner }, key)
}

/** A run that is a mark: of it, and of tools that were executed, the request ids are left, so that none is run again. */
export function toTombstone(db: Kysely<Tables>, now: number) {
  return db.updateTable('runs').set({
    ...{ status: 'gone', session: null, body_hash: '', request: null, holder: '', message_index: null, agent: '', model: '' },
    ...{ started_at: null, ended_at: null, finish_reason: null, continuable: 0, error: null, log: null },
    ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, latency_ms: 0, ran_ms: 0 },
    ...{ work_rank: null, gone_at: now },
  })
}

type RunColumns = Pick<RunRow, 'owner' | 'request_id'>

/** What stands beside the rows of runs that have become marks. */
export async function removeRunDetails(
  db: Kysely<Tables>,
  connection: Connection,
  tenant: string,
  runs: readonly RunColumns[],
): Promise<void> {
  for (let start = 0; start < runs.length; start += namesPerStatement) {
    const isInSlice = isOneOf(['owner', 'request_id'], runs.slice(start, start + namesPerStatement))
    for (const table of removedWithRun) {
      await query(connection, db.deleteFrom(table).where('tenant', '=', tenant).where(isInSlice))
    }
  }
}

/**
 * Whether a row is this tenant's, where what else is asked names it. Said plainly, SQLite would take an index by tenant for a better one
 * than that of a list of keys, and look at all that the tenant has.
 */
export function whereTenant(tenant: string): RawBuilder<boolean> {
  return sql<boolean>`tenant || '' = ${tenant}`
}

/** Whether two columns together are one of these pairs. Both databases look each of them up in an index. */
export function isOneOf<A extends string, B extends string>([a, b]: [A, B], rows: readonly Record<A | B, string>[]): RawBuilder<boolean> {
  const pairs = sql.join(rows.map((row) => sql`(${row[a]}, ${row[b]})`))
  return sql<boolean>`(${sql.ref(a)}, ${sql.ref(b)}) in (values ${pairs})`
}

/** Databases bound the values of one statement. */
const namesPerStatement = 500
