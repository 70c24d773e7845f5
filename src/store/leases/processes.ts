import { sql, type RawBuilder } from 'kysely'
import { query, type Database } from '../database.ts'
import { forgiveLosses, releaseRuns } from '../runs/losses.ts'

/** Leases: what belongs to a process is its own until then, and as long as it says so again. Times are those of the database. */
export interface ProcessStore {
  /** Says that a process is there for so long; true where its last lease had not run out yet. */
  renew(id: string, lifeMs: number): Promise<boolean>
  /** The process is gone by its own word: its runs are handed over, not lost. */
  release(id: string): Promise<void>
  /** The process was there all the time: runs that were taken over from it were not lost with it. */
  forgive(id: string): Promise<void>
}

export function createProcessStore(database: Database): ProcessStore {
  const { db } = database
  const clock = clockOf(database)
  return {
    renew: (id, lifeMs) =>
      database.all.unit(async (connection) => {
        const lease = db.selectFrom('processes').select('id').where('id', '=', id).where('alive_until', '>', clock)
        const alive_until = sql<number>`${clock} + ${sql.lit(lifeMs)}`
        const renewed = db
          .insertInto('processes')
          .values({ id, alive_until })
          .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until }))
        const longGone = db.deleteFrom('processes').where('alive_until', '<', sql<number>`${clock} - ${sql.lit(forgetMs)}`)
        const [unexpired] = await Promise.all([query(connection, lease), query(connection, renewed), query(connection, longGone)])
        return unexpired.rows.length > 0
      }, atOnce),
    async release(id) {
      await database.all.unit(async (connection) => {
        await releaseRuns(database, connection, id)
        await query(connection, db.deleteFrom('processes').where('id', '=', id))
      })
    },
    forgive: (id) => forgiveLosses(database, id),
  }
}

/** Epoch milliseconds as the database knows them: the clocks of machines differ. */
export function clockOf({ isShared }: Pick<Database, 'isShared'>): RawBuilder<number> {
  return isShared
    ? sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
}

/** Ids of the processes whose lease lasts, or ran out less than `graceMs` ago. */
export function aliveProcesses(database: Pick<Database, 'db' | 'isShared'>, graceMs = 0) {
  const since = sql<number>`${clockOf(database)} - ${sql.lit(graceMs)}`
  return database.db.selectFrom('processes').select('id').where('alive_until', '>', since)
}

/** Whoever renews a lease asks again by itself. */
const atOnce = { retryForMs: 0 }

/** A process that has not been seen for so long is gone. */
const forgetMs = 24 * 3_600_000

/** Longer than any lease that is remembered: only those are gone then that said so. */
export const untilForgottenMs = 2 * forgetMs
