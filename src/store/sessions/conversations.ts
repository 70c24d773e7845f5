import { sql } from 'kysely'
import { ServiceError } from '../../errors.ts'
import type { ConversationStore, Metadata } from '../../sessions/conversations.ts'
import type { SessionMessage, SessionRecord } from '../../sessions/session-store.ts'
import { query, type Database, type Connection } from '../database.ts'
import { json, parseJson, toText, toWindow } from '../rows.ts'
import type { SummaryStore } from '../../runs/window/summary.ts'
import type { RunStore } from '../../runs/run-store.ts'
import { isLeft } from './remove-message.ts'

/** `ConversationStore` on either database. */
export function createConversationStore({ db, forTenant }: Database): ConversationStore {
  const updateOf = ({ tenant, owner, key }: SessionRecord) =>
    db.updateTable('sessions').where('tenant', '=', tenant).where('owner', '=', owner).where('key', '=', key)

  async function insertMessages(
    connection: Connection,
    { tenant, key }: Pick<SessionRecord, 'tenant' | 'key'>,
    first: number,
    messages: readonly SessionMessage[],
  ): Promise<void> {
    if (messages.length === 0) return
    const rows = messages.map(({ role, content, createdAt, data }, index) => {
      return { tenant, session: key, idx: first + index, role, content: toText(content), created_at: createdAt, data: json(data) }
    })
    await query(connection, db.insertInto('messages').values(rows))
  }

  return {
    create: ({ tenant, owner, sessionId, key, checkpointId, shortName, metadata, messages, createdAt, updatedAt }) =>
      forTenant(tenant).unit(async (connection) => {
        const row = {
          tenant,
          owner,
          session_id: sessionId,
          key,
          short_name: toText(shortName),
          checkpoint_id: checkpointId,
          active_run: null,
          message_count: messages.length,
          window_start: 0,
          summary: null,
          created_at: createdAt,
          updated_at: updatedAt,
          metadata: toText(JSON.stringify(metadata)),
        }
        const insert = db.insertInto('sessions').values(row)
        const { changes } = await query(
          connection,
          insert.onConflict((conflict) => conflict.doNothing()),
        )
        if (changes > 0) await insertMessages(connection, { tenant, key }, 0, messages)
        return changes > 0
      }),

    async metadata({ tenant, owner, key }) {
      const ofSession = db.selectFrom('sessions').select('metadata').where('tenant', '=', tenant).where('owner', '=', owner)
      const { rows } = await query(forTenant(tenant).read, ofSession.where('key', '=', key))
      return parseJson<Metadata>(rows[0]?.metadata ?? null) ?? {}
    },

    setMetadata: (session, metadata) =>
      forTenant(session.tenant).unit(async (connection) => {
        const update = updateOf(session).set({ metadata: toText(JSON.stringify(metadata)) })
        return (await query(connection, update.returning('key'))).rows.length > 0
      }),

    append: (session, messages, { now, checkpointId, shortName, isFirst }) =>
      forTenant(session.tenant).unit(async (connection) => {
        // The update locks the session, so that no run begins in between.
        const grown = updateOf(session).set({
          message_count: sql`message_count + ${messages.length}`,
          short_name: sql`case when message_count = 0 then ${toText(shortName)} else short_name end`,
          checkpoint_id: checkpointId,
          updated_at: now,
        })
        const { rows } = await query(connection, grown.returning(['active_run', 'message_count']))
        const row = rows[0]
        if (!row) return undefined
        if (row.active_run !== null) throw new ServiceError('session_busy', `Session ${session.sessionId} is busy with another request.`)
        const first = row.message_count - messages.length
        if (isFirst && first > 0)
          throw new ServiceError('session_exists', `Session ${session.sessionId} has messages, which cannot be changed: fork the session.`)
        await insertMessages(connection, session, first, messages)
        return first
      }),
  }
}

/** `SummaryStore` on either database. */
export function createSummaryStore(database: Database, { history }: Pick<RunStore, 'history'>): SummaryStore {
  const { db } = database
  /** Of the window alone: a deletion before the window makes the summary anew. */
  const deletedIn = (tenant: string, session: string, start: number) =>
    db
      .selectFrom('messages')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', tenant)
      .where('session', '=', session)
      .where('idx', '>=', start)
      .where(sql<boolean>`not ${isLeft}`)
  return {
    history,

    async window(tenant, session) {
      const selection = db
        .selectFrom('sessions')
        .select(['owner', 'window_start', 'summary'])
        .where('tenant', '=', tenant)
        .where('key', '=', session)
      const { read } = database.forTenant(tenant)
      const [row] = (await query(read, selection)).rows
      if (!row) return undefined
      const { windowStart, summary } = toWindow(row)
      return {
        owner: row.owner,
        start: windowStart,
        summary,
        deleted: Number((await query(read, deletedIn(tenant, session, windowStart))).rows[0]?.count),
      }
    },

    async moveWindow(tenant, session, { start, end, earlier, summary, deleted }) {
      const ofWindow = db.updateTable('sessions').where('tenant', '=', tenant).where('key', '=', session).where('window_start', '=', start)
      const unchanged = ofWindow
        .where('summary', 'is not distinct from', json(earlier))
        .where(deletedIn(tenant, session, start), '=', deleted)
      const moved = unchanged.set({ window_start: end, summary: JSON.stringify(summary) })
      const { changes } = await database.forTenant(tenant).unit(async (connection) => {
        // Waits for a deletion that goes on: the second statement counts what the deletion has committed.
        await query(connection, ofWindow.set({ window_start: start }))
        return query(connection, moved)
      })
      return changes === 1
    },
  }
}
