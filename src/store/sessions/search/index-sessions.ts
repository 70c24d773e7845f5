import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SessionRecord } from '../../../sessions/session-store.ts'
import { query, type Database } from '../../database.ts'
import { documentsPerSegment, endOfIndex, type IndexEnd, type IndexScope, addSlices } from './session-index.ts'

/** Activity of the last two minutes may still be committed, and clocks of processes may differ: newer sessions are not indexed. */
const settledMs = 120_000
/** Sessions, and messages, that one statement reads. */
const pageSize = { sessions: 100, messages: 100 }
/** A document is full at this size: larger documents have more bits by chance. */
const maxCharacters = 2000
/** Further messages of a session share the last document, so that a segment holds any session. */
const maxSessionDocuments = documentsPerSegment / 2
/** Rows of one statement. */
const rowsPerInsert = 500

export interface IndexedSessions {
  /** Sessions behind `after`, oldest activity first. */
  oldest(after: IndexEnd | undefined, before: number, limit: number): Promise<SessionRecord[]>
}

interface Document {
  session: string
  slices: Set<number>
}

interface Segment {
  documents: Document[]
  last: SessionRecord
}

/** Indexes sessions until fewer are left than a segment holds. Two processes may do so at once: the second finds the segment taken, and stops. */
export async function indexSessions(database: Database, scope: IndexScope, sessions: IndexedSessions): Promise<void> {
  await dropSparseIndex(database, scope)
  for (;;) {
    const end = await endOfIndex(database, scope)
    const segment = await readSegment(database, scope, sessions, end)
    if (!segment) return
    await storeSegment(database, scope, (end?.segment ?? -1) + 1, segment)
  }
}

/** A full segment of the sessions behind `end`; undefined when there are not enough. */
async function readSegment(
  database: Database,
  scope: IndexScope,
  { oldest }: IndexedSessions,
  end: IndexEnd | undefined,
): Promise<Segment | undefined> {
  const documents: Document[] = []
  const until = Date.now() - settledMs
  let last: SessionRecord | undefined
  for (;;) {
    const page = await oldest(last ? { ...last, segment: 0 } : end, until, pageSize.sessions)
    const texts = await readTexts(database, scope.tenant, page)
    for (const session of page) {
      const ofSession = toDocuments(session, texts.get(session.key) ?? [])
      if (last && documents.length + ofSession.length > documentsPerSegment) return { documents, last }
      documents.push(...ofSession)
      last = session
      await nextTurn()
    }
    if (page.length < pageSize.sessions) return undefined
  }
}

/** The texts of messages by session. */
async function readTexts({ db, forTenant }: Database, tenant: string, sessions: readonly SessionRecord[]): Promise<Map<string, string[]>> {
  const texts = new Map<string, string[]>()
  const keys = sessions.map(({ key }) => key)
  const ofSessions = db.selectFrom('messages').select(['session', 'idx', 'content']).where('tenant', '=', tenant)
  const longest = Math.max(0, ...sessions.map(({ messageCount }) => messageCount))
  const step = Math.max(1, Math.floor(pageSize.messages / Math.max(1, keys.length)))
  for (let start = 0; start < longest && keys.length > 0; start += step) {
    const open = sessions.filter(({ messageCount }) => messageCount > start).map(({ key }) => key)
    const piece = ofSessions
      .where('session', 'in', open)
      .where('idx', '>=', start)
      .where('idx', '<', start + step)
    for (const { session, content } of (await query(forTenant(tenant).read, piece)).rows) {
      const list = texts.get(session)
      if (list) list.push(content)
      else texts.set(session, [content])
    }
    await nextTurn()
  }
  return texts
}

function toDocuments({ key, shortName }: SessionRecord, texts: readonly string[]): Document[] {
  const documents: Document[] = [{ session: key, slices: new Set() }]
  let size = 0
  for (const text of [shortName, ...texts]) {
    if (size + text.length > maxCharacters && size > 0 && documents.length < maxSessionDocuments) {
      documents.push({ session: key, slices: new Set() })
      size = 0
    }
    addSlices(documents.at(-1)!.slices, text)
    size += text.length
  }
  return documents
}

async function storeSegment({ db, forTenant }: Database, scope: IndexScope, segment: number, { documents, last }: Segment): Promise<void> {
  const { tenant, owner } = scope
  const slices = toSlices(documents).map((row) => ({ tenant, owner, segment, ...row }))
  const rows = documents.map(({ session }, n) => ({ tenant, owner, document: segment * documentsPerSegment + n, session }))
  const position = { last_updated_at: last.updatedAt, last_session_id: last.sessionId, last_owner: last.owner }
  await forTenant(tenant).unit(async (connection) => {
    await query(connection, db.insertInto('search_segments').values({ tenant, owner, segment, ...position }))
    const keys = [...new Set(documents.map(({ session }) => session))]
    const earlier = db.deleteFrom('search_documents').where('tenant', '=', tenant).where('owner', '=', owner)
    await query(connection, earlier.where('session', 'in', keys))
    for (const part of parts(rows)) await query(connection, db.insertInto('search_documents').values(part))
    for (const part of parts(slices)) await query(connection, db.insertInto('search_slices').values(part))
  })
}

/** The bits of all documents, by slice. */
function toSlices(documents: readonly Document[]): { slice: number; bits: string }[] {
  const rows = new Map<number, Buffer>()
  for (const [n, { slices }] of documents.entries()) {
    for (const slice of slices) {
      let bits = rows.get(slice)
      if (!bits) rows.set(slice, (bits = Buffer.alloc(documentsPerSegment / 8)))
      bits[n >> 3]! |= 1 << (n & 7)
    }
  }
  return Array.from(rows, ([slice, bits]) => ({ slice, bits: bits.toString('base64') }))
}

function parts<T>(rows: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(rows.length / rowsPerInsert) }, (_, n) => rows.slice(n * rowsPerInsert, (n + 1) * rowsPerInsert))
}

/** Drops an index most of whose documents are of sessions that were removed or indexed anew, newest segments first. */
async function dropSparseIndex(database: Database, scope: IndexScope): Promise<void> {
  const { db, forTenant } = database
  const { tenant, owner } = scope
  const end = await endOfIndex(database, scope)
  if (!end || end.segment < 8) return
  const live = db.selectFrom('search_documents').select(({ fn }) => fn.countAll<number>().as('count'))
  const [row] = (await query(forTenant(tenant).read, live.where('tenant', '=', tenant).where('owner', '=', owner))).rows
  if (Number(row?.count) * 2 > (end.segment + 1) * documentsPerSegment) return
  for (let { segment } = end; segment >= 0; segment--) {
    await forTenant(tenant).unit(async (connection) => {
      for (const table of ['search_segments', 'search_slices'] as const) {
        await query(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('owner', '=', owner).where('segment', '=', segment))
      }
      const ofSegment = db.deleteFrom('search_documents').where('tenant', '=', tenant).where('owner', '=', owner)
      await query(connection, ofSegment.where('document', '>=', segment * documentsPerSegment))
    })
  }
}
