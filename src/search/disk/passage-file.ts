import { utimesSync, rmSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { Passage, PassageHit, SearchDocument, TierCounts, UnembeddedText } from '../retriever.ts'
import { countTerms } from '../terms.ts'
import { hashOf, textToEmbed } from '../vectors.ts'
import type { Changed, Opened } from './disk-tier.ts'
import { PassageSlots } from './passage-slots.ts'
import { PostingBlocks } from './posting-blocks.ts'

/** An index in a file of SQLite: texts and postings stay on disk, vectors are in memory too. */
export class PassageFile {
  readonly slots = new PassageSlots()
  private readonly database: DatabaseSync
  private readonly statements = new Map<string, StatementSync>()
  readonly postings = new PostingBlocks((sql) => this.statement(sql))

  constructor(file: string) {
    this.database = openIndexFile(file)
    // The time of the file says when the index was used last.
    utimesSync(file, new Date(), new Date())
    for (const { id, document, length, vector } of this.rows<Row>('select id, document, length, vector from passages order by id')) {
      this.slots.add(document, length, id)
      if (vector) this.slots.setVector(id, toSigned(vector))
    }
  }

  opened(): Opened {
    const documents = this.rows<Opened['documents'][number]>('select number, id, version from documents')
    return { documents, counts: this.counts(), encoder: this.encoder() }
  }

  /** Rows of a query. */
  rows<R>(sql: string, ...values: SQLInputValue[]): R[] {
    return this.statement(sql).all(...values) as R[]
  }

  put(documents: readonly SearchDocument[]): Changed {
    return this.transaction(() => {
      const hashes: string[] = []
      const numbers = documents.map((document) => this.putDocument(document, hashes))
      return { hashes: this.unusedOf(hashes), numbers, counts: this.counts() }
    })
  }

  remove(ids: readonly string[]): Changed {
    return this.transaction(() => {
      const hashes = ids.flatMap((id) => [...this.vectorsOf(id).keys()])
      for (const id of ids) this.removeDocument(id)
      return { hashes: this.unusedOf(hashes), counts: this.counts() }
    })
  }

  missing(encoder: string, limit: number): UnembeddedText[] {
    if (encoder !== this.encoder()) {
      this.transaction(() => {
        this.run('update passages set vector = null where vector is not null')
        this.run('delete from encoder')
        this.run('insert into encoder (name) values (?)', encoder)
      })
      this.slots.clearVectors()
    }
    const select = 'select heading, text, hash, title from passages join documents on number = document where passages.id = ?'
    return this.slots.missing(limit).flatMap((id) =>
      this.rows<Passage & { hash: string; title: string }>(select, id).map(({ hash, title, ...passage }) => {
        return { hash, text: textToEmbed(passage, title) }
      }),
    )
  }

  /** Null for a text that needs no vector. */
  setVectors(encoder: string, hashes: readonly string[], vectors: readonly (Uint8Array | null)[]): Changed {
    if (encoder === this.encoder()) {
      this.transaction(() => {
        for (const [index, hash] of hashes.entries()) this.setVector(hash, vectors[index] ?? new Uint8Array(0))
      })
    }
    return { hashes: [], counts: this.counts() }
  }

  /** The passage as a hit. */
  hitOf(id: number, score: number): PassageHit {
    const select =
      'select documents.id as document, position, heading, text, data from passages join documents on number = document where passages.id = ?'
    const [row] = this.rows<{ document: string; position: number; heading: string; text: string; data: string | null }>(select, id)
    const { document, position, heading, text, data } = row!
    const hit = { document, position, heading, text, score }
    return data === null ? hit : { ...hit, data: JSON.parse(data) as NonNullable<Passage['data']> }
  }

  close(): void {
    this.database.close()
  }

  encoder(): string | undefined {
    return this.rows<{ name: string }>('select name from encoder')[0]?.name
  }

  private counts(): TierCounts {
    const [{ documents }] = this.rows<{ documents: number }>('select count(*) as documents from documents') as [{ documents: number }]
    return { documents, passages: this.slots.count, embedded: this.slots.embedded }
  }

  /** Returns the number of the document, and adds the hashes of its former version to `hashes`. */
  private putDocument({ id, version, title = '', passages }: SearchDocument, hashes: string[]): number {
    const former = this.vectorsOf(id)
    hashes.push(...former.keys())
    this.removeDocument(id)
    const insert = this.statement('insert into documents (id, version, title) values (?, ?, ?)')
    const number = Number(insert.run(id, version, title).lastInsertRowid)
    for (const [position, passage] of passages.entries()) this.addPassage(number, position, passage, title, former)
    return number
  }

  private addPassage(
    document: number,
    position: number,
    passage: Passage,
    title: string,
    vectors: ReadonlyMap<string, Uint8Array | null>,
  ): void {
    const { heading, text, data } = passage
    const { counts, length } = countTerms(`${heading} ${title}`, text)
    const hash = hashOf(textToEmbed(passage, title))
    const vector = vectors.get(hash) ?? null
    const id = this.slots.add(document, length)
    const insert =
      'insert into passages (id, document, position, heading, text, data, hash, length, vector) values (?, ?, ?, ?, ?, ?, ?, ?, ?)'
    this.run(insert, id, document, position, heading, text, data === undefined ? null : JSON.stringify(data), hash, length, vector)
    if (vector) this.slots.setVector(id, toSigned(vector))
    for (const [term, count] of counts) this.postings.add(term, id, count)
  }

  private removeDocument(id: string): void {
    const select = 'select passages.id, heading, text, title from passages join documents on number = document where documents.id = ?'
    for (const row of this.rows<Passage & { id: number; title: string }>(select, id)) {
      for (const term of countTerms(`${row.heading} ${row.title}`, row.text).counts.keys()) this.postings.remove(term, row.id)
      this.run('delete from passages where id = ?', row.id)
      this.slots.remove(row.id)
    }
    this.run('delete from documents where id = ?', id)
  }

  private vectorsOf(id: string): Map<string, Uint8Array | null> {
    const select = 'select hash, vector from passages join documents on number = document where documents.id = ?'
    return new Map(this.rows<{ hash: string; vector: Uint8Array | null }>(select, id).map(({ hash, vector }) => [hash, vector]))
  }

  private unusedOf(hashes: readonly string[]): string[] {
    return [...new Set(hashes)].filter((hash) => this.rows('select 1 from passages where hash = ? limit 1', hash).length === 0)
  }

  private setVector(hash: string, vector: Uint8Array): void {
    this.run('update passages set vector = ? where hash = ?', vector, hash)
    for (const { id } of this.rows<{ id: number }>('select id from passages where hash = ?', hash))
      this.slots.setVector(id, toSigned(vector))
  }

  private transaction<T>(work: () => T): T {
    this.database.exec('begin')
    // A failure ends the process, so that `slots` never differ from the file.
    const result = work()
    this.postings.write()
    this.database.exec('commit')
    return result
  }

  private run(sql: string, ...values: SQLInputValue[]): void {
    this.statement(sql).run(...values)
  }

  private statement(sql: string): StatementSync {
    const statement = this.statements.get(sql) ?? this.database.prepare(sql)
    this.statements.set(sql, statement)
    return statement
  }
}

interface Row {
  id: number
  document: number
  length: number
  vector: Uint8Array | null
}

function toSigned(bytes: Uint8Array): Int8Array {
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Raised with every change of the tables, and of how texts become terms: the index is then made anew. */
const format = 2

const tables = `
  create table documents (number integer primary key, id text not null unique, version text not null, title text not null);
  create table passages (id integer primary key, document integer not null, position integer not null, heading text not null,
    text text not null, data text, hash text not null, length integer not null, vector blob);
  create index passages_document on passages (document);
  create index passages_hash on passages (hash);
  create table terms (id integer primary key, term text not null unique);
  create table postings (term integer not null, block integer not null, entries blob not null, primary key (term, block)) without rowid;
  create table encoder (name text not null);
  pragma user_version = ${format};
`

/** Opens the index, or makes an empty one: an index that cannot be read is a cache that was lost. */
function openIndexFile(file: string): DatabaseSync {
  try {
    return openCurrent(file)
  } catch {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    return openCurrent(file)
  }
}

function openCurrent(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    // A crash of the machine may lose the last documents, which are then indexed again, but leaves the index consistent.
    database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -32000')
    const { user_version: version } = database.prepare('pragma user_version').get() as { user_version: number }
    if (version === 0) database.exec(`begin; ${tables} commit`)
    else if (version !== format) throw new Error('The index has another format.')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
