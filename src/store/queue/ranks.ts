import { sql } from 'kysely'
import { query, type Database } from '../database.ts'
import { whereRun } from '../runs/statements.ts'
import type { RunKey } from '../../runs/run.ts'
import { statement, type Connection, type Param } from '../statement.ts'

/**
 * Order of async runs by fair queueing. The rank of a run is one more than the highest rank of the caller's unended runs, and at least the
 * lowest rank of all waiting runs. Runs of one caller keep their order of arrival, callers take turns, and no burst delays other callers.
 */
export function createRunRanks(database: Database) {
  const { db } = database
  // Literal conditions, because the partial indexes are not used with parameters.
  const lowest = db
    .selectFrom('runs')
    .select(({ fn }) => fn.min('work_rank').as('rank'))
    .where(sql<boolean>`status = 'pending' and work_rank is not null`)

  const give = statement(db, (builder, param: Param<RunKey & { front: number }>) => {
    const unendedOfCaller = sql`tenant = ${param('tenant')} and owner = ${param('owner')} and status in ('pending', 'running')`
    const front = sql`cast(${param('front')} as integer)`
    const last = sql`select work_rank as last from runs where ${unendedOfCaller} and work_rank is not null order by work_rank desc limit 1`
    const next = sql`coalesce((select case when last >= ${front} then last + 1 end from (${last}) as own), ${front})`
    return (
      builder
        .updateTable('runs')
        // A resumed run keeps its rank.
        .set({ work_rank: sql<number>`coalesce(work_rank, ${next})` })
        .where((is) => is.and(whereRun(param)))
        .returning('work_rank')
    )
  })

  /** The lowest rank of all waiting runs. A slightly stale value works as well. */
  let front = 0
  let refreshedAt = -Infinity
  let refreshing: Promise<void> | undefined

  async function refresh(): Promise<void> {
    try {
      front = (await query(database.all.read, lowest)).rows[0]?.rank ?? 0
      refreshedAt = performance.now()
    } finally {
      refreshing = undefined
    }
  }

  return {
    /** Refreshes the lowest rank. Called before a unit of work, because a unit must not wait for other queries. */
    async prepare(): Promise<void> {
      if (performance.now() - refreshedAt > freshMs) await (refreshing ??= refresh())
    },
    give(connection: Connection, key: RunKey) {
      if (performance.now() - refreshedAt > freshMs) void (refreshing ??= refresh().catch(() => undefined))
      return give(connection, { ...key, front })
    },
  }
}

const freshMs = 100
