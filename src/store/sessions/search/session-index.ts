import type { Owner } from '../../../access/owner.ts'
import type { SessionRecord } from '../../../sessions/session-store.ts'
import { query, type Database } from '../../database.ts'

/**
 * An index of the texts of sessions: a signature file in slices. A row has one bit of all documents of a segment, so a search reads a few rows.
 * The index says which sessions may match, and the search then reads the messages of those.
 *
 * Searches fill the index; a chat writes nothing to the index. Sessions are indexed in the order of their activity, up to a position. After
 * later activity, a session is behind the position again, where a search reads every session.
 */

/** The sessions of an index: of one owner, or of all owners of the tenant with an empty `owner`. The time of a search depends on these alone. */
export type IndexScope = Owner

/** The newest segment of an index, and the position of its last session. */
export interface IndexEnd extends Pick<SessionRecord, 'updatedAt' | 'sessionId' | 'owner'> {
  segment: number
}

export const documentsPerSegment = 1024

/** Segments that one statement reads. */
const segmentsPerRead = 128

/** The end of an index; undefined for an empty index. */
export async function endOfIndex({ db, forTenant }: Database, { tenant, owner }: IndexScope): Promise<IndexEnd | undefined> {
  const newest = db.selectFrom('search_segments').selectAll().where('tenant', '=', tenant).where('owner', '=', owner)
  const [row] = (await query(forTenant(tenant).read, newest.orderBy('segment', 'desc').limit(1))).rows
  return row && { segment: row.segment, updatedAt: row.last_updated_at, sessionId: row.last_session_id, owner: row.last_owner }
}

/** The numbers of documents that have all slices, newest first, from `below` on. */
export async function* documentsWith(
  { db, forTenant }: Database,
  { tenant, owner }: IndexScope,
  slices: readonly number[],
  { segment: newest, below }: { segment: number; below: number },
): AsyncGenerator<number> {
  const first = Math.min(newest, Math.floor((below - 1) / documentsPerSegment))
  for (let top = first; top >= 0; top -= segmentsPerRead) {
    const segments = Array.from({ length: Math.min(segmentsPerRead, top + 1) }, (_, n) => top - n)
    const rows = db.selectFrom('search_slices').select(['segment', 'bits']).where('tenant', '=', tenant).where('owner', '=', owner)
    const read = rows.where('segment', 'in', segments).where('slice', 'in', [...slices])
    const matches = intersect((await query(forTenant(tenant).read, read)).rows, slices.length)
    for (const segment of segments) {
      const bits = matches.get(segment)
      for (let n = documentsPerSegment - 1; bits && n >= 0; n--) {
        const document = segment * documentsPerSegment + n
        if (document < below && (bits[n >> 3]! & (1 << (n & 7))) !== 0) yield document
      }
    }
  }
}

/** The common bits of all slices, by segment; segments without common bits may be left out. */
function intersect(rows: readonly { segment: number; bits: string }[], sliceCount: number): Map<number, Buffer> {
  const entries = new Map<number, { bits: Buffer; count: number }>()
  for (const { segment, bits } of rows) {
    const slice = Buffer.from(bits, 'base64')
    const entry = entries.get(segment)
    if (entry) for (const [at, byte] of slice.entries()) entry.bits[at]! &= byte
    entries.set(segment, { bits: entry?.bits ?? slice, count: (entry?.count ?? 0) + 1 })
  }
  return new Map([...entries].filter(([, { count }]) => count === sliceCount).map(([segment, { bits }]) => [segment, bits]))
}

/** The keys of the sessions of documents, in the order of the documents. Documents of removed sessions have none. */
export async function sessionsOfDocuments(
  { db, forTenant }: Database,
  { tenant, owner }: IndexScope,
  documents: readonly number[],
): Promise<string[]> {
  const rows = db.selectFrom('search_documents').select(['document', 'session']).where('tenant', '=', tenant).where('owner', '=', owner)
  const pairs = (await query(forTenant(tenant).read, rows.where('document', 'in', [...documents]))).rows
  const keys = new Map(pairs.map(({ document, session }) => [document, session]))
  return documents.flatMap((document) => keys.get(document) ?? [])
}

/** The first document of a session; undefined for a session that is not indexed. */
export async function firstDocument(
  { db, forTenant }: Database,
  { tenant, owner }: IndexScope,
  session: string,
): Promise<number | undefined> {
  const rows = db
    .selectFrom('search_documents')
    .select(({ fn }) => fn.min('document').as('first'))
    .where('tenant', '=', tenant)
  const [row] = (await query(forTenant(tenant).read, rows.where('session', '=', session).where('owner', '=', owner))).rows
  return row?.first ?? undefined
}

/**
 * Every three successive characters of a text set one of these bits of the text's signature. A text that contains a word has all bits of the
 * word; a text that has the bits contains the word probably.
 */
export const sliceCount = 2048

/** The most bits that one search compares. Ten bits of eleven are wrong about a text in a thousand at most. */
const maxWordSlices = 10

/** Adds the bits of a text. */
export function addSlices(slices: Set<number>, text: string): void {
  const folded = fold(text)
  for (let at = 2; at < folded.length; at++) {
    slices.add(sliceOf(folded.charCodeAt(at - 2), folded.charCodeAt(at - 1), folded.charCodeAt(at)))
  }
}

/** Bits of the words. Undefined when all words are shorter than three characters, which have no bits. */
export function slicesOfWords(words: readonly string[]): number[] | undefined {
  const slices = new Set<number>()
  for (const word of words) addSlices(slices, word)
  if (slices.size === 0) return undefined
  const all = [...slices]
  const step = Math.max(1, all.length / maxWordSlices)
  return Array.from({ length: Math.min(all.length, maxWordSlices) }, (_, n) => all[Math.floor(n * step)]!)
}

function sliceOf(a: number, b: number, c: number): number {
  const mixed = Math.imul(Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35), 0x27d4eb2f)
  return (mixed ^ (mixed >>> 15)) & (sliceCount - 1)
}

/** Makes texts equal that `containsWords` of either database takes for equal, such as σ, ς and Σ. */
function fold(text: string): string {
  return text.toLowerCase().replace(/[^\0-\x7f]/gu, (character) => {
    const folded = character.toUpperCase().toLowerCase()
    return folded.length === character.length ? folded : character
  })
}
