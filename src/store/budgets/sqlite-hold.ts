import type { Kysely } from 'kysely'
import type { AccountState, Reservation } from '../../budgets/budget.ts'
import { canPay } from '../../budgets/refusal.ts'
import { paramsOf, syncChange, type Param, type SyncConnection } from '../database.ts'
import type { BudgetReservationRow, Tables } from '../tables.ts'
import { createOpenWindowAt } from './sqlite-windows.ts'
import { toColumns, toReservationRows, toState } from './windows.ts'

/** Holds an amount inside of a unit of work that runs all of its statements at once. Undefined where an account cannot pay: then nothing has changed. */
export type HoldAtOnce = (connection: SyncConnection, reservation: Reservation) => AccountState[] | undefined

/** No other transaction runs meanwhile, so the windows are read and judged, and then changed. */
export function createHoldAtOnce(database: Kysely<Tables>): HoldAtOnce {
  const openWindowAt = createOpenWindowAt(database)
  const keep = syncChange(database, (db, param: Param<BudgetReservationRow>) =>
    db.insertInto('budget_reservations').values(paramsOf(param, reservationColumns)),
  )
  return (connection, reservation) => {
    const { tenant, accounts, amount, createdAt } = reservation
    const opened = accounts.map((account) => {
      const columns = toColumns(tenant, account)
      return { account, columns, window: openWindowAt(connection, columns) }
    })
    if (!opened.every(({ account, window }) => canPay(toState(account, window.find(), createdAt), amount))) return undefined
    for (const row of toReservationRows(reservation)) keep(connection, row)
    const held = { reserved: amount.nanoUsd, tokens_reserved: amount.tokens }
    return opened.map(({ account, columns, window }) => {
      const row = window.enter(columns)
      window.add(held)
      return toState(account, row, createdAt)
    })
  }
}

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
