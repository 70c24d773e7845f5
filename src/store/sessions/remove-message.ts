import { sql, type Kysely, type RawBuilder } from 'kysely'
import { ServiceError } from '../../errors.ts'
import { firstQuestionFile, firstResultImage, resultImagesIn } from '../../runs/attachments/result-images.ts'
import type { MessageData } from '../../sessions/message.ts'
import type { MessageDeletion, SessionRecord } from '../../sessions/session-store.ts'
import { query, type Connection, type Database } from '../database.ts'
import { forgetTurn } from '../memory/memories.ts'
import { isChat, json, parseJson, toText } from '../rows.ts'
import type { MessageRow, Tables } from '../tables.ts'
import { isInPairs, removeRuns, whereTenant } from './remove-session.ts'

/** True for messages that are not deleted. `deleted` is the first key of a deleted message's data. */
export const isLeft: RawBuilder<boolean> = sql`(messages.data is null or messages.data not like '{"deleted":true%')`

/**
 * Deletes a message, as a part of a unit of work: its text, its media and files, the runs that it belongs to, and memories without another source. An
 * empty row keeps the place of the message. The summary of the session is made anew if it covers the message.
 */
export async function removeMessage(
  { db, jobs, ledger }: Pick<Database, 'db' | 'jobs' | 'ledger'>,
  connection: Connection,
  session: SessionRecord,
  { index, nameOf, checkpointId, jobId, now, acting }: MessageDeletion,
): Promise<boolean> {
  const { tenant, owner, key, sessionId } = session
  const ofSession = db.updateTable('sessions').where('tenant', '=', tenant).where('owner', '=', owner).where('key', '=', key)
  // First statement: locks the session, so that no run and no other deletion begins in between.
  const lock = ofSession.set({ active_run: sql.ref('active_run') }).returning(['active_run', 'message_count', 'window_start', 'short_name'])
  const state = (await query(connection, lock)).rows[0]
  if (!state || index >= state.message_count) return false
  const messageKey = { tenant, session: key, idx: index }
  const message = (
    await query(
      connection,
      db
        .selectFrom('messages')
        .select(['role', 'content', 'data'])
        .where((is) => is.and(messageKey)),
    )
  ).rows[0]
  const data = parseJson<MessageData>(message?.data ?? null) ?? {}
  if (!message || data.deleted) return false
  if (state.active_run !== null) throw new ServiceError('session_busy', `Session ${sessionId} is busy with another request.`)

  const tombstone: MessageData = { deleted: true, ...(data.system !== undefined && { system: data.system }) }
  const erasure = db.updateTable('messages').set({ content: '', data: json(tombstone) })
  await query(
    connection,
    erasure.where((is) => is.and(messageKey)),
  )
  const isSummarised = index < state.window_start
  const isNamed = message.role === 'human' && state.short_name === toText(nameOf(message.content))
  const change = {
    // Later activity than that of the search index: a search reads the session.
    updated_at: now,
    checkpoint_id: checkpointId,
    ...(isSummarised && { window_start: 0, summary: null }),
    ...(isNamed && { short_name: toText(nameOf(await firstQuestion(db, connection, session))) }),
  }
  await query(connection, ofSession.set(change))
  await removeTurn(db, connection, session, { index, data, now })
  await removeMedia(db, connection, session, { role: message.role, data })
  for (const table of ['search_documents', 'examples', 'example_media', 'experiment_results'] as const)
    await query(connection, db.deleteFrom(table).where(whereTenant(tenant)).where('session', '=', key))
  const files = await removeFiles(db, connection, session, data)
  if (files.length > 0)
    await jobs.insert(connection, [{ id: jobId, kind: 'session_deleted', tenant, data: { session: key, files }, dueAt: now }])
  await ledger.record(connection, tenant, acting, {
    action: 'session.message_deleted',
    target: `session:${sessionId}`,
    data: { message_index: index },
  })
  return true
}

