import { randomUUIDv7 } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import { ServiceError } from '../../errors.ts'
import type { ChatRequest, RunKey } from '../../runs/run.ts'
import { runGone, type Delivery } from '../../runs/run-store.ts'
import { messageLimits, nextRequest, type MessageStore, type NewRunMessage } from '../../runs/steering/run-messages.ts'
import { reachState } from '../../states.ts'
import { query, type Connection, type Database } from '../database.ts'
import type { RunMoves } from '../queue/moves.ts'
import { keyColumns, toText } from '../rows.ts'
import { unindexedTenant, type RunStatements } from './statements.ts'
import type { RunMessageRow, RunRow, Tables } from '../tables.ts'

/** `MessageStore` on either database. */
export function createMessageStore(database: Database, { find, lock }: Pick<RunMoves, 'find' | 'lock'>): MessageStore {
  const { db, forTenant } = database

  async function addMessage(key: RunKey, message: NewRunMessage) {
    return forTenant(key.tenant).unit(async (connection) => {
      const unlocked = await find(connection, key)
      if (!unlocked) return undefined
      // The end of the run locks the session first, too: the message is stored before the end, or sees the end.
      await lock(connection, key.tenant, unlocked.session)
      const known = await findKnown(connection, key, message)
      if (known !== undefined) return { position: known }
      const run = await find(connection, key)
      if (!run) return undefined
      if (run.status === 'gone') throw runGone(key)
      if (run.ended_at !== null) throw runEnded(key)
      if ((run.open_messages ?? 0) >= messageLimits.open) throw tooMany(key)
      return { position: await insert(connection, run, message) }
    })
  }

  /** The position of a message that was stored before. */
  async function findKnown(connection: Connection, key: RunKey, { id, mode, text }: NewRunMessage): Promise<number | undefined> {
    const { tenant, owner, requestId } = key
    const messages = db.selectFrom('run_messages').select(['request_id', 'position', 'mode', 'content'])
    const [row] = (
      await query(
        connection,
        messages.where((is) => is.and({ tenant, owner, message_id: id })),
      )
    ).rows
    const isSame = row?.request_id === requestId && row.mode === mode && row.content === toText(text)
    if (row ? !isSame : await isRun(connection, { tenant, owner, requestId: id }))
      throw new ServiceError('request_id_reused', `The request id ${id} was used for another request.`)
    return row?.position
  }

  async function isRun(connection: Connection, key: RunKey): Promise<boolean> {
    const run = db.selectFrom('runs').select('request_id')
    return (
      (
        await query(
          connection,
          run.where((is) => is.and(keyColumns(key))),
        )
      ).rows.length > 0
    )
  }

  async function insert(connection: Connection, run: RunRow, { id, mode, text, now }: NewRunMessage): Promise<number> {
    const { tenant, owner, request_id } = run
    // The run's own row is locked here: a delivery of other messages changes the counter at the same time.
    const counted = db
      .updateTable('runs')
      .set({ message_ranks: sql`coalesce(message_ranks, 0) + 1`, open_messages: sql`coalesce(open_messages, 0) + 1` })
      .where((is) => is.and({ tenant, owner, request_id }))
      .returning('message_ranks')
    const position = (await query(connection, counted)).rows[0]?.message_ranks ?? 1
    const row = { tenant, owner, request_id, position, message_id: id, target_id: request_id, rank: position, mode }
    await query(connection, db.insertInto('run_messages').values({ ...row, content: toText(text), created_at: now, delivered_at: null }))
    return position
  }

  return {
    addMessage,

    async openMessages(key) {
      const { rows } = await query(forTenant(key.tenant).read, openOf(db, key))
      return rows.map(({ message_id: id, mode, content: text, position, rank }) => ({ id, mode, text, position, rank }))
    },

    async findMessage({ tenant, owner }, id) {
      const found = db
        .selectFrom('run_messages')
        .select(['request_id', 'position', 'content'])
        .where((is) => is.and({ tenant, owner, message_id: id }))
      const [row] = (await query(forTenant(tenant).read, found)).rows
      return row && { requestId: row.request_id, position: row.position, text: row.content }
    },

    async activeRun({ tenant, owner }, sessionId) {
      const active = db
        .selectFrom('sessions')
        .select('active_run')
        .where((is) => is.and({ tenant, owner, session_id: sessionId }))
      const requestId = (await query(forTenant(tenant).read, active)).rows[0]?.active_run
      return requestId ? { tenant, owner, requestId } : undefined
    },

    async messagesTo(key) {
      const sent = db
        .selectFrom('run_messages')
        .selectAll()
        .where((is) => is.and(keyColumns(key)))
        .orderBy('position')
      return (await query(forTenant(key.tenant).read, sent)).rows.map((row) => ({
        id: row.message_id,
        mode: row.mode,
        text: row.content,
        position: row.position,
        createdAt: row.created_at,
        deliveredAt: row.delivered_at ?? undefined,
        deliveredTo: row.target_id,
      }))
    },
  }
}

/** The messages that a run is to deliver, in order. */
function openOf(db: Kysely<Tables>, { tenant, owner, requestId }: RunKey) {
  return db
    .selectFrom('run_messages')
    .selectAll()
    .where((is) => is.and({ tenant, owner, target_id: requestId }))
    .where('delivered_at', 'is', null)
    .orderBy('rank')
}

