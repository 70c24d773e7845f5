import type { Turn, NewMessage, TakenOver, TakeOver, NextRun } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import type { MessageData } from '../../sessions/message.ts'
import { query, type Database, statement, allSettledOrThrow, type Connection, type Param } from '../database.ts'
import { createSettle, earlierFences } from '../budgets/settle.ts'
import { queueStatements } from './statements.ts'
import { countOf, hourMs, hourOf, parseJson, toWindow, toMessageRow, keyColumns, isChat } from '../rows.ts'
import { createRecordActs } from '../runs/acts.ts'
import { whereRun, type RunStatements } from '../runs/statements.ts'
import type { RunRow, SessionRow } from '../tables.ts'
import { reachState } from '../../states.ts'
import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { NewJob } from '../../runs/jobs.ts'

type QueueStatements = ReturnType<typeof queueStatements>
type WaitingRun = RunKey & Pick<RunRow, 'session' | 'fence' | 'message_index'>
type SessionState = Pick<SessionRow, 'active_run' | 'message_count' | 'window_start' | 'summary'>

/** Parts of units of work that move a run into its session, or to another process. */
export function runMoves(database: Database, statements: RunStatements) {
  const sessionQueue = queueStatements(database.db)
  const queue = runQueue(database, statements, sessionQueue)
  const entries = sessionEntries(database, statements, sessionQueue)
  return { ...queue, ...entries, ...holderChanges(database, sessionQueue, queue, entries) }
}

/** The rows of a session that a run enters. */
function sessionEntries({ db }: Database, statements: RunStatements, sessionQueue: QueueStatements) {
  async function find(connection: Connection, key: RunKey): Promise<RunRow | undefined> {
    return (await statements.findRow(connection, key)).rows.find(isChat)
  }

  async function lock(connection: Connection, tenant: string, session: string | null) {
    return session === null ? undefined : (await sessionQueue.lockSession(connection, { tenant, session })).rows[0]
  }

  /** Inserts messages; `lastIndex` is the index of the last message. */
  async function insertMessages(
    connection: Connection,
    tenant: string,
    session: string,
    lastIndex: number,
    messages: readonly NewMessage[],
  ) {
    let idx = lastIndex - messages.length + 1
    for (const message of messages) await statements.insertMessage(connection, { tenant, session, idx: idx++, ...toMessageRow(message) })
  }

  /** Starts a waiting run that owns its locked session, and stores the human message unless already stored. */
  async function enter(
    connection: Connection,
    run: WaitingRun,
    state: SessionState,
    messages: readonly NewMessage[],
    now: number,
  ): Promise<Turn | undefined> {
    const { tenant, requestId } = run
    const session = run.session ?? ''
    const stored = run.message_index !== null ? [] : state.message_count === 0 ? messages : messages.slice(-1)
    const remainingCount =
      run.message_index === null ? state.message_count : await deletePartialAnswer(connection, run, session, state.message_count)
    const messageCount = remainingCount + stored.length
    const messageIndex = run.message_index ?? messageCount - 1
    const started = await sessionQueue.startRun(connection, { ...run, status: 'pending', messageIndex, now })
    if (started.rows.length === 0) return undefined
    await allSettledOrThrow([
      sessionQueue.enterSession(connection, { tenant, session, requestId, messageCount, now }),
      insertMessages(connection, tenant, session, messageCount - 1, stored),
    ])
    return { session, messageIndex, messageCount, ...toWindow(state) }
  }

  /** Deletes the partial answer of the run when it is the session's last message. Returns the new number of messages. */
  async function deletePartialAnswer(connection: Connection, { tenant, requestId }: RunKey, session: string, messageCount: number) {
    const last = { tenant, session, idx: messageCount - 1 }
    const { rows } = await query(
      connection,
      db
        .selectFrom('messages')
        .select(['role', 'data'])
        .where((is) => is.and(last)),
    )
    const data = parseJson<MessageData>(rows[0]?.data ?? null)
    if (rows[0]?.role !== 'ai' || data?.requestId !== requestId) return messageCount
    reachState('partial-answer-replaced')
    await query(
      connection,
      db.deleteFrom('messages').where((is) => is.and(last)),
    )
    return messageCount - 1
  }

  return { find, lock, insertMessages, enter }
}

