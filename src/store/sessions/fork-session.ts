import { sql, type Kysely } from 'kysely'
import { resultImagesIn } from '../../runs/attachments/result-images.ts'
import type { MessageData } from '../../sessions/message.ts'
import type { NewFork, SessionRecord } from '../../sessions/session-store.ts'
import { query, type Connection } from '../database.ts'
import { parseJson } from '../rows.ts'
import { whereTenant } from './remove-session.ts'
import type { Tables } from '../tables.ts'

/** Forks a session, as a part of a unit of work. Messages that a run of the source has not stored yet are not in the fork. */
export async function forkSession(
  db: Kysely<Tables>,
  connection: Connection,
  origin: SessionRecord,
  fork: NewFork,
): Promise<'done' | 'unknown' | 'too_far' | 'taken'> {
  const { tenant, messageIndex } = fork
  // Locks the source, so that no run removes a partial answer and no caller deletes the session in between.
  const lock = db
    .updateTable('sessions')
    .set({ active_run: sql.ref('active_run') })
    .where('tenant', '=', tenant)
    .where('key', '=', origin.key)
  const source = (await query(connection, lock.returning(['short_name', 'message_count', 'window_start', 'summary']))).rows[0]
  if (!source) return 'unknown'
  if (messageIndex > source.message_count) return 'too_far'
  // A window that starts after the end of the fork, and its summary, cover turns that the fork does not have.
  const keepsWindow = messageIndex >= source.window_start
  const session = {
    tenant,
    owner: fork.owner,
    session_id: fork.sessionId,
    key: fork.key,
    // An empty session gets its name from its first message later.
    short_name: messageIndex === 0 ? '' : source.short_name,
    checkpoint_id: fork.checkpointId,
    active_run: null,
    message_count: messageIndex,
    window_start: keepsWindow ? source.window_start : 0,
    summary: keepsWindow ? source.summary : null,
    created_at: fork.now,
    updated_at: fork.now,
  }
  const insert = db.insertInto('sessions').values(session)
  const { changes } = await query(
    connection,
    insert.onConflict((conflict) => conflict.doNothing()),
  )
  if (changes === 0) return 'taken'
  await copyMessages(db, connection, origin.key, fork)
  return 'done'
}

async function copyMessages(db: Kysely<Tables>, connection: Connection, sourceKey: string, fork: NewFork): Promise<void> {
  const { tenant, key, messageIndex } = fork
  const messages = db.selectFrom('messages').where('tenant', '=', tenant).where('session', '=', sourceKey).where('idx', '<', messageIndex)
  const to = sql<string>`cast(${key} as text)`
  const copy = db
    .insertInto('messages')
    .columns(['tenant', 'session', 'idx', 'role', 'content', 'created_at', 'data'])
    .expression(messages.select(['tenant', to.as('session'), 'idx', 'role', 'content', 'created_at', 'data']))
  await query(connection, copy)
  await copyArtifacts(db, connection, sourceKey, fork)
  // The data of images and files in questions and of images in tool results have this field; few messages have such media.
  const withMedia = messages.select('data').where('data', 'like', '%"mediaType":%')
  const { rows } = await query(connection, withMedia)
  const runs = rows.flatMap(({ data }) => {
    const { images, files, transcript, requestId } = parseJson<MessageData>(data) ?? {}
    const hasMedia = images !== undefined || files !== undefined || resultImagesIn(transcript ?? []).length > 0
    return hasMedia && requestId !== undefined ? [requestId] : []
  })
  for (const requestId of new Set(runs)) {
    const media = db.selectFrom('media').where('tenant', '=', tenant).where('session', '=', sourceKey).where('request_id', '=', requestId)
    const copyOfMedia = db
      .insertInto('media')
      .columns(['tenant', 'session', 'request_id', 'n', 'media_type', 'data'])
      .expression(media.select(['tenant', to.as('session'), 'request_id', 'n', 'media_type', 'data']))
    await query(connection, copyOfMedia)
  }
}

/** The files of the copied messages; a caller copies the bytes. */
async function copyArtifacts(
  db: Kysely<Tables>,
  connection: Connection,
  sourceKey: string,
  { tenant, owner, key, sessionId, messageIndex }: NewFork,
): Promise<void> {
  const ofSource = db.selectFrom('artifacts').selectAll().where(whereTenant(tenant)).where('session', '=', sourceKey)
  const { rows: sourceRows } = await query(connection, ofSource)
  if (sourceRows.length === 0) return
  const messages = db.selectFrom('messages').select('data').where('tenant', '=', tenant).where('session', '=', key)
  const { rows } = await query(connection, messages.where('idx', '<', messageIndex).where('data', 'like', '%"artifacts":[{%'))
  const copiedIds = new Set(rows.flatMap(({ data }) => (parseJson<MessageData>(data)?.artifacts ?? []).map(({ id }) => id)))
  const copies = sourceRows.filter(({ id }) => copiedIds.has(id)).map((row) => ({ ...row, owner, session: key, session_id: sessionId }))
  for (const copy of copies) await query(connection, db.insertInto('artifacts').values(copy))
}
