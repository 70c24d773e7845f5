import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { SessionPage, SessionRecord } from '../../sessions/session-store.ts'
import type { SessionRow, Tables } from '../tables.ts'
import type { Excerpt, ExcerptLimits } from '../../runs/approvals/approval-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { query, type Database } from '../database.ts'
import { isLeft } from './remove-message.ts'
import { isInPairs } from './remove-session.ts'
import { unindexedTenant } from '../runs/statements.ts'

/** Columns of a `SessionRecord`, without the window and its summary, which only runs need. */
export const recordColumns = [
  'tenant',
  'owner',
  'session_id',
  'key',
  'short_name',
  'checkpoint_id',
  'message_count',
  'created_at',
  'updated_at',
] as const satisfies (keyof SessionRow)[]

export function sessionOf(db: Kysely<Tables>, { tenant, owner }: Owner, sessionId: string, anyOwner: boolean) {
  const all = db.selectFrom('sessions').select(recordColumns).where('tenant', '=', tenant).where('session_id', '=', sessionId)
  const withId = all.where('unstored', 'is', null)
  if (!anyOwner) return withId.where('owner', '=', owner)
  const ownFirst = sql`case when owner = ${owner} then 0 else 1 end`
  return withId.orderBy(ownFirst).orderBy('created_at', 'desc').orderBy('owner', 'desc').limit(1)
}

/** A position in the order of activity. */
export type Position = Pick<SessionRecord, 'updatedAt' | 'sessionId' | 'owner'>

/** The sessions that are listed: of the caller, or with `anyOwner` of the tenant. */
export function listedSessions(db: Kysely<Tables>, { tenant, owner }: Owner, anyOwner: boolean) {
  const started = db.selectFrom('sessions').select(recordColumns).where('tenant', '=', tenant).where('message_count', '>', 0)
  const all = started.where('unstored', 'is', null)
  return anyOwner ? all : all.where('owner', '=', owner)
}

/** A page of sessions, latest activity first. A page starts after the current position of `before`, which may have moved since. */
export function pageOf(
  db: Kysely<Tables>,
  caller: Owner,
  { limit, anyOwner, before, after }: SessionPage & { after?: Position | undefined },
) {
  let page = listedSessions(db, caller, anyOwner)
  if (before) page = page.where(isAt('<', before))
  if (after) page = page.where(isAt('>', after))
  return page.orderBy('updated_at', 'desc').orderBy('session_id', 'desc').orderBy('owner', 'desc').limit(limit)
}

/** True for sessions with earlier (`<`) or later (`>`) activity than the position. */
export function isAt(side: '<' | '>', { updatedAt, sessionId, owner }: Position): RawBuilder<boolean> {
  return sql<boolean>`(updated_at, session_id, owner) ${sql.raw(side)} (${updatedAt}, ${sessionId}, ${owner})`
}

export function toRecord(row: Pick<SessionRow, (typeof recordColumns)[number]>): SessionRecord {
  return {
    tenant: row.tenant,
    owner: row.owner,
    sessionId: row.session_id,
    key: row.key,
    shortName: row.short_name,
    checkpointId: row.checkpoint_id,
    messageCount: row.message_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The last messages of the sessions of some runs. The database truncates long messages. */
export async function excerptsOf(database: Database, tenant: string, runs: readonly RunKey[], limits: ExcerptLimits): Promise<Excerpt[]> {
  const names = runs.map(({ owner, requestId }) => ({ 'runs.request_id': requestId, 'runs.owner': owner }))
  const selection = database.db
    .selectFrom('runs')
    .innerJoin('sessions', 'sessions.key', 'runs.session')
    .innerJoin('messages', 'messages.session', 'sessions.key')
    .select(['runs.owner', 'runs.request_id', 'runs.message_index', 'messages.idx', 'messages.role'])
    // Reads a character more than the limit, as a sign of truncated text.
    .select(sql<string>`substr(messages.content, 1, ${limits.characters + 1})`.as('content'))
    .where('runs.tenant', '=', tenant)
    .where(isInPairs(['runs.request_id', 'runs.owner'], names))
    .where(sql<boolean>`${unindexedTenant} = ${tenant}`)
    .where('messages.tenant', '=', tenant)
    .where(isLeft)
    .where(sql<boolean>`messages.idx >= sessions.message_count - ${limits.messages}`)
    .orderBy('messages.idx')
  const { rows } = await query(database.forTenant(tenant).read, selection)
  const byRun = Map.groupBy(rows, (row) => `${row.request_id} ${row.owner}`)
  return [...byRun.values()].map((messages) => {
    const { owner, request_id: requestId, message_index } = messages[0]!
    return {
      tenant,
      owner,
      requestId,
      questionIndex: message_index ?? undefined,
      messages: messages.map(({ idx, role, content }) => ({ index: idx, role, content })),
    }
  })
}
