import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { SessionPage, SessionRecord } from '../../sessions/session-store.ts'
import type { SessionRow, Tables } from '../tables.ts'

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
