import path from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import { waitForStore } from '../../concurrency/phase-times.ts'
import { makeDataDir, makePrivate } from './data-dir.ts'
import { createLedger } from '../audit/ledger.ts'
import type { Database, Connection, Deferred } from '../database.ts'
import { type UnitConnection, writeDeferred } from './deferred.ts'
import { tableJobs } from '../jobs/sqlite-jobs.ts'
import { migrate } from '../migrations/migrate.ts'
import { toStoreError } from './faults.ts'
import { busyTimeoutMs, createUnits, retryBusy, createWalSync } from './units.ts'
import type { Tables } from '../tables.ts'
import { hasWord, wordFunction } from '../words.ts'

/** The embedded database in `dataDir/agent-core.db`: WAL, durable commits, one writer and one reader in this process. */
export async function openSqlite(dataDir: string): Promise<Database> {
  makeDataDir(dataDir)
  const file = path.join(dataDir, 'agent-core.db')
  makePrivate(file)
  const { writer, migrated } = await openWriter(file)
  const reader = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs })
  reader.function(wordFunction, { deterministic: true }, hasWord)
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: toKysely(reader) }) })
  const wal = createWalSync(writer, `${file}-wal`)
  const units = createUnits(writer, connect(writer), { sync: wal.sync })
  const reading = connect(reader)
  const readNow: Connection['execute'] = (sql, parameters) =>
    reading.execute<never>(sql, parameters).catch((error: unknown) => Promise.reject(toStoreError(error)))
  const readCommitted: Connection = { execute: (sql, parameters) => waitForStore(() => readNow<never>(sql, parameters)) }
  const read: Connection = {
    // A result that is returned now may not be lost later.
    execute: (sql, parameters) =>
      waitForStore(async () => {
        const result = await readNow<never>(sql, parameters)
        await units.durable()
        return result
      }),
  }
  const write: Connection = { execute: (sql, values) => units.unit((connection) => connection.execute(sql, values)) }
  const scope = { read, write, unit: units.unit }
  return {
    all: scope,
    db,
    isShared: false,
    migrated,
    embedded: { unit: units.unit, readCommitted },
    jobs: tableJobs({ db, all: scope }),
    ledger: createLedger(db),
    // SQLite has no row-level security; every query names its tenant.
    forTenant: () => scope,
    ping: async () => void (await read.execute('select 1', [])),
    async close() {
      await units.drained()
      wal.close()
      reader.close()
      writer.close()
    },
  }
}

async function openWriter(file: string): Promise<{ writer: DatabaseSync; migrated: string[] }> {
  // `retryBusy` waits instead of the busy timeout.
  const writer = new DatabaseSync(file, { timeout: 0 })
  try {
    // Fixed by the first write of a file. A chat changes a few bytes in some 30 pages, so pages of half the default size halve what is written:
    // 75 KB a chat in place of 127. Pages of 1 KB would write 44 KB, but make an image of 4 MB twice as dear to store.
    writer.exec('pragma page_size = 2048')
    await retryBusy(() => writer.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 2000'))
    // Savepoints keep their undo data in memory instead of a temporary file, which saves a third of the time of a unit.
    writer.exec('pragma synchronous = full; pragma foreign_keys = off; pragma temp_store = memory')
    // Kysely migrates SQLite without a lock and a transaction, so concurrent starts or a crash could leave half a schema.
    await retryBusy(() => writer.exec('begin immediate'))
    const migrated = await migrate(new Kysely<never>({ dialect: new SqliteDialect({ database: toKysely(writer) }) }))
    writer.exec('commit')
    // From now on `createWalSync` makes commits durable.
    writer.exec('pragma synchronous = normal')
    return { writer, migrated }
  } catch (error) {
    writer.close()
    throw error
  }
}

interface PreparedStatement {
  statement: StatementSync
  hasRows: boolean
}

/** A connection with a cache of prepared statements, because preparing costs more than running. */
function connect(database: DatabaseSync): UnitConnection {
  const pending: Deferred[] = []
  const prepared = new Map<string, PreparedStatement>()
  function prepare(sql: string): PreparedStatement {
    const statement = database.prepare(sql)
    const entry = { statement, hasRows: statement.columns().length > 0 }
    if (prepared.size < maxPrepared) prepared.set(sql, entry)
    return entry
  }
  const find = (sql: string) => prepared.get(sql) ?? prepare(sql)
  return {
    // `async` turns throws into rejections, as with any other database.
    async execute(sql, parameters) {
      if (pending.length > 0) writeDeferred(pending)
      const { statement, hasRows } = find(sql)
      const bound = parameters as SQLInputValue[]
      if (hasRows) return { rows: statement.all(...bound) as never, changes: 0 }
      return { rows: [], changes: Number(statement.run(...bound).changes) }
    },
    rows: (sql, parameters) => find(sql).statement.all(...(parameters as SQLInputValue[])) as never,
    change: (sql, parameters) => Number(find(sql).statement.run(...(parameters as SQLInputValue[])).changes),
    defer: (changes) => void pending.push(changes),
    pending,
  }
}

/** Limit of cached statements: lists build their SQL per filter, so the number of texts is small, but must be bounded. */
const maxPrepared = 500

function toKysely(database: DatabaseSync) {
  return {
    close: () => database.close(),
    prepare(sql: string) {
      const statement = database.prepare(sql)
      return {
        reader: statement.columns().length > 0,
        all: (parameters: readonly unknown[]) => statement.all(...(parameters as SQLInputValue[])),
        run: (parameters: readonly unknown[]) => statement.run(...(parameters as SQLInputValue[])),
        iterate: (parameters: readonly unknown[]) => statement.iterate(...(parameters as SQLInputValue[])),
      }
    },
  }
}
