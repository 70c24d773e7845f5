import { sql } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { ChatRequest, RunKey } from '../../runs/run.ts'
import {
  FenceLost,
  sessionInterrupted,
  type HeldRun,
  type QueueEnd,
  type NewMessage,
  type NextRun,
  type RunStore,
  type RunVersion,
  type TakenOver,
  type ClaimedRun,
  type Turn,
} from '../../runs/run-store.ts'
import { query, type Database, type Connection } from '../database.ts'
import { queueStatements } from './statements.ts'
import { mediaStatements } from '../runs/media.ts'
import { aliveProcesses, countLoss } from '../leases/processes.ts'
import type { RunMoves } from './moves.ts'
import type { MessageMoves } from '../runs/messages.ts'
import type { Rounds } from '../runs/notifications.ts'
import { countOf, hourOf, json, parseJson, toStoredRun } from '../rows.ts'
import { type RunStatements, whereChat } from '../runs/statements.ts'
import type { RunRow } from '../tables.ts'

/** The part of `RunStore` that moves a run: out of the session queue into its session, or from one process to another. */
export function createTakeOver(
  database: Database,
  statements: RunStatements,
  moves: RunMoves & MessageMoves,
  rounds: Rounds,
): QueueMoves & ProcessMoves & UnendedRuns {
  return { ...queueMoves(database, statements, moves, rounds), ...processMoves(database, moves), ...unendedRuns(database) }
}

type QueueMoves = Pick<RunStore, 'takeTurn' | 'leaveQueue'>
type ProcessMoves = Pick<RunStore, 'takeOver' | 'claim' | 'release'>
type UnendedRuns = Pick<RunStore, 'orphans' | 'unendedIn' | 'ownUnended'>

/** Moves a run out of the session queue: into its session, or to its end. */
function queueMoves(
  database: Database,
  statements: RunStatements,
  { find, lock, enter, handOver, insertJobs, prepare, continueWith }: RunMoves & MessageMoves,
  rounds: Rounds,
): QueueMoves {
  const sessionQueue = queueStatements(database.db)
  const media = mediaStatements(database.db)

  async function takeTurn(key: HeldRun, messages: readonly NewMessage[], now: number): Promise<Turn | undefined> {
    // Waiting runs poll often, so only a run that may start costs a transaction.
    const waitingRun = (await sessionQueue.findTurn(database.forTenant(key.tenant).read, key)).rows[0]
    if (waitingRun && waitingRun.fence !== key.fence) throw new FenceLost(key)
    if (waitingRun?.active_status === 'interrupted') throw sessionInterrupted(waitingRun.session_id, waitingRun.active_run ?? '')
    if (waitingRun?.active_run !== key.requestId) return undefined
    return database.forTenant(key.tenant).unit(async (connection) => {
      const state = await lock(connection, key.tenant, waitingRun.session)
      return state?.active_run === key.requestId ? enter(connection, { ...key, ...waitingRun }, state, messages, now) : undefined
    })
  }

  async function leaveQueue(key: HeldRun, now: number, end?: QueueEnd): Promise<NextRun | undefined> {
    await prepare()
    let isNotified = false
    const next = await database.forTenant(key.tenant).unit(async (connection) => {
      const unlocked = await find(connection, key)
      if (unlocked?.status !== 'pending' || unlocked.fence !== key.fence) return undefined
      const { tenant, owner, session } = unlocked
      isNotified = unlocked.has_notifications !== null
      const state = await lock(connection, tenant, session)
      // Read again: messages may have been sent to the run before the lock.
      const row = unlocked.session === null ? unlocked : await find(connection, key)
      if (!row || !(await leave(connection, row, now, end)) || session === null) return undefined
      if (row.open_messages) await continueWith(connection, row, parseJson<ChatRequest>(row.request) ?? emptyRequest, now)
      if (state?.active_run !== key.requestId) return undefined
      return handOver(connection, { tenant, owner, session, requestId: key.requestId, now })
    })
    if (isNotified) rounds.wake()
    return next
  }

  /** Removes a run from its session queue. False when the run is no longer in the queue. */
  async function leave(connection: Connection, row: RunRow, now: number, end?: QueueEnd): Promise<boolean> {
    if (end) {
      const { status, continuable, error, log } = end
      const request = continuable ? row.request : null
      const ended = { status, continuable: continuable ? 1 : 0, request, error: json(error), log: json(log) }
      if (!(await endWaiting(connection, row, ended, now))) return false
      await insertJobs(connection, end.jobs)
      return true
    }
    // A run that was being resumed returns to its former state: failed, and resumable. So does a run that has had messages.
    if (row.message_index !== null || row.message_ranks)
      return endWaiting(connection, row, { ...row, status: 'error', continuable: 1 }, now)
    const { tenant, session, request_id: requestId } = row
    const isDeleted = (await sessionQueue.deleteRun(connection, { ...row, requestId })).rows.length > 0
    if (isDeleted && session !== null && hasMedia(row)) await media.deleteOfRun(connection, { tenant, session, requestId })
    return isDeleted
  }

  async function endWaiting(connection: Connection, row: RunRow, end: WaitingEnd, now: number): Promise<boolean> {
    const { status: newStatus, continuable, request, error, log } = end
    const ended = { ...row, requestId: row.request_id, continuable, request, error, log, newStatus, finish_reason: newStatus, now }
    const [endedRun] = (await sessionQueue.endWaiting(connection, ended)).rows
    if (!endedRun) return false
    if (endedRun.has_notifications) await rounds.begin(connection, ended, now)
    if (!continuable && row.message_index !== null) await statements.deleteSteps(connection, ended)
    await statements.addMetrics(connection, { ...row, ...countOf(newStatus), hour: hourOf(now), latency_ms: 0 })
    return true
  }

  return { takeTurn, leaveQueue }
}

