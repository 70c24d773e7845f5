import { sql } from 'kysely'
import type { ChatRequest, RunKey } from '../runs/run.ts'
import type { MessageData } from '../sessions/message.ts'
import { FenceLost, type HeldRun, type LineEnd, type NewMessage, type RunStore, type TakenOver, type Turn } from '../runs/run-store.ts'
import { run, type Database } from './database.ts'
import type { InsertJobs } from './job-statements.ts'
import { lineStatements } from './line-statements.ts'
import { mediaStatements } from './media-statements.ts'
import { countOf, hourMs, hourOf, json, parseJson, toStoredRun, toWindow } from './run-rows.ts'
import type { RunStatements } from './run-statements.ts'
import type { Connection } from './statement.ts'
import type { RunRow, SessionRow } from './tables.ts'

interface Inserts {
  insertMessages(connection: Connection, tenant: string, session: string, lastIndex: number, messages: readonly NewMessage[]): Promise<void>
  insertJobs: InsertJobs
}

type Waiting = RunKey & Pick<RunRow, 'session' | 'fence' | 'message_index'>

/** The part of `RunStore` that moves a run: from the line into its session, out of the line, from one process to another. */
export function createTakeOver(
  database: Database,
  statements: RunStatements,
  { insertMessages, insertJobs }: Inserts,
): Pick<RunStore, 'isNext' | 'nextOf' | 'takeTurn' | 'leaveLine' | 'takeOver' | 'orphans' | 'ownUnended'> {
  const inLine = lineStatements(database.db)
  const media = mediaStatements(database.db)

  async function find(connection: Connection, key: RunKey): Promise<RunRow | undefined> {
    return (await statements.findRun(connection, key)).rows[0]
  }

  async function lock(connection: Connection, tenant: string, session: string | null) {
    return session === null ? undefined : (await inLine.lockSession(connection, { tenant, session })).rows[0]
  }

  /** Starts a waiting run whose locked session is its own; its human message is written, unless it was before. */
  async function enter(
    connection: Connection,
    one: Waiting,
    state: Pick<SessionRow, 'message_count' | 'window_start' | 'summary'>,
    messages: readonly NewMessage[],
    now: number,
  ): Promise<Turn | undefined> {
    const { tenant, requestId } = one
    const session = one.session ?? ''
    const stored = one.message_index !== null ? [] : state.message_count === 0 ? messages : messages.slice(-1)
    const kept =
      one.message_index === null ? state.message_count : await withoutPartialAnswer(connection, one, session, state.message_count)
    const messageCount = kept + stored.length
    const messageIndex = one.message_index ?? messageCount - 1
    const started = await inLine.startRun(connection, { ...one, status: 'pending', messageIndex, now })
    if (started.rows.length === 0) return undefined
    await inLine.enterSession(connection, { tenant, session, requestId, messageCount, now })
    await insertMessages(connection, tenant, session, messageCount - 1, stored)
    return { session, messageIndex, messageCount, ...toWindow(state) }
  }

  /** Messages in the session once the answer that the run had begun is taken out; it is the last one, or stays. */
  async function withoutPartialAnswer(connection: Connection, { tenant, requestId }: RunKey, session: string, messageCount: number) {
    const last = { tenant, session, idx: messageCount - 1 }
    const { rows } = await run(
      connection,
      database.db
        .selectFrom('messages')
        .select(['role', 'data'])
        .where((is) => is.and(last)),
    )
    const data = parseJson<MessageData>(rows[0]?.data ?? null)
    if (rows[0]?.role !== 'ai' || data?.requestId !== requestId) return messageCount
    await run(
      connection,
      database.db.deleteFrom('messages').where((is) => is.and(last)),
    )
    return messageCount - 1
  }

  async function findTurn(key: HeldRun) {
    const found = (await inLine.findTurn(database.read, key)).rows[0]
    if (found && found.fence !== key.fence) throw new FenceLost(key)
    return found
  }

  async function takeTurn(key: HeldRun, messages: readonly NewMessage[], now: number): Promise<Turn | undefined> {
    // Those who wait ask often: only who may be given its turn costs a transaction.
    const found = await findTurn(key)
    if (!found) return undefined
    return database.unit(async (connection) => {
      const state = await lock(connection, key.tenant, found.session)
      return state?.active_run === key.requestId ? enter(connection, { ...key, ...found }, state, messages, now) : undefined
    })
  }

  function leaveLine(key: HeldRun, now: number, end?: LineEnd): Promise<RunKey | undefined> {
    return database.unit(async (connection) => {
      const row = await find(connection, key)
      if (row?.status !== 'pending' || row.fence !== key.fence) return undefined
      const { tenant, owner, session } = row
      const state = await lock(connection, tenant, session)
      if (!(await leave(connection, row, now, end)) || session === null) return undefined
      if (state?.active_run !== key.requestId) return undefined
      const next = (await statements.handOver(connection, { tenant, session, requestId: key.requestId })).rows[0]?.active_run
      return next ? { tenant, owner, requestId: next } : undefined
    })
  }

  /** False when the run is not in its line any more. */
  async function leave(connection: Connection, row: RunRow, now: number, end?: LineEnd): Promise<boolean> {
    if (end) {
      const { status, continuable, error, log } = end
      const request = continuable ? row.request : null
      const ended = { status, continuable: continuable ? 1 : 0, request, error: json(error), log: json(log) }
      if (!(await endWaiting(connection, row, ended, now))) return false
      await insertJobs(connection, end.jobs)
      return true
    }
    // One that was begun before, and was to go on, is as it was: failed, and can be repeated.
    if (row.message_index !== null) return endWaiting(connection, row, { ...row, status: 'error', continuable: 1 }, now)
    const { tenant, session, request_id: requestId } = row
    const isDeleted = (await inLine.deleteRun(connection, { ...row, requestId })).rows.length > 0
    if (isDeleted && session !== null && hasImages(row)) await media.deleteOfRun(connection, { tenant, session, requestId })
    return isDeleted
  }

  async function endWaiting(connection: Connection, row: RunRow, end: WaitingEnd, now: number): Promise<boolean> {
    const { status: newStatus, continuable, request, error, log } = end
    const ended = { ...row, requestId: row.request_id, continuable, request, error, log, newStatus, finish_reason: newStatus, now }
    if ((await inLine.endWaiting(connection, ended)).rows.length === 0) return false
    if (!continuable && row.message_index !== null) await statements.deleteSteps(connection, ended)
    await statements.addMetrics(connection, { ...row, ...countOf(newStatus), hour: hourOf(now), latency_ms: 0 })
    return true
  }

  function takeOver(...[key, from, by]: Parameters<RunStore['takeOver']>): Promise<TakenOver | undefined> {
    return database.unit(async (connection) => {
      const row = await find(connection, key)
      if (!row || row.fence !== from.fence || row.status !== from.status) return undefined
      const state = await lock(connection, row.tenant, row.session)
      const fence = row.fence + 1
      const { holder, place, messages, now } = by
      const taken = await inLine.takeRun(connection, {
        ...row,
        requestId: row.request_id,
        newFence: fence,
        holder,
        place: row.ended_at === null ? row.place : place,
      })
      if (taken.rows.length === 0) return undefined
      // A session that nobody has belongs to the run that goes on.
      // One that still waits keeps its place: it came before those who come now.
      const isOurs = state && (state.active_run === null || state.active_run === row.request_id)
      const one = { ...row, requestId: row.request_id, fence }
      // An async run starts when there is somebody to work on it.
      const isLater = row.operation === 'chain_async'
      const turn = isOurs && !isLater ? await enter(connection, one, state, messages, now) : undefined
      if (isLater && isOurs && row.session !== null) await inLine.giveSession(connection, { ...one, session: row.session })
      if (row.ended_at !== null) await takeBackMetrics(connection, row, row.ended_at)
      return turn ? { kind: 'running', turn, fence } : { kind: 'waiting', fence }
    })
  }

  /** An ended run that goes on is counted when it ends again. */
  async function takeBackMetrics(connection: Connection, row: RunRow, endedAt: number): Promise<void> {
    const { tenant, latency_ms } = row
    const hour = hourOf(endedAt)
    const left = (await inLine.takeBackMetrics(connection, { ...row, ...countOf(row.status), hour })).rows[0]
    // A statement of its own: it sees what was stored while the first waited for the hour's row.
    const wasExtreme = left && (latency_ms <= left.min_latency_ms || latency_ms >= left.max_latency_ms)
    if (wasExtreme) await inLine.renewExtremes(connection, { tenant, hour, nextHour: hour + hourMs })
  }

  async function orphans(holder: string, now: number) {
    const { db } = database
    const alive = db.selectFrom('processes').select('id').where('alive_until', '>', now)
    const query = db
      .selectFrom('runs')
      .selectAll()
      // Values that stand in the text: only so is the index of unended runs used.
      .where(sql<boolean>`status in ('pending', 'running')`)
      .where('operation', '!=', 'tool_execute')
      .where('holder', '!=', holder)
      .where('holder', 'not in', alive)
      .orderBy('place')
      .limit(maxOrphans)
    const { rows } = await run(database.read, query)
    return rows.map(toStoredRun)
  }

  async function ownUnended(holder: string): Promise<RunKey[]> {
    const query = database.db
      .selectFrom('runs')
      .select(['tenant', 'owner', 'request_id as requestId'])
      .where(sql<boolean>`status in ('pending', 'running')`)
      .where('operation', '!=', 'tool_execute')
      .where('holder', '=', holder)
    return (await run(database.read, query)).rows
  }

  async function nextOf(holder: string): Promise<RunKey[]> {
    return (await inLine.nextOf(database.read, { holder })).rows
  }

  return { isNext: async (key) => (await findTurn(key)) !== undefined, nextOf, takeTurn, leaveLine, takeOver, orphans, ownUnended }
}

function hasImages({ request }: RunRow): boolean {
  return (parseJson<ChatRequest>(request)?.images?.length ?? 0) > 0
}

type WaitingEnd = Pick<RunRow, 'continuable' | 'request' | 'error' | 'log'> & { status: 'cancelled' | 'error' }

/** Taken up in portions: a sweep asks until nothing is left. */
const maxOrphans = 500
