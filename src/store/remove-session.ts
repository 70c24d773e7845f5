import { sql, type Kysely } from 'kysely'
import type { Owner } from '../access/owner.ts'
import { run, type Database } from './database.ts'
import { forgetSession } from './memories.ts'
import type { Connection } from './statement.ts'
import type { Tables } from './tables.ts'

interface Removal {
  who: Owner
  sessionId: string
  jobId: string
  now: number
}

/** A part of one unit of work: all of a session goes, or nothing. */
export async function removeSession(
  { db, jobs }: Pick<Database, 'db' | 'jobs'>,
  connection: Connection,
  { who, sessionId, jobId, now }: Removal,
): Promise<boolean> {
  const { tenant, owner } = who
  // First, as in every unit that changes a session: runs that begin, end or move wait here, and find it gone.
  const gone = db.deleteFrom('sessions').where('tenant', '=', tenant).where('owner', '=', owner).where('session_id', '=', sessionId)
  const session = (await run(connection, gone.returning('key'))).rows[0]?.key
  if (session === undefined) return false
  for (const table of ['messages', 'media'] as const) {
    await run(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('session', '=', session))
  }
  await markRuns(db, connection, who, { session, sessionId })
  await forgetSession(connection, db, who, session)
  await jobs.insert(connection, [{ id: jobId, kind: 'session_deleted', tenant, data: { session }, dueAt: now }])
  return true
}

/** Of its runs, and of tools executed under its id, the request ids are left, so that none is run again. */
async function markRuns(db: Kysely<Tables>, connection: Connection, { tenant, owner }: Owner, ids: SessionIds): Promise<void> {
  const mark = db
    .updateTable('runs')
    .set({
      ...{ status: 'gone', session: null, body_hash: '', request: null, holder: '', message_index: null, agent: '', model: '' },
      ...{ started_at: null, ended_at: null, finish_reason: null, continuable: 0, error: null, log: null },
      ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, latency_ms: 0, ran_ms: 0 },
    })
    .where('tenant', '=', tenant)
    .returning('request_id')
  // First: a run that is just storing a checkpoint is waited for, and stores no other.
  const { rows } = await run(connection, mark.where('session', '=', ids.session))
  const executed = mark
    // A value that stands in the text: only so is the index of executions used.
    .where(sql<boolean>`operation = 'tool_execute'`)
    .where('session_id', '=', ids.sessionId)
    .where('owner', '=', owner)
    .where('status', '!=', 'gone')
  await run(connection, executed)
  for (let from = 0; from < rows.length; from += namesPerStatement) {
    const names = rows.slice(from, from + namesPerStatement).map((row) => row.request_id)
    for (const table of ['run_steps', 'callbacks', 'feedback', 'approvals', 'run_tails'] as const) {
      await run(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('owner', '=', owner).where('request_id', 'in', names))
    }
  }
}

/** Its key, and its id as its caller knows it. */
interface SessionIds {
  session: string
  sessionId: string
}

/** Databases bound the values of one statement. */
const namesPerStatement = 500
