import type { SessionMatches, SessionRecord } from '../../../sessions/session-store.ts'
import type { Database } from '../../database.ts'
import { createFind } from './find-matches.ts'
import {
  documentsPerSegment,
  documentsWith,
  endOfIndex,
  firstDocument,
  sessionsOfDocuments,
  type IndexEnd,
  type IndexScope,
  slicesOfWords,
} from './session-index.ts'

/** Messages that one search reads. A search that reaches the limit answers with the matches so far. */
const maxMessages = 30_000
/** Sessions per page of the scan. */
const sessionsPerPage = 200
/** Documents of the index that are looked up together. */
const documentsPerPage = 100

export interface Search {
  /** The sessions that are searched. */
  scope: IndexScope
  words: readonly string[]
  limit: number
  before: SessionRecord | undefined
  /** Lists sessions of the scope behind `after`, latest activity first. */
  list(page: { before: SessionRecord | undefined; after: IndexEnd | undefined; limit: number }): Promise<SessionRecord[]>
  /** The sessions of the scope with these keys, of those that `list` lists without `after`. */
  withKeys(keys: readonly string[], before: SessionRecord | undefined): Promise<SessionRecord[]>
  /** Called when many sessions are not indexed. */
  onUnindexed(): void
}

/**
 * Finds sessions whose short name or a single message contains all words, latest activity first. The search reads all sessions that are
 * not indexed, then the sessions that the index names, until the page is full. Words of fewer than three characters are not indexed.
 */
export async function searchSessions(database: Database, search: Search): Promise<SessionMatches> {
  const { scope, words, before, list } = search
  const slices = slicesOfWords(words)
  const end = slices && (await endOfIndex(database, scope))
  const reader = createReader(database, search)
  let unindexedCount = 0
  for (let last = before; ;) {
    const page = await list({ before: last, after: end, limit: sessionsPerPage })
    last = page.at(-1) ?? last
    unindexedCount += page.length
    if (slices && unindexedCount > documentsPerSegment) search.onUnindexed()
    if (await reader.read(page)) return reader.matches
    if (page.length < sessionsPerPage) break
  }
  if (!end) return reader.matches
  await readIndexed(database, search, { end, slices, reader })
  // An index that was dropped meanwhile has named too few sessions.
  const isWhole = ((await endOfIndex(database, scope))?.segment ?? -1) >= end.segment
  return isWhole ? reader.matches : searchSessions(database, search)
}

async function readIndexed(
  database: Database,
  { scope, before, withKeys }: Search,
  { end, slices, reader }: { end: IndexEnd; slices: readonly number[]; reader: Reader },
): Promise<void> {
  // A session that is not indexed any more has later activity, or is removed: `withKeys` then leaves out what is before its position.
  const below = (before && (await firstDocument(database, scope, before.key))) ?? Infinity
  const readPage = async (documents: readonly number[]) => {
    const keys = [...new Set(await sessionsOfDocuments(database, scope, documents))].filter((key) => !reader.hasRead(key))
    const records = new Map((keys.length > 0 ? await withKeys(keys, before) : []).map((record) => [record.key, record]))
    return reader.read(keys.flatMap((key) => records.get(key) ?? []))
  }
  let page: number[] = []
  for await (const document of documentsWith(database, scope, slices, { segment: end.segment, below })) {
    page.push(document)
    if (page.length < documentsPerPage) continue
    if (await readPage(page)) return
    page = []
  }
  if (page.length > 0) await readPage(page)
}

interface Reader {
  matches: SessionMatches
  hasRead(key: string): boolean
  /** Reads the messages of sessions. True when the search ends. */
  read(sessions: readonly SessionRecord[]): Promise<boolean>
}

function createReader(database: Database, { scope: { tenant }, words, limit }: Search): Reader {
  const find = createFind(database, tenant, words)
  const matches: SessionMatches = { sessions: [], scannedTo: undefined }
  const readKeys = new Set<string>()
  let messageCount = 0
  return {
    matches,
    hasRead: (key) => readKeys.has(key),
    async read(sessions) {
      for (let start = 0; start < sessions.length;) {
        const batch = batchAt(sessions, start, find.size())
        start += batch.length
        const keys = await find.matchingKeys(batch)
        for (const session of batch) {
          readKeys.add(session.key)
          if (keys.has(session.key)) matches.sessions.push(session)
          if (matches.sessions.length === limit) matches.scannedTo = session
          if (matches.scannedTo) return true
        }
        messageCount += countMessages(batch)
        if (messageCount >= maxMessages) matches.scannedTo = batch.at(-1)
        if (matches.scannedTo) return true
      }
      return false
    },
  }
}

/** The sessions from `start` on that together have at most `size` messages; a larger session is alone. */
function batchAt(page: readonly SessionRecord[], start: number, size: number): SessionRecord[] {
  let [end, count] = [start + 1, page[start]!.messageCount]
  while (end < page.length && count + page[end]!.messageCount <= size) count += page[end++]!.messageCount
  return page.slice(start, end)
}

function countMessages(sessions: readonly SessionRecord[]): number {
  return sessions.reduce((sum, { messageCount }) => sum + messageCount, 0)
}
