import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type RawBuilder } from 'kysely'
import type { SessionMatches, SessionRecord } from '../../sessions/session-store.ts'
import { query, type Database } from '../database.ts'
import { containsWords } from '../words.ts'
import { whereTenant } from './remove-session.ts'

/** Messages that one search reads. A search that reaches the limit answers with the matches so far. */
const maxMessages = 300_000
/** Messages per statement: SQLite runs a statement on the event loop, which serves other callers in between. */
const messagesPerStatement = 300
/** Sessions per page of the scan. */
const sessionsPerPage = 200

interface Scan {
  tenant: string
  words: readonly string[]
  limit: number
  before: SessionRecord | undefined
  /** Lists sessions, latest activity first. */
  list(before: SessionRecord | undefined, limit: number): Promise<SessionRecord[]>
}

/**
 * Finds sessions whose short name or one of whose messages contains all words, latest activity first. No index serves a part of a word on
 * both databases, so the search reads the caller's sessions in order until the page is full.
 */
export async function searchSessions(database: Database, { tenant, words, limit, before, list }: Scan): Promise<SessionMatches> {
  const matches: SessionRecord[] = []
  let last = before
  let messageCount = 0
  for (;;) {
    const page = await list(last, sessionsPerPage)
    for (const batch of inBatches(page)) {
      const keys = await matchingKeys(database, tenant, batch, words)
      for (const session of batch) {
        last = session
        if (keys.has(session.key)) matches.push(session)
        if (matches.length === limit) return { sessions: matches, scannedTo: last }
      }
      messageCount += countMessages(batch)
      if (messageCount >= maxMessages) return { sessions: matches, scannedTo: last }
      await nextTurn()
    }
    if (page.length < sessionsPerPage) return { sessions: matches, scannedTo: undefined }
  }
}

function* inBatches(sessions: readonly SessionRecord[]): Generator<SessionRecord[]> {
  let batch: SessionRecord[] = []
  for (const session of sessions) {
    if (batch.length > 0 && countMessages(batch) + session.messageCount > messagesPerStatement) {
      yield batch
      batch = []
    }
    batch.push(session)
  }
  if (batch.length > 0) yield batch
}

function countMessages(sessions: readonly SessionRecord[]): number {
  return sessions.reduce((sum, { messageCount }) => sum + messageCount, 0)
}

async function matchingKeys(
  database: Database,
  tenant: string,
  sessions: readonly SessionRecord[],
  words: readonly string[],
): Promise<Set<string>> {
  const contains = (column: string): RawBuilder<boolean> => containsWords(sql.ref(column), words, database.isShared)
  const matching = database.db
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
        where messages.session = sessions.key and messages.tenant = ${tenant} and ${contains('messages.content')}))`,
    )
  const { rows } = await query(database.forTenant(tenant).read, matching)
  return new Set(rows.map(({ key }) => key))
}
