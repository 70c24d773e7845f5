import type { StatementSync } from 'node:sqlite'

/** Passages of a block. A row for each passage would take ten times the space and time; a row for all would be rewritten by each change. */
const blockSize = 1024
/** Larger counts are stored as this one. */
const maxCount = 0xffff
/** Ids of terms that are kept in memory, about 10 MB. */
const maxTermIds = 100_000

/** What waits to be written to a block: offsets of passages in the block, of the added ones with their counts in turns. */
interface Change {
  term: number
  block: number
  removed: number[]
  added: number[]
}

/** The passages of each term with their counts, in blocks of a SQLite table. Changes are collected until `write`. */
export class PostingBlocks {
  private readonly prepare: (sql: string) => StatementSync
  private readonly termIds = new Map<string, number>()
  private readonly changes = new Map<number, Change>()

  /** `prepare` returns the statement for its text. */
  constructor(prepare: (sql: string) => StatementSync) {
    this.prepare = prepare
  }

  add(term: string, passage: number, count: number): void {
    this.changeOf(this.find(term) ?? this.create(term), passage).added.push(passage % blockSize, Math.min(count, maxCount))
  }

  /** Removes a passage that was written. */
  remove(term: string, passage: number): void {
    const id = this.find(term)
    if (id !== undefined) this.changeOf(id, passage).removed.push(passage % blockSize)
  }

  /** Writes the changes, as a part of the transaction of the caller. */
  write(): void {
    const select = this.prepare('select entries from postings where term = ? and block = ?')
    const set = this.prepare('insert or replace into postings (term, block, entries) values (?, ?, ?)')
    for (const { term, block, removed, added } of this.changes.values()) {
      const row = select.get(term, block) as { entries: Uint8Array } | undefined
      const present = row === undefined ? new Uint16Array(0) : without(toEntries(row.entries), removed)
      const entries = new Uint16Array(present.length + added.length)
      entries.set(present)
      entries.set(added, present.length)
      if (entries.length > 0) set.run(term, block, new Uint8Array(entries.buffer))
      else this.prepare('delete from postings where term = ? and block = ?').run(term, block)
    }
    this.changes.clear()
  }

  /** Passage ids and counts in turns, without changes that were not written. */
  of(term: string): Int32Array {
    const id = this.find(term)
    const rows = id === undefined ? [] : this.prepare('select block, entries from postings where term = ?').all(id)
    const blocks = (rows as { block: number; entries: Uint8Array }[]).map(({ block, entries }) => {
      return { first: block * blockSize, entries: toEntries(entries) }
    })
    const list = new Int32Array(blocks.reduce((sum, { entries }) => sum + entries.length, 0))
    let at = 0
    for (const { first, entries } of blocks) {
      for (let index = 0; index < entries.length; index += 2) {
        list[at++] = first + entries[index]!
        list[at++] = entries[index + 1]!
      }
    }
    return list
  }

  private changeOf(term: number, passage: number): Change {
    const block = Math.floor(passage / blockSize)
    const key = term * 2 ** 22 + block
    let change = this.changes.get(key)
    if (!change) this.changes.set(key, (change = { term, block, removed: [], added: [] }))
    return change
  }

  private find(term: string): number | undefined {
    const cached = this.termIds.get(term)
    if (cached !== undefined) return cached
    const row = this.prepare('select id from terms where term = ?').get(term) as { id: number } | undefined
    return row && this.keep(term, row.id)
  }

  private create(term: string): number {
    return this.keep(term, Number(this.prepare('insert into terms (term) values (?)').run(term).lastInsertRowid))
  }

  private keep(term: string, id: number): number {
    if (this.termIds.size === maxTermIds) this.termIds.clear()
    this.termIds.set(term, id)
    return id
  }
}

function without(entries: Uint16Array, removed: readonly number[]): Uint16Array {
  return removed.length === 0 ? entries : entries.filter((_, index) => !removed.includes(entries[index - (index % 2)]!))
}

/** Numbers are in the byte order of the machine, like the vectors of an index: an index is never moved to another one. */
function toEntries(blob: Uint8Array): Uint16Array {
  const bytes = blob.byteOffset % 2 === 0 ? blob : Uint8Array.from(blob)
  return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2)
}
