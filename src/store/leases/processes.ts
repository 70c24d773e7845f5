import { sql, type RawBuilder } from 'kysely'
import { query, type Database } from '../database.ts'
import { forgiveLosses, releaseRuns } from '../runs/losses.ts'

/** What operators see of a process. */
export interface ProcessDescription {
  /** Epoch milliseconds. */
  startedAt: number
  host: string
  version: string
}

/** Leases of processes: a process owns its runs until its lease expires. Times are those of the database. */
export interface ProcessStore {
  /** Renews the lease for `leaseMs` milliseconds. True when the previous lease had not expired. */
  renew(id: string, leaseMs: number, process?: ProcessDescription): Promise<boolean>
  /** Ends the lease of a stopping process, whose runs are handed over and not lost. */
  release(id: string): Promise<void>
  /** Takes back losses counted for a process that was alive all the time. */
  forgive(id: string): Promise<void>
}

export function createProcessStore(database: Database): ProcessStore {
  const { db } = database
  const clock = clockOf(database)
  return {
    renew: (id, leaseMs, process) =>
      database.all.unit(async (connection) => {
        const lease = db.selectFrom('processes').select('id').where('id', '=', id).where('alive_until', '>', clock)
        const alive_until = sql<number>`${clock} + ${sql.lit(leaseMs)}`
        const renewed = db
          .insertInto('processes')
          .values({
            id,
            alive_until,
            started_at: process?.startedAt ?? null,
            host: process?.host ?? null,
            version: process?.version ?? null,
          })
          .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until }))
        const longGone = db.deleteFrom('processes').where('alive_until', '<', sql<number>`${clock} - ${sql.lit(forgetMs)}`)
        const [unexpired] = await Promise.all([query(connection, lease), query(connection, renewed), query(connection, longGone)])
        return unexpired.rows.length > 0
      }, withoutRetries),
    async release(id) {
      await database.all.unit(async (connection) => {
        await releaseRuns(database, connection, id)
        await query(connection, db.deleteFrom('processes').where('id', '=', id))
      })
    },
    forgive: (id) => forgiveLosses(database, id),
  }
}

/** Epoch milliseconds of the database, because the clocks of machines differ. */
export function clockOf({ isShared }: Pick<Database, 'isShared'>): RawBuilder<number> {
  return isShared
    ? sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
}

/** Selects the ids of processes whose lease is valid, or expired less than `graceMs` ago. */
export function aliveProcesses(database: Pick<Database, 'db' | 'isShared'>, graceMs = 0) {
  const since = sql<number>`${clockOf(database)} - ${sql.lit(graceMs)}`
  return database.db.selectFrom('processes').select('id').where('alive_until', '>', since)
}

/** `keepHolder` retries renewals itself. */
const withoutRetries = { retryForMs: 0 }

/** Expired leases are deleted after this time, in milliseconds. */
const forgetMs = 24 * 3_600_000

/** Grace longer than any stored lease: with this grace only released processes count as lost. */
export const untilForgottenMs = 2 * forgetMs