/** Changes of the process that holds a run. */
function holderChanges(database: Database, sessionQueue: QueueStatements, queue: RunQueue, { enter }: ReturnType<typeof sessionEntries>) {
  const { db } = database
  const settle = createSettle(database)
  const recordActs = createRecordActs(database)
  const lapse = statement(db, (db, param: Param<RunKey & { now: number }>) =>
    db
      .updateTable('approvals')
      .set({ decision: 'lapsed', decided_at: param('now') })
      .where((is) => is.and(whereRun(param)))
      .where('decision', 'is', null)
      .returning(['call_id as callId', 'tool', 'by', 'salt']),
  )

  /** Gives a run to a process, and starts it when the session is free or its own. Undefined when the run has changed since `row` was read. */
  async function take(
    connection: Connection,
    row: RunRow,
    state: SessionState | undefined,
    { holder, queueOrder, messages, now, settles, toLapsed = () => [] }: TakeOver,
  ): Promise<TakenOver | undefined> {
    const fence = row.fence + 1
    const run = { ...row, requestId: row.request_id, fence }
    const takenRun = await sessionQueue.takeRun(connection, {
      ...run,
      fence: row.fence,
      newFence: fence,
      holder,
      place: queueOrder,
      acceptedBy: holder,
      // A repeated request resets the losses.
      losses: row.ended_at === null ? row.losses : null,
    })
    if (takenRun.rows.length === 0) return undefined
    if (settles && (await settle(connection, earlierFences({ ...row, fence }))) > 0) reachState('budget-taken-over')
    if (row.status === 'interrupted') {
      const { rows } = await lapse(connection, { ...run, now })
      const asked = rows.filter(({ salt }) => salt !== null)
      if (asked.length > 0) await recordActs(connection, run, toLapsed(asked))
    }
    // The resumed run gets a free session. Waiting runs keep their order of arrival.
    const isOurs = state && (state.active_run === null || state.active_run === row.request_id)
    const turn = isOurs ? await enter(connection, run, state, messages, now) : undefined
    if (row.ended_at !== null) await subtractMetrics(connection, row, row.ended_at)
    if (!turn) reachState('takeover-in-queue')
    return turn ? { kind: 'running', turn, fence } : { kind: 'waiting', fence }
  }

  /** Makes an unended run unclaimed, and adds a job for it when its session is free or its own. False when the run has changed since `row` was read. */
  async function release(connection: Connection, row: RunRow, state: SessionState | undefined, now: number): Promise<boolean> {
    const key = { tenant: row.tenant, owner: row.owner, requestId: row.request_id }
    const fence = (await sessionQueue.releaseRun(connection, { ...row, ...key })).rows[0]?.fence
    if (fence === undefined) return false
    if (!state || row.session === null) return true
    if (state.active_run === null) await sessionQueue.giveSession(connection, { ...key, session: row.session })
    const isOurs = state.active_run === null || state.active_run === row.request_id
    if (isOurs) await queue.add(connection, { ...key, fence, now, ...(row.status === 'interrupted' ? { isResumed: true } : {}) })
    return true
  }

  /** Subtracts a resumed run from the metrics: the run is counted again at its next end. */
  async function subtractMetrics(connection: Connection, row: RunRow, endedAt: number): Promise<void> {
    const { tenant, latency_ms } = row
    const hour = hourOf(endedAt)
    const hourRow = (await sessionQueue.subtractMetrics(connection, { ...row, ...countOf(row.status), hour })).rows[0]
    // A separate statement, which sees commits from the time when the first statement waited for the row of the hour.
    const wasExtreme = hourRow && (latency_ms <= hourRow.min_latency_ms || latency_ms >= hourRow.max_latency_ms)
    if (wasExtreme) await sessionQueue.renewExtremes(connection, { tenant, hour, nextHour: hour + hourMs })
  }

  return { take, free: release }
}

export type RunMoves = ReturnType<typeof runMoves>

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
function runQueue(database: Database, statements: RunStatements, sessionQueue: QueueStatements) {
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

type RunQueue = ReturnType<typeof runQueue>

/** The job of an unclaimed run. The fence makes the id unique per release of the run. */
function jobOf({ tenant, owner, requestId, fence, rank, now, isResumed }: DueRun & { rank: number }): NewJob<'run'> {
  const id = `run ${hash('sha256', JSON.stringify([...Object.values(keyColumns({ tenant, owner, requestId })), fence]), 'base64url')}`
  return { id, kind: 'run', tenant, data: { owner, requestId, fence, ...(isResumed ? { isResumed } : {}) }, dueAt: now, rank }
}

/** Jobs per batch, oldest runs first. */
const maxRequeued = 500

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
