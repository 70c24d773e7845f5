import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type RawBuilder } from 'kysely'
import type { SessionRecord } from '../../../sessions/session-store.ts'
import { query, type Database } from '../../database.ts'
import { containsWords } from '../../words.ts'
import { whereTenant } from '../remove-session.ts'

/** Messages per statement: at the start of a search, and bounds. */
const messagesPerStatement = { first: 20, least: 4, most: 300 }
/** SQLite runs a statement on the event loop, which serves other callers in between. Long messages make statements smaller. */
const statementMs = { most: 20, target: 10 }

/** Finds the sessions with a match by reading their names and messages. */
export function createFind(database: Database, tenant: string, words: readonly string[]) {
  let size = messagesPerStatement.first

  /** The keys of sessions with a match among their messages from index `start` on, up to `size` messages of each. */
  async function keysIn(sessions: readonly SessionRecord[], start: number): Promise<string[]> {
    const startedAt = performance.now()
    const { rows } = await query(
      database.forTenant(tenant).read,
      matching(database, { tenant, words, sessions, from: start, to: start + size }),
    )
    const ms = performance.now() - startedAt
    if (ms > statementMs.most) size = Math.max(messagesPerStatement.least, Math.floor((size * statementMs.target) / ms))
    else if (ms < statementMs.target) size = Math.min(messagesPerStatement.most, size * 2)
    await nextTurn()
    return rows.map(({ key }) => key)
  }

  return {
    size: () => size,
    async matchingKeys(sessions: readonly SessionRecord[]): Promise<Set<string>> {
      const keys = new Set<string>()
      const longest = Math.max(...sessions.map(({ messageCount }) => messageCount))
      for (let start = 0; start === 0 || (start < longest && keys.size < sessions.length);) {
        const next = start + size
        for (const key of await keysIn(sessions, start)) keys.add(key)
        start = next
      }
      return keys
    },
  }
}

interface Piece {
  tenant: string
  words: readonly string[]
  sessions: readonly SessionRecord[]
  /** Indexes of messages, `to` exclusive. */
  from: number
  to: number
}

function matching({ db, isShared }: Database, { tenant, words, sessions, from, to }: Piece) {
  const contains = (column: string): RawBuilder<boolean> => containsWords(sql.ref(column), words, isShared)
  return db
    .selectFrom('sessions')
    .select('key')
    .where(whereTenant(tenant))
    .where(
      'key',
      'in',
      sessions.map(({ key }) => key),
    )
    .where(
      sql<boolean>`(${contains('short_name')} or exists (select 1 from messages
        where messages.session = sessions.key and messages.tenant = ${tenant}
          and messages.idx >= ${from} and messages.idx < ${to} and ${contains('messages.content')}))`,
    )
}
