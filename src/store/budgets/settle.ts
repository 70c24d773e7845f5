import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Account, Amount, Settlement } from '../../budgets/budget.ts'
import { paramsOf, query, syncChange, syncRows, type Connection, type Database, type Param, type SyncConnection } from '../database.ts'
import type { BudgetReservationRow, Tables } from '../tables.ts'
import { createOpenWindowAt } from './sqlite-windows.ts'
import { toColumns } from './windows.ts'

/** Which reservations are settled, and at what cost each. */
interface Closing {
  /** A condition on rows of `budget_reservations`. */
  where: RawBuilder<unknown>
  /** By id; the reservation counts in full where its id is missing, and as estimated. */
  costs: readonly Settlement[]
}

/**
 * Settles reservations as a part of a unit of work, and resolves to the number of settled reservations. A reservation that was settled
 * before is gone, and does not count.
 */
export type Settle = (connection: Connection, closing: Closing) => Promise<number>

/** The reservations of these attempts. */
export function attempts(tenant: string, costs: readonly Settlement[]): Closing {
  const ids = costs.map(({ id }) => id)
  return { where: sql`tenant = ${tenant} and id in (${sql.join(ids)})`, costs }
}

/** The reservations of a run under earlier fences: the process that made them has lost the run. */
export function earlierFences({
  tenant,
  owner,
  request_id,
  fence,
}: {
  tenant: string
  owner: string
  request_id: string
  fence: number
}): Closing {
  return { where: sql`tenant = ${tenant} and owner = ${owner} and request_id = ${request_id} and fence < ${fence}`, costs: [] }
}

export function createSettle({ db, isShared }: Pick<Database, 'db' | 'isShared'>): Settle {
  return isShared ? settleOnServer(db) : settleEmbedded(db)
}

/** What the settled reservations of a window add to the window; `cost` and `used` are null where only the reservation is known. */
const sums = `window_tenant, budget, subject, window_start, sum(amount) as amount, sum(tokens) as tokens,
  sum(coalesce(cost, amount)) as cost, sum(coalesce(used, tokens)) as used,
  sum(case when cost > amount then cost - amount else 0 end) as overrun, sum(case when used > tokens then used - tokens else 0 end) as tokens_overrun,
  sum(case when cost is null then amount else 0 end) as estimated, sum(case when used is null then tokens else 0 end) as tokens_estimated,
  count(*) as count`
const perWindow = 'group by window_tenant, budget, subject, window_start'

const changes = `spent = budget_windows.spent + settled.cost, reserved = budget_windows.reserved - settled.amount,
  tokens_spent = budget_windows.tokens_spent + settled.used, tokens_reserved = budget_windows.tokens_reserved - settled.tokens,
  overrun = budget_windows.overrun + settled.overrun, tokens_overrun = budget_windows.tokens_overrun + settled.tokens_overrun,
  estimated = budget_windows.estimated + settled.estimated, tokens_estimated = budget_windows.tokens_estimated + settled.tokens_estimated`

const isSame = `budget_windows.tenant = settled.window_tenant and budget_windows.budget = settled.budget
  and budget_windows.subject = settled.subject and budget_windows.window_start = settled.window_start`

/**
 * The steps of a statement on a server that settle the reservations of `closed`. The windows are locked in the order of the keys before
 * the change, and when `isReady` is true: transactions that also lock further rows lock the windows last.
 */
function stepsOn({ isReady = 'true' } = {}) {
  return {
    settled: `select ${sums} from closed ${perWindow}`,
    locked: `select budget_windows.tenant from budget_windows join settled on ${isSame} where ${isReady}
      order by budget_windows.tenant, budget_windows.budget, budget_windows.subject, budget_windows.window_start for update of budget_windows`,
    windows: `update budget_windows set ${changes} from settled
      where ${isSame} and (select count(*) from locked) > 0 returning settled.count::integer as count`,
  }
}

/** The steps by which the end of runs settles what their calls did cost: `given` selects the tenant, and the values of `toSettlementsJson`. */
export function stepsAtEnd(given: string, isReady: string) {
  const isGiven = 'budget_reservations.tenant = given.tenant and budget_reservations.id = given.id'
  return {
    given,
    closed: `delete from budget_reservations using given where ${isGiven} returning budget_reservations.*, given.cost, given.used`,
    ...stepsOn({ isReady }),
  }
}

/** The columns of `toSettlementsJson`. */
export const settlementColumns = 'id text, cost bigint, used bigint'