/** Parts of units of work: the delivery of a message, and the run that answers the messages that were not delivered. */
export function messageMoves({ db }: Database, statements: RunStatements, { insertMessages }: Pick<RunMoves, 'insertMessages'>) {
  /**
   * The first part of a delivery, before the run is locked: every unit locks the session first. Changes nothing where the session was deleted:
   * the run accepts no checkpoint any more.
   */
  async function extendSession(connection: Connection, { tenant, requestId }: RunKey, { session, messages, messageCount, now }: Delivery) {
    const extended = db
      .updateTable('sessions')
      .set({ message_count: messageCount, updated_at: now })
      .where(sql<boolean>`sessions.key = ${session} and ${unindexedTenant} = ${tenant}`)
      .where('active_run', '=', requestId)
      .returning('key')
    if ((await query(connection, extended)).rows.length > 0) await insertMessages(connection, tenant, session, messageCount - 1, messages)
  }

  /** The rest of a delivery, when the run is locked and its fence is right. */
  async function markDelivered(connection: Connection, { tenant, owner, requestId }: RunKey, { rank, now }: Delivery): Promise<void> {
    const delivered = db
      .updateTable('run_messages')
      .set({ delivered_at: now })
      .where((is) => is.and({ tenant, owner, target_id: requestId, rank }))
      .where('delivered_at', 'is', null)
    await query(connection, delivered)
    const counted = db
      .updateTable('runs')
      .set({ open_messages: sql`nullif(open_messages - 1, 0)` })
      .where((is) => is.and({ tenant, owner, request_id: requestId }))
    await query(connection, counted)
  }

  /**
   * Stores the run that answers the undelivered messages of an ended run: the first message is the question, further messages wait for
   * the new run. The run is next in the queue of the session. The request id is the id of the first message.
   */
  async function continueWith(connection: Connection, ended: RunRow, request: ChatRequest, now: number): Promise<void> {
    const { tenant, owner } = ended
    const key = { tenant, owner, requestId: ended.request_id }
    const [first, ...others] = (await query(connection, openOf(db, key))).rows
    if (!first) return
    const requestId = await insertNext(connection, ended, nextRequest(request, first.content), first, now)
    reachState('messages-begin-next-run')
    await moveTo(connection, requestId, first, { delivered_at: now, rank: 0 })
    for (const [index, message] of others.entries()) await moveTo(connection, requestId, message, { rank: index + 1 })
    const count = others.length === 0 ? null : others.length
    const counts = { message_ranks: count, open_messages: count, continues: key.requestId, unstored: ended.unstored }
    await update(connection, { ...key, requestId }, counts)
    await update(connection, key, { open_messages: null })
    if (request.hasCallback) await copyCallback(connection, key, requestId, now)
  }

  /** The request id of the new run; another one than the id of the message where a chat has taken the id meanwhile. */
  async function insertNext(connection: Connection, ended: RunRow, request: ChatRequest, first: RunMessageRow, now: number) {
    const row = {
      ...ended,
      operation: 'chain_async',
      body_hash: '',
      request: JSON.stringify(request),
      on_disconnect: 'continue',
      holder: '',
      sub: ended.sub ?? '',
      input: first.content.slice(0, 200).toWellFormed(),
      config_version: ended.config_version ?? '',
      created_at: now,
      started_at: now,
      status: 'pending',
      message_index: null,
    }
    for (const id of [first.message_id, randomUUIDv7()]) {
      if ((await statements.insertRun(connection, { ...row, request_id: id })).rows.length > 0) return id
    }
    throw new Error('A new request id was taken.')
  }

  async function moveTo(connection: Connection, target_id: string, row: RunMessageRow, more: Partial<RunMessageRow>): Promise<void> {
    const { tenant, owner, request_id, position } = row
    const moved = db
      .updateTable('run_messages')
      .set({ target_id, ...more })
      .where((is) => is.and({ tenant, owner, request_id, position }))
    await query(connection, moved)
  }

  async function update(connection: Connection, key: RunKey, columns: Partial<RunRow>): Promise<void> {
    const run = db
      .updateTable('runs')
      .set(columns)
      .where((is) => is.and(keyColumns(key)))
    await query(connection, run)
  }

  /** The receiver that is told of the end of a run is told of the end of the next one too. */
  async function copyCallback(connection: Connection, { tenant, owner, requestId }: RunKey, request_id: string, created_at: number) {
    const of = db
      .selectFrom('callbacks')
      .select(['event_id', 'url'])
      .where((is) => is.and({ tenant, owner, request_id: requestId }))
    const [callback] = (await query(connection, of)).rows
    if (!callback) return
    const row = { tenant, owner, request_id, ...callback, created_at, status: 'pending', attempts: '[]', round: 0, tries: 0 }
    await query(connection, db.insertInto('callbacks').values({ ...row, next_attempt_at: null }))
  }

  return { extendSession, markDelivered, continueWith }
}

export type MessageMoves = ReturnType<typeof messageMoves>

function runEnded({ requestId }: RunKey): ServiceError {
  return new ServiceError('run_ended', `Run ${requestId} has ended. Send the message as a new chat of its session.`)
}

function tooMany({ requestId }: RunKey): ServiceError {
  const reason = `${messageLimits.open} messages wait for run ${requestId}; no more are taken.`
  return new ServiceError('rate_limited', reason, { retryAfter: 1 })
}