async function firstQuestion(db: Kysely<Tables>, connection: Connection, { tenant, key }: SessionRecord): Promise<string> {
  const questions = db.selectFrom('messages').select('content').where('tenant', '=', tenant).where('session', '=', key)
  const first = questions.where('role', '=', 'human').where(isLeft).orderBy('idx').limit(1)
  return (await query(connection, first)).rows[0]?.content ?? ''
}

interface RemovedMessage {
  index: number
  data: MessageData
  now: number
}

/** Removes the runs that the message is a question or an answer of, and what was learned from them. */
async function removeTurn(
  db: Kysely<Tables>,
  connection: Connection,
  { tenant, owner, key }: SessionRecord,
  { index, data: { requestId, messageId }, now }: RemovedMessage,
): Promise<void> {
  const ofSession = db.selectFrom('runs').select(['owner', 'request_id', 'operation', 'ended_at', 'message_index'])
  const ofMessage = ofSession
    .where(whereTenant(tenant))
    .where('session', '=', key)
    .where(({ eb, or }) => or([eb('message_index', '=', index), ...(requestId === undefined ? [] : [eb('request_id', '=', requestId)])]))
  const runs = (await query(connection, ofMessage)).rows
  await removeRuns(db, connection, tenant, runs, now)
  const requestIds = [...new Set([...runs.map((run) => run.request_id), ...(requestId === undefined ? [] : [requestId])])]
  const indexes = [index, ...runs.filter(isChat).flatMap((run) => run.message_index ?? [])]
  await forgetTurn(connection, db, { tenant, owner }, { session: key, indexes, requestIds })
  const delivered = runs.map((run) => ({ target_id: run.request_id, owner: run.owner }))
  const messages = db.deleteFrom('run_messages').where('tenant', '=', tenant)
  if (delivered.length > 0) await query(connection, messages.where(isInPairs(['target_id', 'owner'], delivered)))
  if (messageId !== undefined) await query(connection, messages.where('owner', '=', owner).where('message_id', '=', messageId))
}

/** Removes the bytes of images and files of a question, or of the results of tools in an answer, unless another message of the run shows them. */
async function removeMedia(
  db: Kysely<Tables>,
  connection: Connection,
  { tenant, key }: SessionRecord,
  { role, data: { requestId, images, files } }: Pick<MessageRow, 'role'> & { data: MessageData },
): Promise<void> {
  if (requestId === undefined) return
  const media = db.deleteFrom('media').where('tenant', '=', tenant).where('session', '=', key).where('request_id', '=', requestId)
  if (role === 'human') {
    if (images) await query(connection, media.where('n', '<', firstQuestionFile))
    if (files) await query(connection, media.where('n', '>=', firstQuestionFile).where('n', '<', firstResultImage))
    return
  }
  const otherMessages = db.selectFrom('messages').select('data').where('tenant', '=', tenant).where('session', '=', key)
  const { rows } = await query(connection, otherMessages.where('data', 'like', '%"mediaType":%'))
  const shownImages = rows.flatMap((row) => resultImagesIn(parseJson<MessageData>(row.data)?.transcript ?? []))
  const keptNumbers = shownImages.flatMap((image) => (image.requestId === requestId ? [image.n] : []))
  const results = media.where('n', '>=', firstResultImage)
  await query(connection, keptNumbers.length > 0 ? results.where('n', 'not in', keptNumbers) : results)
}

/** Removes the entries of an answer's files, and returns their ids: a job deletes the bytes. */
async function removeFiles(
  db: Kysely<Tables>,
  connection: Connection,
  { tenant, key }: SessionRecord,
  { artifacts = [] }: MessageData,
): Promise<string[]> {
  const ids = artifacts.map(({ id }) => id)
  if (ids.length === 0) return []
  const entries = db.deleteFrom('artifacts').where(whereTenant(tenant)).where('session', '=', key)
  await query(connection, entries.where('id', 'in', ids))
  return ids
}
