import { sql, type RawBuilder, type Kysely } from 'kysely'
import type { Job, JobKind } from '../../runs/jobs.ts'
import { query, type Database, paramsOf, statement, type Param, type JobStore, type JobTable } from '../database.ts'
import type { JobRow, Tables } from '../tables.ts'

/** Lease in milliseconds: jobs of a killed process wait for the end of their lease. */
const leaseMs = 15_000

/** `JobStore` in the table `jobs` of an embedded database. */
export function tableJobs(database: Pick<Database, 'db' | 'all'>): JobStore {
  const { db, all } = database
  return {
    leaseMs,
    insert: jobInserts(db),
    table: ({ now }) => createJobTable(database, now),
    async count() {
      const counts = db
        .selectFrom('jobs')
        .select(({ fn }) => ['kind', fn.countAll<number>().as('count')])
        .groupBy('kind')
        .orderBy('kind')
      return (await query(all.read, counts)).rows
    },
    async states({ now, running }) {
      const sum = (condition: RawBuilder<unknown>) => sql<number>`sum(case when ${condition} then 1 else 0 end)`
      const late = sql`due_at > ${now} and due_at > wanted_at and attempts > 0`
      const counts = db
        .selectFrom('jobs')
        .select(['kind', sum(sql`due_at <= ${now}`).as('due'), sum(late).as('late'), sql<number>`count(*)`.as('total')])
        .groupBy('kind')
        .orderBy('kind')
      return (await query(all.read, counts)).rows.map(({ kind, due, late, total }) => {
        // A claimed job and a failed one are both due later than they were wanted.
        const active = Math.min(running.get(kind) ?? 0, late)
        return { kind, due, scheduled: total - due - late, running: active, failed: late - active }
      })
    },
  }
}

/** Delay in milliseconds before the next poll when another worker claimed the due jobs first. */
const raceMs = 100

function createJobTable(database: Pick<Database, 'db' | 'all'>, now: () => number): JobTable {
  const { read, unit } = database.all
  const statements = jobStatements(database.db)

  async function remove(job: Job): Promise<void> {
    await unit((connection) => statements.remove(connection, claimOf(job)))
  }

  return {
    async claim(kind, limit) {
      const due = (await statements.nextDue(read, { kind })).rows[0]?.due_at
      if (due === undefined || due > now()) return { claimed: [], nextMs: due && due - now() }
      const claim = { kind, limit, now: now(), until: now() + leaseMs }
      const { rows } = await unit((connection) => statements.claim(connection, claim))
      // `returning` has no order.
      const inOrder = rows.toSorted((a, b) => a.rank - b.rank || a.wanted_at - b.wanted_at)
      return { claimed: inOrder.map((row) => ({ job: toJob(row), wantedAt: row.wanted_at })), nextMs: rows.length > 0 ? 0 : raceMs }
    },
    async renew(jobs) {
      const until = now() + leaseMs
      return unit(async (connection) => {
        const lostJobs: Job[] = []
        for (const job of jobs) if ((await statements.renew(connection, { ...claimOf(job), until })).rows.length === 0) lostJobs.push(job)
        return lostJobs
      })
    },
    async requeue(job, dueAt, wantedAt) {
      await unit((connection) => statements.requeue(connection, { ...claimOf(job), dueAt, wantedAt }))
    },
    remove,
    giveUp: remove,
  }
}

function claimOf({ id, attempt }: Job) {
  return { id, attempts: attempt }
}

function toJob({ id, kind, tenant, data, due_at, attempts, rank }: JobRow): Job {
  return { id, kind: kind as JobKind, tenant, data: JSON.parse(data) as Job['data'], dueAt: due_at, attempt: attempts, rank }
}

export function jobInserts(database: Kysely<Tables>): JobStore['insert'] {
  const insert = statement(database, (db, param: Param<JobRow>) =>
    db
      .insertInto('jobs')
      .values({ ...paramsOf(param, ['id', 'kind', 'tenant', 'data', 'due_at', 'wanted_at', 'rank']), attempts: 0 })
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
