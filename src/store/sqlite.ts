import path from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'
import type { Connection } from './statement.ts'
import { createUnits } from './sqlite-units.ts'
import type { Tables } from './tables.ts'

/** The embedded database in `dataDir/agent-core.db`: WAL, durable commits, one writer and one reader in this process. */
export async function openSqlite(dataDir: string): Promise<Database> {
  const file = path.join(dataDir, 'agent-core.db')
  const writer = new DatabaseSync(file, { timeout: busyTimeoutMs })
  writer.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = off')
  await migrate(new Kysely<never>({ dialect: new SqliteDialect({ database: toKysely(writer) }) }))
  const reader = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs })
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: toKysely(reader) }) })
  const read = connect(reader)
  const units = createUnits(writer, connect(writer))
  return {
    db,
    read,
    unit: units.unit,
    ping: async () => void (await read.execute('select 1', [])),
    async close() {
      await units.drained()
      reader.close()
      writer.close()
    },
  }
}

/** The command line writes beside the service, in single statements: neither waits long. */
const busyTimeoutMs = 5000

interface Prepared {
  statement: StatementSync
  hasRows: boolean
}

/** Statements are kept by their text: preparing costs more than running. */
function connect(database: DatabaseSync): Connection {
  const prepared = new Map<string, Prepared>()
  function prepare(sql: string): Prepared {
    const statement = database.prepare(sql)
    const one = { statement, hasRows: statement.columns().length > 0 }
    if (prepared.size < maxPrepared) prepared.set(sql, one)
    return one
  }
  return {
    // Async only for its throws: they reject as those of any other database do.
    async execute(sql, parameters) {
      const { statement, hasRows } = prepared.get(sql) ?? prepare(sql)
      const bound = parameters as SQLInputValue[]
      if (hasRows) return { rows: statement.all(...bound) as never, changes: 0 }
      return { rows: [], changes: Number(statement.run(...bound).changes) }
    },
  }
}

/** Lists are built anew with every filter; their texts are few, but bounded. */
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
