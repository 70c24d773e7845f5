import { sql, type Kysely } from 'kysely'
import { unstoredMs, type Unstored, type RunKey } from '../../runs/run.ts'
import { query, type Database, type Connection } from '../database.ts'
import { isInPairs, removeRuns, removeSessions, whereTenant } from '../sessions/remove-session.ts'
import type { RunRow, Tables } from '../tables.ts'

type ExpiredRun = Pick<RunRow, 'tenant' | 'owner' | 'request_id' | 'session'>

/** Marks a new run, as a part of the unit of work that inserts the run. */
export async function markUnstored(
  db: Kysely<Tables>,
  connection: Connection,
  { tenant, owner, requestId, unstored }: RunKey & { unstored?: Unstored },
  session: string,
): Promise<void> {
  const run = db.updateTable('runs').set({ unstored: 1 }).where('tenant', '=', tenant).where('request_id', '=', requestId)
  await query(connection, run.where('owner', '=', owner))
  const ofRun = db.updateTable('sessions').set({ unstored: 1 }).where(whereTenant(tenant)).where('key', '=', session)
  if (unstored === 'session') await query(connection, ofRun)
}

/** Sessions that one transaction removes: on SQLite, every other write waits for the transaction. */
const sessionsPerUnit = 50

/** Removes unstored runs some time after their end. */
export function createUnstoredRuns(database: Database) {
  const { db, all, forTenant, isShared } = database
  // A literal value, because the partial index is not used with a parameter.
  const ended = (before: number) =>
    db
      .selectFrom('runs')
      .select(['tenant', 'owner', 'request_id', 'session', 'operation', 'ended_at'])
      .where(sql<boolean>`unstored = 1`)
      .where('ended_at', '<', before)
      .orderBy('ended_at')

  /** The runs with a kept session. Removes the remaining runs with the sessions, except runs that another transaction has locked. */
  async function removeWithSessions(
    connection: Connection,
    tenant: string,
    runs: readonly ExpiredRun[],
    now: number,
  ): Promise<ExpiredRun[]> {
    const keys = runs.flatMap(({ session }) => session ?? [])
    if (keys.length === 0) return [...runs]
    const marked = db.selectFrom('sessions').select(['key', 'owner', 'session_id']).where(whereTenant(tenant)).where('key', 'in', keys)
    const unstored = marked.where('unstored', '=', 1)
    const withSession = new Set((await query(connection, unstored)).rows.map(({ key }) => key))
    const free = unstored.where('active_run', 'is', null)
    const { rows } = await query(connection, isShared ? free.forUpdate().skipLocked() : free)
    if (rows.length > 0) await removeSessions(database, connection, tenant, rows, now)
    return runs.filter(({ session }) => session === null || !withSession.has(session))
  }

  function removeOf(tenant: string, runs: readonly ExpiredRun[], before: number, now: number): Promise<void> {
    return forTenant(tenant).unit(async (connection) => {
      const sessionless = await removeWithSessions(connection, tenant, runs, now)
      if (sessionless.length === 0) return
      const rest = ended(before)
        .where('tenant', '=', tenant)
        .where(isInPairs(['request_id', 'owner'], sessionless))
      const { rows } = await query(connection, isShared ? rest.forUpdate().skipLocked() : rest)
      await removeRuns(db, connection, tenant, rows, now)
    })
  }

  return {
    /** Removes runs that ended more than `unstoredMs` ago, oldest first, at most `limit`. Resolves with 0 after the last. */
    async removeExpired(now: number, limit: number): Promise<number> {
      const before = now - unstoredMs
      const batch = Math.min(limit, sessionsPerUnit)
      const { rows } = await query(all.read, ended(before).limit(batch))
      for (const [tenant, runs] of Map.groupBy(rows, (row) => row.tenant)) await removeOf(tenant, runs, before, now)
      // Locked runs were left: another call is to remove them later.
      return rows.length === batch ? batch : 0
    },
  }
}
