import type { Turn, NewMessage, TakenOver, TakeOver } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import type { MessageData } from '../../sessions/message.ts'
import { query, type Database } from '../database.ts'
import { queueStatements } from '../queue/statements.ts'
import { runQueue } from '../queue/queue.ts'
import { countOf, hourMs, hourOf, json, parseJson, toText, toWindow } from '../rows.ts'
import { whereRun, type RunStatements } from './statements.ts'
import { statement, allSettledOrThrow, type Connection, type Param } from '../statement.ts'
import type { RunRow, SessionRow } from '../tables.ts'

type WaitingRun = RunKey & Pick<RunRow, 'session' | 'fence' | 'message_index'>
type SessionState = Pick<SessionRow, 'active_run' | 'message_count' | 'window_start' | 'summary'>

/** Parts of units that move a run into its session, or to another process. */
export function runMoves(database: Database, statements: RunStatements) {
  const sessionQueue = queueStatements(database.db)
  const queue = runQueue(database, statements)
  const lapse = statement(database.db, (db, param: Param<RunKey & { now: number }>) =>
    db
      .updateTable('approvals')
      .set({ decision: 'lapsed', decided_at: param('now') })
      .where((is) => is.and(whereRun(param)))
      .where('decision', 'is', null),
  )

  async function find(connection: Connection, key: RunKey): Promise<RunRow | undefined> {
    return (await statements.findRun(connection, key)).rows[0]
  }

  async function lock(connection: Connection, tenant: string, session: string | null) {
    return session === null ? undefined : (await sessionQueue.lockSession(connection, { tenant, session })).rows[0]
  }

  /** The last of `messages` gets `lastIndex`. */
  async function insertMessages(
    connection: Connection,
    tenant: string,
    session: string,
    lastIndex: number,
    messages: readonly NewMessage[],
  ) {
    let idx = lastIndex - messages.length + 1
    for (const { role, content, createdAt, data } of messages) {
      const values = { role, content: toText(content), created_at: createdAt, data: json(data) }
      await statements.insertMessage(connection, { tenant, session, idx: idx++, ...values })
    }
  }

  /** Starts a waiting run whose locked session is its own; its human message is written, unless it was before. */
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
      run.message_index === null ? state.message_count : await withoutPartialAnswer(connection, run, session, state.message_count)
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

  /** Messages in the session once the answer that the run had begun is taken out; it is the last one, or stays. */
  async function withoutPartialAnswer(connection: Connection, { tenant, requestId }: RunKey, session: string, messageCount: number) {
    const last = { tenant, session, idx: messageCount - 1 }
    const { rows } = await query(
      connection,
      database.db
        .selectFrom('messages')
        .select(['role', 'data'])
        .where((is) => is.and(last)),
    )
    const data = parseJson<MessageData>(rows[0]?.data ?? null)
    if (rows[0]?.role !== 'ai' || data?.requestId !== requestId) return messageCount
    await query(
      connection,
      database.db.deleteFrom('messages').where((is) => is.and(last)),
    )
    return messageCount - 1
  }

  /** Gives a run to a process, in its session where that is free or its own; undefined when it has changed since it was read. */
  async function take(
    connection: Connection,
    row: RunRow,
    state: SessionState | undefined,
    { holder, place, messages, now }: TakeOver,
  ): Promise<TakenOver | undefined> {
    const fence = row.fence + 1
    const run = { ...row, requestId: row.request_id, fence }
    const takenRun = await sessionQueue.takeRun(connection, {
      ...run,
      fence: row.fence,
      newFence: fence,
      holder,
      place: row.ended_at === null ? row.place : place,
      // A repeat has its chances anew.
      losses: row.ended_at === null ? row.losses : null,
    })
    if (takenRun.rows.length === 0) return undefined
    if (row.status === 'interrupted') await lapse(connection, { ...run, now })
    // A session that nobody has belongs to the run that goes on.
    // One that still waits keeps its place: it came before those who come now.
    const isOurs = state && (state.active_run === null || state.active_run === row.request_id)
    const turn = isOurs ? await enter(connection, run, state, messages, now) : undefined
    if (row.ended_at !== null) await takeBackMetrics(connection, row, row.ended_at)
    return turn ? { kind: 'running', turn, fence } : { kind: 'waiting', fence }
  }

  /** Makes an unended run nobody's: in its session, where that is free or its own, it gets a job. False when it has changed since it was read. */
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

  /** An ended run that goes on is counted when it ends again. */
  async function takeBackMetrics(connection: Connection, row: RunRow, endedAt: number): Promise<void> {
    const { tenant, latency_ms } = row
    const hour = hourOf(endedAt)
    const hourRow = (await sessionQueue.takeBackMetrics(connection, { ...row, ...countOf(row.status), hour })).rows[0]
    // A statement of its own: it sees what was stored while the first waited for the hour's row.
    const wasExtreme = hourRow && (latency_ms <= hourRow.min_latency_ms || latency_ms >= hourRow.max_latency_ms)
    if (wasExtreme) await sessionQueue.renewExtremes(connection, { tenant, hour, nextHour: hour + hourMs })
  }

  return { ...queue, find, lock, insertMessages, enter, take, free: release }
}

export type RunMoves = ReturnType<typeof runMoves>