/** Moves a run to another process, or to none. */
function processMoves(database: Database, { find, lock, take, free, prepare }: RunMoves): ProcessMoves {
  function takeOver(...[key, expected, request]: Parameters<RunStore['takeOver']>): Promise<TakenOver | undefined> {
    return database.forTenant(key.tenant).unit(async (connection) => {
      const row = await findSeen(connection, key, expected)
      return row && take(connection, row, await lock(connection, row.tenant, row.session), request)
    })
  }

  /** The run with its new losses. Undefined when the run has changed since it was read, or when its process is alive after all. */
  async function findSeen(
    connection: Connection,
    key: RunKey,
    { fence, status, graceMs, losses }: RunVersion,
  ): Promise<RunRow | undefined> {
    const row = await find(connection, key)
    if (row?.fence !== fence || row.status !== status) return undefined
    if (graceMs !== undefined && (await isAlive(connection, row.holder, graceMs))) return undefined
    return losses ? { ...row, losses: json(losses) } : row
  }

  function claim(...[key, takeOverOf]: Parameters<RunStore['claim']>): Promise<ClaimedRun | undefined> {
    return database.forTenant(key.tenant).unit(async (connection) => {
      const row = await findSeen(connection, key, { fence: key.fence, status: 'pending' })
      if (row?.holder !== '') return undefined
      const state = await lock(connection, row.tenant, row.session)
      const { request, ...rest } = toStoredRun(row)
      if (state?.active_run !== row.request_id || !request) return undefined
      const run = { ...rest, request }
      const takenOver = await take(connection, row, state, takeOverOf(run))
      return takenOver?.kind === 'running' ? { run, takenOver } : undefined
    })
  }

  async function release(...[key, expected, now]: Parameters<RunStore['release']>): Promise<boolean> {
    await prepare()
    return database.forTenant(key.tenant).unit(async (connection) => {
      const row = await findSeen(connection, key, expected)
      return row !== undefined && free(connection, row, await lock(connection, row.tenant, row.session), now)
    })
  }

  /** True when the process is alive: its lease may have been renewed since the run was read. */
  async function isAlive(connection: Connection, holder: string, graceMs: number): Promise<boolean> {
    return (await query(connection, aliveProcesses(database, graceMs).where('id', '=', holder))).rows.length > 0
  }

  return { takeOver, claim, release }
}

/** Finds unended runs. The index of unended runs is used with literal values only. */
function unendedRuns(database: Database): UnendedRuns {
  async function orphans(holder: string, graceMs: number) {
    const orphanedRuns = database.db
      .selectFrom('runs')
      .selectAll()
      .select((builder) =>
        builder
          .selectFrom('run_steps')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .whereRef('run_steps.tenant', '=', 'runs.tenant')
          .whereRef('run_steps.owner', '=', 'runs.owner')
          .whereRef('run_steps.request_id', '=', 'runs.request_id')
          .as('checkpoints'),
      )
      // Literal values, because the index of unended runs is not used with parameters.
      .where(sql<boolean>`status in ('pending', 'running')`)
      .where(whereChat)
      .where('holder', 'not in', [holder, ''])
      .where('holder', 'not in', aliveProcesses(database, graceMs))
      .orderBy('place')
      .limit(maxOrphans)
    const { rows } = await query(database.all.read, orphanedRuns)
    const alive = rows.length > 0 ? await query(database.all.read, aliveProcesses(database)) : { rows: [] }
    const runs = rows.map((row) => ({ ...toStoredRun(row), losses: countLoss(row, row.checkpoints ?? 0) }))
    return { runs, takers: Math.max(1, alive.rows.length) }
  }

  async function ownUnended(holder: string): Promise<RunKey[]> {
    const ownRuns = database.db
      .selectFrom('runs')
      .select(['tenant', 'owner', 'request_id as requestId'])
      .where(sql<boolean>`status in ('pending', 'running')`)
      .where(whereChat)
      .where('holder', '=', holder)
    return (await query(database.all.read, ownRuns)).rows
  }

  async function unendedIn({ tenant, owner }: Owner, sessionId: string): Promise<RunKey[]> {
    const session = database.db
      .selectFrom('sessions')
      .select('key')
      .where((is) => is.and({ tenant, owner, session_id: sessionId }))
    const aliveRuns = database.db
      .selectFrom('runs')
      .select(['tenant', 'owner', 'request_id as requestId'])
      .where('tenant', '=', tenant)
      .where('session', '=', session)
      .where('status', 'in', ['pending', 'running'])
      .where('holder', 'in', aliveProcesses(database))
    return (await query(database.forTenant(tenant).read, aliveRuns)).rows
  }

  return { orphans, unendedIn, ownUnended }
}

function hasMedia({ request }: RunRow): boolean {
  const { images = [], files = [] } = parseJson<ChatRequest>(request) ?? {}
  return images.length + files.length > 0
}

const emptyRequest: ChatRequest = { messages: [], filters: [], headers: {} }

type WaitingEnd = Pick<RunRow, 'continuable' | 'request' | 'error' | 'log'> & { status: 'cancelled' | 'error' }

/** Orphaned runs per batch; a sweep repeats until no orphans are left. */
const maxOrphans = 500
