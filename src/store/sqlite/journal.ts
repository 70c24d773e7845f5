import type { Journal, JournalEntry, SyncConnection } from '../database.ts'

/** A longer entry is written to the tables at once: a long text is better written once than twice. In characters. */
const maxEntryLength = 16_384
/** The number of entries that are written to the tables together. More would make other chats wait for longer. */
const maxEntries = 128

/** How long an entry waits for others, in milliseconds: other processes see the chats in the tables only. */
const maxWaitMs = 1000

const touchesChats = /\b(?:sessions|messages|runs|metrics)\b/

/** True for a statement whose result may depend on entries of the journal. */
export function readsChats(sql: string): boolean {
  return touchesChats.test(sql)
}

interface JournalPorts {
  /** What is known of an entry without reading it. */
  namesOf(entry: JournalEntry): string[]
  /** Writes an entry to the tables. */
  apply(entry: JournalEntry): void
  /** Calls `write` in a unit of work. */
  writeLater(): Promise<void>
}

/**
 * The journal of an embedded database: a begin or an end of a chat is one appended row, and many are written to the tables of chats together.
 * A chat changes 16 B-trees, and a commit writes each changed page as a whole: a chat alone took 117 KB in 57 calls without the journal.
 *
 * No statement sees the difference: `write` is called before any statement that names a table of chats, within the same transaction where the
 * statement writes. The table is all that counts after a crash, or when another process has written the entries; names are a copy.
 * @param connection does not call `write`
 */
export function createJournal(connection: SyncConnection, { namesOf, apply, writeLater }: JournalPorts): Journal & { close(): void } {
  let count = 0
  let timer: NodeJS.Timeout | undefined
  const names = new Set<string>()

  const readAll = () =>
    connection.rows<{ entry: string }>('select entry from journal order by id', []).map(({ entry }) => JSON.parse(entry) as JournalEntry)

  function addNames(entry: JournalEntry): void {
    for (const name of namesOf(entry)) names.add(name)
  }

  function reload(): void {
    names.clear()
    const entries = readAll()
    count = entries.length
    for (const entry of entries) addNames(entry)
  }

  function write(): void {
    if (count === 0) return
    for (const entry of readAll()) apply(entry)
    connection.change('delete from journal', [])
    count = 0
    names.clear()
  }

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      // After a failure the entries wait for the next call of `write`.
      if (count > 0) writeLater().catch(() => undefined)
    }, maxWaitMs).unref()
  }

  reload()
  return {
    connection,
    has: (name) => names.has(name),
    isEmpty: () => count === 0,
    append(entry) {
      const text = JSON.stringify(entry)
      if (text.length > maxEntryLength) return false
      connection.change('insert into journal (entry) values (?)', [text])
      count += 1
      addNames(entry)
      if (count >= maxEntries) write()
      else schedule()
      return true
    },
    write,
    reload,
    close: () => clearTimeout(timer),
  }
}
