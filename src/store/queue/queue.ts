import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { NewJob } from '../../runs/jobs.ts'
import type { NextRun } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { query, type Database } from '../database.ts'
import { queueStatements } from './statements.ts'
import { createRunRanks } from './ranks.ts'
import { keyColumns } from '../rows.ts'
import type { RunStatements } from '../runs/statements.ts'
import type { Connection } from '../statement.ts'

/** A session that its active run is about to leave. */
interface SessionHandover {
  tenant: string
  owner: string
  session: string
  /** Request id of the active run. */
  requestId: string
  now: number
}

interface DueRun extends RunKey {
  fence: number
  now: number
  isResumed?: true
}

/** Parts of units of work that give a session to an unclaimed run, and add the job of the run in the same transaction. */
export function runQueue(database: Database, statements: RunStatements) {
  const sessionQueue = queueStatements(database.db)
  const insertJobs: Database['jobs']['insert'] = (connection, jobs) => database.jobs.insert(connection, jobs)
  const ranks = createRunRanks(database)

  /** Hands a locked session to the next run in its queue, and returns the run. */
  async function handOver(
    connection: Connection,
    { tenant, owner, session, requestId, now }: SessionHandover,
  ): Promise<NextRun | undefined> {
    const next = (await statements.handOver(connection, { tenant, session, requestId })).rows[0]?.active_run
    if (!next) return undefined
    const key = { tenant, owner, requestId: next }
    const { holder, fence } = (await sessionQueue.holderOf(connection, key)).rows[0]!
    if (holder === '') await add(connection, { ...key, fence, now })
    return { ...key, holder }
  }

  /** Adds the job of an unclaimed run that has its session. */
  async function add(connection: Connection, { now, isResumed, ...key }: DueRun): Promise<void> {
    const { rows } = await ranks.give(connection, key)
    await insertJobs(connection, [jobOf({ ...key, now, rank: rows[0]?.work_rank ?? 0, ...(isResumed ? { isResumed } : {}) })])
  }

  /** Adds missing jobs of unclaimed runs, because older versions of this program hand sessions over without a job. */
  async function requeue(now: number): Promise<void> {
    const unclaimedRuns = database.db
      .selectFrom('runs')
      .innerJoin('sessions', (join) =>
        join
          .onRef('sessions.tenant', '=', 'runs.tenant')
          .onRef('sessions.key', '=', 'runs.session')
          .onRef('sessions.active_run', '=', 'runs.request_id'),
      )
      .select(['runs.tenant', 'runs.owner', 'runs.request_id as requestId', 'runs.fence', 'runs.work_rank as rank'])
      // Literal values, because the index of unended runs is not used with parameters.
      .where(sql<boolean>`runs.status in ('pending', 'running')`)
      .where(sql<boolean>`runs.status = 'pending'`)
      .where('runs.holder', '=', '')
      .orderBy('runs.place')
      .limit(maxRequeued)
    const { rows } = await query(database.all.read, unclaimedRuns)
    const jobs = rows.map((row) => jobOf({ ...row, rank: row.rank ?? 0, now }))
    if (jobs.length > 0) await database.all.unit((connection) => insertJobs(connection, jobs))
  }

  return { handOver, add, requeue, insertJobs, prepare: ranks.prepare }
}

export type RunQueue = ReturnType<typeof runQueue>

/** The job of an unclaimed run. The fence makes the id unique per release of the run. */
function jobOf({ tenant, owner, requestId, fence, rank, now, isResumed }: DueRun & { rank: number }): NewJob<'run'> {
  const id = `run ${hash('sha256', JSON.stringify([...Object.values(keyColumns({ tenant, owner, requestId })), fence]), 'base64url')}`
  return { id, kind: 'run', tenant, data: { owner, requestId, fence, ...(isResumed ? { isResumed } : {}) }, dueAt: now, rank }
}

/** Jobs per batch, oldest runs first. */
const maxRequeued = 500
