import { sql } from 'kysely'
import { query, type Database } from '../database.ts'
import { whereRun } from '../runs/statements.ts'
import type { RunKey } from '../../runs/run.ts'
import { statement, type Connection, type Param } from '../statement.ts'

/**
 * In which order async runs are worked on: fair queueing. A run's rank is one more than the highest of its caller's that have not ended,
 * and at least that of the run which is next of all. So those of one caller go in the order in which they came, those of several callers in
 * turns, and nobody's burst holds up the others.
 */
export function createRunRanks(database: Database) {
  const { db } = database
  // The conditions stand in the text: only so are the small indexes used.
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
        // One that goes on has its place already.
        .set({ work_rank: sql<number>`coalesce(work_rank, ${next})` })
        .where((is) => is.and(whereRun(param)))
        .returning('work_rank')
    )
  })

  /** The rank of the run that is next of all. A little out of date it is as good. */
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
    /** Comes before the unit, which must not wait for it. */
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
