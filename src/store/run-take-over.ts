import { sql } from 'kysely'
import type { Operation, RunKey, RunStatus } from '../runs/run.ts'
import type { NewMessage, RunStore, TakenOver, Turn } from '../runs/run-store.ts'
import { run, type Database } from './database.ts'
import { hourOf, keyColumns, toStoredRun } from './run-rows.ts'
import { firstInLine, type RunStatements } from './run-statements.ts'
import type { Connection } from './statement.ts'
import type { RunRow } from './tables.ts'

type InsertMessages = (
  connection: Connection,
  tenant: string,
  session: string,
  lastIndex: number,
  messages: readonly NewMessage[],
) => Promise<void>

/** The part of `RunStore` that moves a run: from the line into its session, out of the line, from one process to another. */
export function createTakeOver(
  database: Database,
  statements: RunStatements,
  insertMessages: InsertMessages,
): Pick<RunStore, 'takeTurn' | 'leaveLine' | 'takeOver' | 'orphans'> {
  const { db } = database

  async function find(connection: Connection, key: RunKey): Promise<RunRow | undefined> {
    return (await statements.findRun(connection, key)).rows[0]
  }

  /** The run's session has been handed to it: its human message is written, unless it was before. */
  async function enter(connection: Connection, row: RunRow, messages: readonly NewMessage[], now: number): Promise<Turn | undefined> {
    const { tenant, request_id, session: key } = row
    const found = await run(
      connection,
      db
        .selectFrom('sessions')
        .selectAll()
        .where((is) => is.and({ tenant, key: key ?? '' })),
    )
    const session = found.rows[0]
    if (session?.active_run !== request_id) return undefined
    const stored = row.message_index !== null ? [] : session.message_count === 0 ? messages : messages.slice(-1)
    const messageCount = session.message_count + stored.length
    const messageIndex = row.message_index ?? messageCount - 1
    await insertMessages(connection, tenant, session.key, messageCount - 1, stored)
    await run(
      connection,
      db
        .updateTable('sessions')
        .set({ message_count: messageCount, updated_at: now })
        .where((is) => is.and({ tenant, key: session.key })),
    )
    await run(
      connection,
      db
        .updateTable('runs')
        .set({ status: 'running', message_index: messageIndex, started_at: now })
        .where((is) => is.and({ tenant, owner: row.owner, request_id })),
    )
    return { session: session.key, messageIndex, messageCount, windowStart: session.window_start }
  }

  /** Hands the session of a run that leaves to the next in line. */
  async function passOn(connection: Connection, row: RunRow): Promise<RunKey | undefined> {
    const { tenant, owner, session, request_id } = row
    if (session === null) return undefined
    const passed = db
      .updateTable('sessions')
      .set({ active_run: firstInLine(session) })
      .where((is) => is.and({ tenant, key: session, active_run: request_id }))
      .returning('active_run')
    const next = (await run(connection, passed)).rows[0]?.active_run
    return next ? { tenant, owner, requestId: next } : undefined
  }

  return {
    takeTurn: (key, messages, now) =>
      database.unit(async (connection) => {
        const row = await find(connection, key)
        return row?.status === 'pending' ? enter(connection, row, messages, now) : undefined
      }),

    leaveLine: (key, now, cancelled) =>
      database.unit(async (connection) => {
        const row = await find(connection, key)
        if (row?.status !== 'pending') return undefined
        if (cancelled)
          await endWaiting(connection, row, { status: 'cancelled', continuable: 0, request: null, log: JSON.stringify(cancelled) }, now)
        // One that was begun before, and was to go on, is as it was: failed, and can be repeated.
        else if (row.message_index !== null) await endWaiting(connection, row, { status: 'error', continuable: 1 }, now)
        else
          await run(
            connection,
            db.deleteFrom('runs').where((is) => is.and(keyColumns(key))),
          )
        return passOn(connection, row)
      }),

    takeOver: (key, from, by) =>
      database.unit(async (connection): Promise<TakenOver | undefined> => {
        const row = await find(connection, key)
        if (!row || row.fence !== from.fence || row.status !== from.status) return undefined
        const fence = row.fence + 1
        if (row.ended_at !== null) await takeBackMetrics(connection, row)
        const { holder, place, now } = by
        const taken = {
          fence,
          holder,
          place,
          status: 'pending',
          ended_at: null,
          finish_reason: null,
          error: null,
          log: null,
          continuable: 0,
        }
        await run(
          connection,
          db
            .updateTable('runs')
            .set(taken)
            .where((is) => is.and(keyColumns(key))),
        )
        await claim(connection, row)
        const turn = await enter(connection, row, by.messages, now)
        return turn ? { kind: 'running', turn, fence } : { kind: 'waiting', fence }
      }),

    async orphans(holder, now) {
      const alive = db.selectFrom('processes').select('id').where('alive_until', '>', now)
      const query = db
        .selectFrom('runs')
        .selectAll()
        .where('status', 'in', ['pending', 'running'] satisfies RunStatus[])
        .where('operation', '!=', 'tool_execute' satisfies Operation)
        .where('holder', '!=', holder)
        .where('holder', 'not in', alive)
        .orderBy('place')
        .limit(maxOrphans)
      const { rows } = await run(database.read, query)
      return rows.map(toStoredRun)
    },
  }

  /** A session that nobody has belongs to the run that goes on. */
  async function claim(connection: Connection, { tenant, session, request_id }: RunRow): Promise<void> {
    const free = db
      .updateTable('sessions')
      .set({ active_run: request_id })
      .where((is) => is.and({ tenant, key: session ?? '' }))
      .where('active_run', 'is', null)
    await run(connection, free)
  }

  async function endWaiting(connection: Connection, row: RunRow, how: WaitingEnd, now: number): Promise<void> {
    const { tenant, owner, request_id, prompt_tokens, completion_tokens, total_tokens } = row
    const ended = { ...how, finish_reason: how.status, ended_at: now, latency_ms: 0 }
    await run(
      connection,
      db
        .updateTable('runs')
        .set(ended)
        .where((is) => is.and({ tenant, owner, request_id })),
    )
    const counts = { success: 0, timeout: 0, error: 0, cancelled: 0, [how.status]: 1 }
    await statements.addMetrics(connection, {
      ...counts,
      tenant,
      hour: hourOf(now),
      latency_ms: 0,
      prompt_tokens,
      completion_tokens,
      total_tokens,
    })
  }

  /** An ended run that goes on is counted when it ends again. */
  async function takeBackMetrics(connection: Connection, row: RunRow): Promise<void> {
    const status = row.status as 'success' | 'error' | 'cancelled' | 'timeout'
    const counted = db
      .updateTable('metrics')
      .set({
        [status]: sql`${sql.ref(status)} - 1`,
        prompt_tokens: sql`prompt_tokens - ${row.prompt_tokens}`,
        completion_tokens: sql`completion_tokens - ${row.completion_tokens}`,
        total_tokens: sql`total_tokens - ${row.total_tokens}`,
        latency_ms: sql`latency_ms - ${row.latency_ms}`,
      })
      .where((is) => is.and({ tenant: row.tenant, hour: hourOf(row.ended_at ?? 0) }))
    await run(connection, counted)
  }
}

type WaitingEnd = Pick<RunRow, 'continuable'> & Partial<Pick<RunRow, 'request' | 'log'>> & { status: 'cancelled' | 'error' }

/** Taken up in portions: the sweep comes again. */
const maxOrphans = 500
