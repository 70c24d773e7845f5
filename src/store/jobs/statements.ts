import { sql, type Kysely } from 'kysely'
import type { JobStore } from './job-store.ts'
import { statement, type Param } from '../statement.ts'
import type { JobRow, Tables } from '../tables.ts'

export function jobInserts(database: Kysely<Tables>): JobStore['insert'] {
  const insert = statement(database, (db, param: Param<JobRow>) =>
    db
      .insertInto('jobs')
      .values({
        id: param('id'),
        kind: param('kind'),
        tenant: param('tenant'),
        data: param('data'),
        due_at: param('due_at'),
        attempts: 0,
        wanted_at: param('wanted_at'),
        rank: param('rank'),
      })
      .onConflict((conflict) => conflict.column('id').doNothing()),
  )
  return async (connection, jobs) => {
    for (const { id, kind, tenant, data, dueAt, rank = 0 } of jobs) {
      await insert(connection, { id, kind, tenant, data: JSON.stringify(data), due_at: dueAt, wanted_at: dueAt, attempts: 0, rank })
    }
  }
}

interface ClaimValues {
  kind: string
  now: number
  /** Epoch milliseconds at which the lease ends. */
  until: number
  limit: number
}

/** A claimed job. Statements leave a job alone that another worker has claimed since. */
type ClaimedRow = Pick<JobRow, 'id' | 'attempts'>

export function jobStatements(database: Kysely<Tables>) {
  return {
    /** Claims due jobs. SQLite has a single writer, so no job goes to two workers. */
    claim: statement(database, (db, param: Param<ClaimValues>) =>
      db
        .with('due', (ctes) =>
          ctes
            .selectFrom('jobs')
            .select('id')
            .where('kind', '=', param('kind'))
            // The `+` keeps SQLite from the index of due times: due jobs are read in the order of the index by rank.
            .where(sql`+due_at`, '<=', param('now'))
            .orderBy('rank')
            .orderBy('due_at')
            .limit(param('limit')),
        )
        .updateTable('jobs')
        .set(({ eb }) => ({ due_at: param('until'), attempts: eb('attempts', '+', 1) }))
        .where('id', 'in', (ctes) => ctes.selectFrom('due').select('id'))
        .returningAll(),
    ),

    nextDue: statement(database, (db, param: Param<{ kind: string }>) =>
      db.selectFrom('jobs').select('due_at').where('kind', '=', param('kind')).orderBy('due_at').limit(1),
    ),

    renew: statement(database, (db, param: Param<ClaimedRow & { until: number }>) =>
      db
        .updateTable('jobs')
        .set({ due_at: param('until') })
        .where('id', '=', param('id'))
        .where('attempts', '=', param('attempts'))
        .returning('id'),
    ),

    /** Makes the job due at `dueAt`. `wantedAt` restarts the day after which a failing job is given up. */
    requeue: statement(database, (db, param: Param<ClaimedRow & { dueAt: number; wantedAt: number }>) =>
      db
        .updateTable('jobs')
        .set({ due_at: param('dueAt'), wanted_at: param('wantedAt') })
        .where('id', '=', param('id'))
        .where('attempts', '=', param('attempts')),
    ),

    remove: statement(database, (db, param: Param<ClaimedRow>) =>
      db.deleteFrom('jobs').where('id', '=', param('id')).where('attempts', '=', param('attempts')),
    ),
  }
}

export type JobStatements = ReturnType<typeof jobStatements>
