import type { Kysely } from 'kysely'
import type { Account, AccountState, BudgetStore, Reservation, Reserved } from '../../budgets/budget.ts'
import { query, type Database, type EmbeddedDatabase } from '../database.ts'
import { clockOf } from '../leases/processes.ts'
import type { Tables } from '../tables.ts'
import { holdOnServer } from './postgres-hold.ts'
import { createHoldAtOnce } from './sqlite-hold.ts'
import { toColumns, toStates, type Hold, whereWindow } from './windows.ts'

/** The part of `BudgetStore` that holds amounts. */
export function createReserve(database: Database): Pick<BudgetStore, 'reserve' | 'look'> {
  const look = createLook(database)
  const hold = database.embedded ? holdEmbedded(database.db, database.embedded) : holdOnServer(database)

  async function reserve(reservation: Reservation): Promise<Reserved> {
    const { tenant, accounts } = reservation
    if (accounts.length === 0) return { isHeld: true, states: [] }
    const held = await hold(reservation)
    if (held) return { isHeld: true, states: held }
    const { now, states } = await look(tenant, accounts)
    if (!isCurrent(accounts, now)) return { isHeld: false, now }
    await enterLives(tenant, accounts)
    return { isHeld: false, states }
  }

  /** The window of a run or session is listed by its row, also when its first call is refused. */
  async function enterLives(tenant: string, accounts: readonly Account[]): Promise<void> {
    const lives = accounts.filter(({ window }) => window === undefined).map((account) => toColumns(tenant, account))
    if (lives.length === 0) return
    const entered = database.db.insertInto('budget_windows').values(lives)
    await query(
      database.forTenant(tenant).write,
      entered.onConflict((conflict) => conflict.doNothing()),
    )
  }

  return { reserve, look: async (tenant, accounts) => (await look(tenant, accounts)).states }
}

function isCurrent(accounts: readonly Account[], now: number): boolean {
  return accounts.every(({ windowStart, resetsAt = Infinity }) => windowStart <= now && now < resetsAt)
}

function createLook(database: Database) {
  const { db, forTenant } = database
  const clock = clockOf(database)
  return async (tenant: string, accounts: readonly Account[]): Promise<{ now: number; states: AccountState[] }> => {
    const { read } = forTenant(tenant)
    const windows = accounts.map((account) => toColumns(tenant, account))
    const found = db
      .selectFrom('budget_windows')
      .selectAll()
      .where((is) => is.or(windows.map((window) => is.and(whereWindow(window)))))
    const [{ rows }, time] = await Promise.all([query(read, found), query(read, db.selectNoFrom(clock.as('now')))])
    const now = time.rows[0]!.now
    return { now, states: toStates(accounts, rows, now) }
  }
}

/** Resolves when the reservation is committed: a killed process loses nothing, and only a loss of power may lose a reservation with the model call that it was for. */
function holdEmbedded(db: Kysely<Tables>, { unit }: EmbeddedDatabase): Hold {
  const hold = createHoldAtOnce(db)
  return (reservation) =>
    new Promise((resolve, reject) => {
      unit((connection) => hold(connection, reservation), { onCommitted: resolve }).then(resolve, reject)
    })
}
