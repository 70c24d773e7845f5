import type { Kysely } from 'kysely'
import type { Owner } from '../access/owner.ts'
import { run } from './database.ts'
import { jobInserts } from './job-statements.ts'
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
export async function removeSession(db: Kysely<Tables>, connection: Connection, { who, sessionId, jobId, now }: Removal): Promise<boolean> {
  const { tenant, owner } = who
  // First, as in every unit that changes a session: runs that begin, end or move wait here, and find it gone.
  const gone = db.deleteFrom('sessions').where('tenant', '=', tenant).where('owner', '=', owner).where('session_id', '=', sessionId)
  const session = (await run(connection, gone.returning('key'))).rows[0]?.key
  if (session === undefined) return false
  for (const table of ['messages', 'media'] as const) {
    await run(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('session', '=', session))
  }
  await markRuns(db, connection, who, sessionId)
  await forgetSession(connection, db, who, session)
  await jobInserts(db)(connection, [{ id: jobId, kind: 'session_deleted', tenant, data: { session }, dueAt: now }])
  return true
}

/** Of its runs, and of tools executed under its id, the request ids are left, so that none is run again. */
async function markRuns(db: Kysely<Tables>, connection: Connection, { tenant, owner }: Owner, sessionId: string): Promise<void> {
  const ids = db
    .selectFrom('runs')
    .select('request_id')
    .where('tenant', '=', tenant)
    .where('session_id', '=', sessionId)
    .where('owner', '=', owner)
  const mark = db
    .updateTable('runs')
    .set({
      ...{ status: 'gone', session: null, body_hash: '', request: null, holder: '', message_index: null, agent: '', model: '' },
      ...{ started_at: null, ended_at: null, finish_reason: null, continuable: 0, error: null, log: null },
      ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, latency_ms: 0 },
    })
    .where('tenant', '=', tenant)
    .where('session_id', '=', sessionId)
    .where('owner', '=', owner)
    .where('status', '!=', 'gone')
  // First: a run that is just storing a checkpoint is waited for, and stores no other.
  await run(connection, mark)
  for (const table of ['run_steps', 'callbacks', 'feedback'] as const) {
    await run(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('owner', '=', owner).where('request_id', 'in', ids))
  }
}
