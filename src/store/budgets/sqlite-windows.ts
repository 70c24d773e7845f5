import type { Kysely } from 'kysely'
import { paramsOf, syncChange, syncRows, type Param, type SyncConnection } from '../database.ts'
import type { Tables } from '../tables.ts'
import type { BudgetStateRow, WindowColumns, WindowKey } from './windows.ts'

/** The sums that holds and settlements change. */
type WindowSums = Pick<BudgetStateRow, 'spent' | 'reserved' | 'overrun' | 'tokens_spent' | 'tokens_reserved' | 'tokens_overrun'>

const none: WindowSums = { spent: 0, reserved: 0, overrun: 0, tokens_spent: 0, tokens_reserved: 0, tokens_overrun: 0 }
const sumColumns = Object.keys(none) as (keyof WindowSums)[]
const windowKey = ['tenant', 'budget', 'subject', 'window_start'] as const
const windowColumns = [...windowKey, 'scope', 'usd_limit', 'tokens_limit'] as const

/** A window in the open transaction: chats that begin and end in one commit share a single read and a single change of the row. */
export class OpenWindow {
  /** What the row in the database does not have yet. */
  private readonly added: WindowSums = { ...none }
  private isChanged = false
  private row: BudgetStateRow | undefined
  private readonly key: WindowKey
  private readonly connection: SyncConnection
  private readonly statements: WindowStatements

  constructor(key: WindowKey, connection: SyncConnection, statements: WindowStatements) {
    this.key = key
    this.connection = connection
    this.statements = statements
  }

  /** The row, with the changes of the transaction; undefined for a window without a row. */
  find(): BudgetStateRow | undefined {
    if (!this.row && (this.row = this.statements.find(this.connection, this.key)[0])) increase(this.row, this.added)
    return this.row
  }

  /** Enters the window, or gives the window the limit of agent.yaml. */
  enter(columns: WindowColumns): BudgetStateRow {
    const row = this.find()
    if (!row) {
      this.statements.enter(this.connection, columns)
      return this.find()!
    }
    const { usd_limit, tokens_limit } = columns
    if (row.usd_limit !== usd_limit || row.tokens_limit !== tokens_limit) {
      this.statements.limit(this.connection, columns)
      Object.assign(row, { usd_limit, tokens_limit })
    }
    return row
  }

  add(sums: Partial<WindowSums>): void {
    this.isChanged = true
    increase(this.added, sums)
    if (this.row) increase(this.row, sums)
  }

  write(): void {
    if (this.isChanged) this.statements.add(this.connection, { ...this.key, ...this.added })
  }
}

/** The windows of the open transaction by connection: holds and settlements share these. */
const openOf = new WeakMap<SyncConnection, Map<string, OpenWindow>>()

/** Returns a window of the open transaction. */
export type OpenWindowAt = (connection: SyncConnection, key: WindowKey) => OpenWindow

export function createOpenWindowAt(db: Kysely<Tables>): OpenWindowAt {
  const statements = windowStatements(db)

  function openOn(connection: SyncConnection): Map<string, OpenWindow> {
    const windows = new Map<string, OpenWindow>()
    openOf.set(connection, windows)
    const write = () => {
      for (const window of windows.values()) window.write()
    }
    connection.defer({ write, forget: () => openOf.delete(connection) })
    return windows
  }

  return (connection, { tenant, budget, subject, window_start }) => {
    const windows = openOf.get(connection) ?? openOn(connection)
    const name = `${budget} ${window_start} ${tenant.length} ${tenant} ${subject}`
    let window = windows.get(name)
    if (!window) windows.set(name, (window = new OpenWindow({ tenant, budget, subject, window_start }, connection, statements)))
    return window
  }
}

function increase(sums: WindowSums, by: Partial<WindowSums>): void {
  for (const name of sumColumns) sums[name] += by[name] ?? 0
}

type WindowStatements = ReturnType<typeof windowStatements>

function windowStatements(database: Kysely<Tables>) {
  return {
    find: syncRows(database, (db, param: Param<WindowKey>) =>
      db
        .selectFrom('budget_windows')
        .selectAll()
        .where((is) => is.and(paramsOf(param, windowKey))),
    ),
    enter: syncChange(database, (db, param: Param<WindowColumns>) =>
      db.insertInto('budget_windows').values(paramsOf(param, windowColumns)),
    ),
    limit: syncChange(database, (db, param: Param<WindowColumns>) =>
      db
        .updateTable('budget_windows')
        .set(paramsOf(param, ['usd_limit', 'tokens_limit']))
        .where((is) => is.and(paramsOf(param, windowKey))),
    ),
    add: syncChange(database, (db, param: Param<WindowKey & WindowSums>) =>
      db
        .updateTable('budget_windows')
        .set(({ eb }) => Object.fromEntries(sumColumns.map((name) => [name, eb(name, '+', param(name))])))
        .where((is) => is.and(paramsOf(param, windowKey))),
    ),
  }
}
