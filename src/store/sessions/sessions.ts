import type { Owner } from '../../access/owner.ts'
import type { SessionMessage, SessionPage, SessionRecord, SessionStore } from '../../sessions/session-store.ts'
import { query, type Database, statement, type Param } from '../database.ts'
import { forkSession } from './fork-session.ts'
import { removeMessage } from './remove-message.ts'
import { removeSession } from './remove-session.ts'
import { parseJson, toText } from '../rows.ts'
import { createSearch } from './search/search.ts'
import { pageOf, sessionOf, toRecord } from './session-rows.ts'
import type { MessageRow } from '../tables.ts'

/** `SessionStore` on either database. */
export function createSessionStore(database: Database): SessionStore {
  const { db } = database
  const messagesOf = statement(db, (builder, param: Param<{ tenant: string; session: string }>) =>
    builder
      .selectFrom('messages')
      .select(['idx', 'role', 'content', 'created_at', 'data'])
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

  const search = createSearch(database)

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
      return rows.map((row) => ({ index: row.idx, ...toMessage(row) })).filter(({ data }) => !data?.deleted)
    },

    async message(tenant, session, index) {
      if (index > maxIndex) return undefined
      const row = (await messageOf(database.forTenant(tenant).read, { tenant, session, index })).rows[0]
      const message = row && toMessage(row)
      return message?.data?.deleted ? undefined : message
    },

    list,
    search: (caller, { words, ...page }) => search(caller, { ...page, words: words.map(toText) }),

    remove: (caller, sessionId, removal) =>
      database.forTenant(caller.tenant).unit((connection) => removeSession(database, connection, { caller, sessionId, ...removal })),
    removeMessage: (session, deletion) =>
      database.forTenant(session.tenant).unit((connection) => removeMessage(database, connection, session, deletion)),
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
