import { sql, type Kysely } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { SessionMessage, SessionPage, SessionRecord, SessionStore } from '../../sessions/session-store.ts'
import { query, type Database } from '../database.ts'
import { forkSession } from './fork-session.ts'
import { removeSession } from './remove-session.ts'
import { parseJson, toText } from '../rows.ts'
import { searchSessions } from './search-sessions.ts'
import { statement, type Param } from '../statement.ts'
import type { MessageRow, SessionRow, Tables } from '../tables.ts'

/** `SessionStore` on either database. */
export function createSessionStore(database: Database): SessionStore {
  const { db } = database
  const messagesOf = statement(db, (builder, param: Param<{ tenant: string; session: string }>) =>
    builder
      .selectFrom('messages')
      .select(['role', 'content', 'created_at', 'data'])
      .where('tenant', '=', param('tenant'))
      .where('session', '=', param('session'))
      .orderBy('idx'),
  )
  const messageOf = statement(db, (builder, param: Param<{ tenant: string; session: string; index: number }>) =>
    builder
      .selectFrom('messages')
      .select(['role', 'content', 'created_at', 'data'])
      .where('tenant', '=', param('tenant'))
      .where('session', '=', param('session'))
      .where('idx', '=', param('index')),
  )

  async function list(caller: Owner, page: SessionPage): Promise<SessionRecord[]> {
    const { rows } = await query(database.forTenant(caller.tenant).read, pageOf(db, caller, page))
    return rows.map(toRecord)
  }

  return {
    async find(caller, sessionId, { anyOwner }) {
      const { rows } = await query(database.forTenant(caller.tenant).read, sessionOf(db, caller, sessionId, anyOwner))
      return rows[0] && toRecord(rows[0])
    },

    async messages(tenant, session) {
      const { rows } = await messagesOf(database.forTenant(tenant).read, { tenant, session })
      return rows.map(toMessage)
    },

    async message(tenant, session, index) {
      if (index > maxIndex) return undefined
      const row = (await messageOf(database.forTenant(tenant).read, { tenant, session, index })).rows[0]
      return row && toMessage(row)
    },

    list,
    search: (caller, { words, limit, anyOwner, before }) =>
      searchSessions(database, {
        tenant: caller.tenant,
        words: words.map(toText),
        limit,
        before,
        list: (last, sessionCount) => list(caller, { limit: sessionCount, anyOwner, before: last }),
      }),

    remove: (caller, sessionId, removal) =>
      database.forTenant(caller.tenant).unit((connection) => removeSession(database, connection, { caller, sessionId, ...removal })),
    fork: (source, fork) => database.forTenant(source.tenant).unit((connection) => forkSession(db, connection, source, fork)),
  }
}

/** The largest value of the Postgres column; no message has a larger index. */
const maxIndex = 2 ** 31 - 1

function toMessage({ role, content, created_at, data }: Pick<MessageRow, 'role' | 'content' | 'created_at' | 'data'>): SessionMessage {
  return { role, content, createdAt: created_at, data: parseJson(data) }
}

/** The keys that belong to existing sessions of any tenant, for sweeps of leftover data. */
export async function existingSessions({ db, all }: Database, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await query(
    all.read,
    db
      .selectFrom('sessions')
      .select('key')
      .where('key', 'in', [...keys]),
  )
  return new Set(rows.map((row) => row.key))
}

/** Columns of a `SessionRecord`, without the window and its summary, which only runs need. */
const recordColumns = [
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

function sessionOf(db: Kysely<Tables>, { tenant, owner }: Owner, sessionId: string, anyOwner: boolean) {
  const all = db.selectFrom('sessions').select(recordColumns).where('tenant', '=', tenant).where('session_id', '=', sessionId)
  const withId = all.where('unstored', 'is', null)
  if (!anyOwner) return withId.where('owner', '=', owner)
  const ownFirst = sql`case when owner = ${owner} then 0 else 1 end`
  return withId.orderBy(ownFirst).orderBy('created_at', 'desc').orderBy('owner', 'desc').limit(1)
}

/** A page of sessions, latest activity first. A page starts after the current position of `before`, which may have moved since. */
function pageOf(db: Kysely<Tables>, { tenant, owner }: Owner, { limit, anyOwner, before }: SessionPage) {
  const started = db.selectFrom('sessions').select(recordColumns).where('tenant', '=', tenant).where('message_count', '>', 0)
  const all = started.where('unstored', 'is', null)
  const mine = anyOwner ? all : all.where('owner', '=', owner)
  const older = before
    ? mine.where(sql<boolean>`(updated_at, session_id, owner) < (${before.updatedAt}, ${before.sessionId}, ${before.owner})`)
    : mine
  return older.orderBy('updated_at', 'desc').orderBy('session_id', 'desc').orderBy('owner', 'desc').limit(limit)
}

function toRecord(row: Pick<SessionRow, (typeof recordColumns)[number]>): SessionRecord {
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
