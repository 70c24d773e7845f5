import process from 'node:process'
import { messageOf } from '../../errors.ts'
import { serveQuestions } from '../../processes/serve-questions.ts'
import { mix, scoreWords, type Postings, type VisiblePassages } from '../rank.ts'
import { scoreRelatedWords } from '../related-words.ts'
import type { PassageHit } from '../retriever.ts'
import { withLength, type ByteVector } from '../vectors.ts'
import type { Answer, Question, SentVector } from './disk-tier.ts'
import { PassageFile } from './passage-file.ts'

/** Process of the indexes on disk. */

/** Terms of which more have the same beginning than this are not looked at. */
const maxRelated = 50

const files = new Map<string, PassageFile>()

function fileOf(name: string): PassageFile {
  const file = files.get(name) ?? new PassageFile(name)
  files.set(name, file)
  return file
}

function answer(question: Question): Answer {
  const file = fileOf(question.file)
  switch (question.kind) {
    case 'open':
      return { opened: file.opened() }
    case 'put':
      return { changed: file.put(question.documents) }
    case 'remove':
      return { changed: file.remove(question.ids) }
    case 'search':
      return { hits: searchFile(file, question) }
    case 'missing':
      return { texts: file.missing(question.encoder, question.limit) }
    case 'set':
      return { changed: file.setVectors(question.encoder, question.hashes, question.vectors) }
    case 'close':
      files.get(question.file)?.close()
      files.delete(question.file)
      return { hits: [] }
  }
}

serveQuestions((question: Question): Answer => {
  try {
    return answer(question)
  } catch (error) {
    // The file is opened again by the next process: what is in memory may differ from the file.
    setImmediate(() => process.exit(1))
    return { error: messageOf(error).slice(0, 1000) }
  }
})

interface FileSearch {
  query: string
  limit: number
  /** A bit for each document by its number; undefined: all documents. */
  visible: Uint8Array | undefined
  vector: SentVector | undefined
}

/** Searches an index on disk, like the tier in memory. */
function searchFile(file: PassageFile, { query, limit, visible, vector }: FileSearch): PassageHit[] {
  const { flags, ...counts } = findVisible(file, visible)
  const [postings, passages] = [postingsOf(file), { flags, lengths: file.slots.lengths, ...counts }]
  const words = scoreWords(query, postings, passages)
  const related = scoreRelatedWords(query, postings, passages)
  const isComparable = vector !== undefined && vector.encoder === file.encoder()
  const cosineOf = isComparable ? toCosines(file, toByteVector(vector.values)) : undefined
  const ids = flags.keys().filter((id) => flags[id] === 1)
  return mix(ids, { words, related, cosineOf }, limit).map(({ id, score }) => file.hitOf(id, score))
}

function findVisible({ slots }: PassageFile, visible: Uint8Array | undefined): Pick<VisiblePassages, 'flags' | 'count' | 'totalLength'> {
  const { documents, lengths, end } = slots
  const flags = new Uint8Array(end)
  let [count, totalLength] = [0, 0]
  for (let id = 0; id < end; id++) {
    const document = documents[id]!
    if (document < 0 || (visible !== undefined && ((visible[document >> 3] ?? 0) & (1 << (document & 7))) === 0)) continue
    flags[id] = 1
    count++
    totalLength += lengths[id]!
  }
  return { flags, count, totalLength }
}

function toCosines({ slots }: PassageFile, vector: ByteVector): (id: number) => number | undefined {
  return (id) => slots.cosine(id, vector)
}

function toByteVector(values: Uint8Array): ByteVector {
  return withLength(new Int8Array(values.buffer, values.byteOffset, values.byteLength))
}

function postingsOf(file: PassageFile): Postings {
  return {
    of: (term) => file.postings.of(term),
    related(term, letters, prefixes) {
      const longer = 'select term from terms where term > ? and term < ? and length(term) <= ? limit ?'
      const found = file.rows<{ term: string }>(longer, term, `${term}\u{10ffff}`, term.length + letters, maxRelated)
      const shorter = prefixes.filter((prefix) => file.rows('select 1 from terms where term = ?', prefix).length > 0)
      return [...found.map((row) => row.term), ...shorter]
    },
  }
}
