import type { Kysely } from 'kysely'
import type { Account, AccountState, BudgetStore, Reservation, Reserved } from '../../budgets/budget.ts'
import { canPay } from '../../budgets/refusal.ts'
import { paramsOf, query, syncChange, syncRows, type Database, type EmbeddedDatabase, type Param } from '../database.ts'
import { clockOf } from '../leases/processes.ts'
import type { BudgetReservationRow, Tables } from '../tables.ts'
import { holdOnServer } from './postgres-hold.ts'
import {
  toColumns,
  toState,
  type BudgetStateRow,
  type Hold,
  type WindowColumns,
  type WindowKey,
  whereWindow,
  toReservationRows,
} from './windows.ts'

/** The part of `BudgetStore` that holds amounts. */
export function createReserve(database: Database): Pick<BudgetStore, 'reserve' | 'look'> {
  const look = createLook(database)
  const hold = database.embedded ? holdEmbedded(database.db, database.embedded) : holdOnServer(database)

  async function reserve(reservation: Reservation): Promise<Reserved> {
    const { tenant, accounts, createdAt } = reservation
    if (accounts.length === 0) return { isHeld: true, states: [] }
    const rows = await hold(reservation)
    if (rows) return { isHeld: true, states: toStates(accounts, rows, createdAt) }
    const { now, states } = await look(tenant, accounts)
    return isCurrent(accounts, now) ? { isHeld: false, states } : { isHeld: false, now }
  }

  return { reserve, look: async (tenant, accounts) => (await look(tenant, accounts)).states }
}

function isCurrent(accounts: readonly Account[], now: number): boolean {
  return accounts.every(({ windowStart, resetsAt = Infinity }) => windowStart <= now && now < resetsAt)
}

function toStates(accounts: readonly Account[], rows: readonly BudgetStateRow[], now: number): AccountState[] {
  return accounts.map((account) => {
    const row = rows.find(({ budget, subject }) => budget === account.budget && subject === account.subject)
    return toState(account, row, now)
  })
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

/**
 * On SQLite no other transaction runs meanwhile, so the windows are read and judged, and then changed. Resolves when the reservation is committed:
 * a killed process loses nothing, and only a loss of power may lose a reservation with the model call that it was for.
 */
function holdEmbedded(db: Kysely<Tables>, { unit }: EmbeddedDatabase): Hold {
  const statements = embeddedStatements(db)
  return ({ accounts, amount, createdAt, ...reservation }) =>
    new Promise((resolve, reject) => {
      const work = unit(
        (connection) => {
          const rows = accounts.map((account) => {
            const window = toColumns(reservation.tenant, account)
            return { window, row: statements.find(connection, window)[0], account }
          })
          if (rows.some(({ account, row }) => !canPay(toState(account, row, createdAt), amount))) return undefined
          const held = { usd: amount.nanoUsd, tokens: amount.tokens }
          const states = rows.map(({ window, row }) => {
            if (!row) {
              statements.enter(connection, { ...window, ...held })
              return statements.find(connection, window)[0]!
            }
            statements.add(connection, { ...window, ...held })
            const reserved = { reserved: row.reserved + held.usd, tokens_reserved: row.tokens_reserved + held.tokens }
            return { ...row, ...reserved, usd_limit: window.usd_limit, tokens_limit: window.tokens_limit }
          })
          for (const kept of toReservationRows({ accounts, amount, createdAt, ...reservation })) statements.keep(connection, kept)
          return states
        },
        { onCommitted: resolve },
      )
      work.then(resolve, reject)
    })
}

type Held = { usd: number; tokens: number }

function embeddedStatements(db: Kysely<Tables>) {
  return {
    find: syncRows(db, (builder, param: Param<WindowKey>) =>
      builder
        .selectFrom('budget_windows')
        .selectAll()
        .where((is) => is.and(paramsOf(param, windowKey))),
    ),
    enter: syncChange(db, (builder, param: Param<WindowColumns & Held>) =>
      builder
        .insertInto('budget_windows')
        .values({ ...paramsOf(param, windowColumns), reserved: param('usd'), tokens_reserved: param('tokens') }),
    ),
    add: syncChange(db, (builder, param: Param<WindowColumns & Held>) =>
      builder
        .updateTable('budget_windows')
        .set(({ eb }) => ({
          reserved: eb('reserved', '+', param('usd')),
          tokens_reserved: eb('tokens_reserved', '+', param('tokens')),
          usd_limit: param('usd_limit'),
          tokens_limit: param('tokens_limit'),
        }))
        .where((is) => is.and(paramsOf(param, windowKey))),
    ),
    keep: syncChange(db, (builder, param: Param<BudgetReservationRow>) =>
      builder.insertInto('budget_reservations').values(paramsOf(param, reservationColumns)),
    ),
  }
}

const windowKey = { tenant: true, budget: true, subject: true, window_start: true } as const
const windowColumns = { ...windowKey, scope: true, usd_limit: true, tokens_limit: true } as const
const reservationColumns = {
  tenant: true,
  id: true,
  window_tenant: true,
  budget: true,
  subject: true,
  window_start: true,
  owner: true,
  request_id: true,
  fence: true,
  holder: true,
  amount: true,
  tokens: true,
  created_at: true,
} as const satisfies Record<keyof BudgetReservationRow, true>