export function toSettlementsJson(settlements: readonly Settlement[]): string {
  return JSON.stringify(settlements.map(({ id, cost }) => ({ id, cost: cost.nanoUsd, used: cost.tokens })))
}

export function listSteps(steps: Readonly<Record<string, string>>): string {
  return Object.entries(steps)
    .map(([name, text]) => `${name} as (${text})`)
    .join(', ')
}

/** One statement. */
function settleOnServer(db: Kysely<Tables>): Settle {
  const steps = sql.raw(listSteps(stepsOn()))
  return async (connection, { where, costs }) => {
    const given = sql`select * from unnest(${costs.map(({ id }) => id)}::text[], ${costs.map(({ cost }) => cost.nanoUsd)}::bigint[],
      ${costs.map(({ cost }) => cost.tokens)}::bigint[]) as given (id, cost, used)`
    const settled = sql<{ count: number }>`with given as (${given}),
      removed as (delete from budget_reservations where ${where} returning *),
      closed as (select * from removed left join given using (id)), ${steps} select count from windows`
    const { rows } = await query(connection, { compile: () => settled.compile(db) })
    return rows.reduce((sum, { count }) => sum + count, 0)
  }
}

/** SQLite has no changes inside of a query, and needs none: no other transaction runs meanwhile. */
function settleEmbedded(db: Kysely<Tables>): Settle {
  return async (connection, { where, costs }) => {
    const given = sql`select value ->> 0 as id, value ->> 1 as cost, value ->> 2 as used from json_each(${toJson(costs)})`
    const closed = sql`select ${sql.raw(sums)} from budget_reservations left join (${given}) as given using (id)
      where ${where} ${sql.raw(perWindow)}`
    const counted = sql`update budget_windows set ${sql.raw(changes)} from (${closed}) as settled where ${sql.raw(isSame)}`
    const removed = sql`delete from budget_reservations where ${where}`
    await query(connection, { compile: () => counted.compile(db) })
    return (await query(connection, { compile: () => removed.compile(db) })).changes
  }
}

function toJson(costs: readonly Settlement[]): string {
  return JSON.stringify(costs.map(({ id, cost }) => [id, cost.nanoUsd, cost.tokens]))
}

type ReservationKey = Pick<BudgetReservationRow, 'tenant' | 'id'>
type Closed = Pick<BudgetReservationRow, 'window_tenant' | 'budget' | 'subject' | 'window_start' | 'amount' | 'tokens'>

/** Settles the attempts of a run on SQLite, for a unit of work that runs all of its statements at once. */
export function createSettleAtOnce(database: Kysely<Tables>) {
  const openWindowAt = createOpenWindowAt(database)
  const find = syncRows(database, (db, param: Param<ReservationKey>) =>
    db
      .selectFrom('budget_reservations')
      .select(['window_tenant', 'budget', 'subject', 'window_start', 'amount', 'tokens'])
      .where((is) => is.and(paramsOf(param, ['tenant', 'id']))),
  )
  const remove = syncChange(database, (db, param: Param<ReservationKey>) =>
    db.deleteFrom('budget_reservations').where((is) => is.and(paramsOf(param, ['tenant', 'id']))),
  )

  /** The windows of a reservation, which is removed. Empty where the reservation was settled before. */
  function close(connection: SyncConnection, tenant: string, { id, held }: Settlement): Closed[] {
    const rows = held ? held.accounts.map((account) => toClosed(tenant, account, held.amount)) : find(connection, { tenant, id })
    return rows.length > 0 && remove(connection, { tenant, id }) > 0 ? rows : []
  }

  return (connection: SyncConnection, tenant: string, settlements: readonly Settlement[]): void => {
    for (const settlement of settlements) {
      const { cost } = settlement
      for (const { window_tenant, amount, tokens, ...window } of close(connection, tenant, settlement)) {
        openWindowAt(connection, { tenant: window_tenant, ...window }).add({
          spent: cost.nanoUsd,
          tokens_spent: cost.tokens,
          reserved: -amount,
          tokens_reserved: -tokens,
          overrun: Math.max(0, cost.nanoUsd - amount),
          tokens_overrun: Math.max(0, cost.tokens - tokens),
        })
      }
    }
  }
}

function toClosed(tenant: string, account: Account, { nanoUsd: amount, tokens }: Amount): Closed {
  const { tenant: window_tenant, budget, subject, window_start } = toColumns(tenant, account)
  return { window_tenant, budget, subject, window_start, amount, tokens }
}
