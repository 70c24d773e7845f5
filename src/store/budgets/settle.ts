import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Settlement } from '../../budgets/budget.ts'
import { query, type Connection, type Database } from '../database.ts'
import type { Tables } from '../tables.ts'

/** Which reservations are settled, and at what cost each. */
interface Closing {
  /** A condition on rows of `budget_reservations`. */
  where: RawBuilder<unknown>
  /** By id; the reservation counts in full where its id is missing, and as estimated. */
  costs: readonly Settlement[]
}

/** Settles reservations as a part of a unit of work, and resolves to their number. One that was settled before is not there any more, and does not count. */
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

/** What a settled reservation adds to its window; `cost` and `used` are null where only the reservation is known. */
const sums = sql`sum(amount) as amount, sum(tokens) as tokens, sum(coalesce(cost, amount)) as cost, sum(coalesce(used, tokens)) as used,
  sum(case when cost > amount then cost - amount else 0 end) as overrun, sum(case when used > tokens then used - tokens else 0 end) as tokens_overrun,
  sum(case when cost is null then amount else 0 end) as estimated, sum(case when used is null then tokens else 0 end) as tokens_estimated,
  count(*) as count`

const changes = sql`spent = budget_windows.spent + sums.cost, reserved = budget_windows.reserved - sums.amount,
  tokens_spent = budget_windows.tokens_spent + sums.used, tokens_reserved = budget_windows.tokens_reserved - sums.tokens,
  overrun = budget_windows.overrun + sums.overrun, tokens_overrun = budget_windows.tokens_overrun + sums.tokens_overrun,
  estimated = budget_windows.estimated + sums.estimated, tokens_estimated = budget_windows.tokens_estimated + sums.tokens_estimated`

const isSame = sql`budget_windows.tenant = sums.window_tenant and budget_windows.budget = sums.budget
  and budget_windows.subject = sums.subject and budget_windows.window_start = sums.window_start`

/** One statement, which locks the windows in the order of their keys before it changes them. */
function settleOnServer(db: Kysely<Tables>): Settle {
  return async (connection, { where, costs }) => {
    const given = sql`select * from unnest(${costs.map(({ id }) => id)}::text[], ${costs.map(({ cost }) => cost.nanoUsd)}::bigint[],
      ${costs.map(({ cost }) => cost.tokens)}::bigint[]) as given (id, cost, used)`
    const settled = sql<{ count: number }>`with given as (${given}),
      closed as (delete from budget_reservations where ${where} returning *),
      sums as (select window_tenant, budget, subject, window_start, ${sums} from closed left join given using (id)
        group by window_tenant, budget, subject, window_start),
      locked as (select budget_windows.tenant from budget_windows join sums on ${isSame}
        order by budget_windows.tenant, budget_windows.budget, budget_windows.subject, budget_windows.window_start for update of budget_windows)
      update budget_windows set ${changes} from sums
      where ${isSame} and (select count(*) from locked) > 0 returning sums.count::integer as count`
    const { rows } = await query(connection, { compile: () => settled.compile(db) })
    return rows.reduce((sum, { count }) => sum + count, 0)
  }
}

/** SQLite has no changes inside of a query, and needs none: no other transaction runs meanwhile. */
function settleEmbedded(db: Kysely<Tables>): Settle {
  return async (connection, { where, costs }) => {
    const given = sql`select value ->> 0 as id, value ->> 1 as cost, value ->> 2 as used from json_each(${toJson(costs)})`
    const closed = sql`select window_tenant, budget, subject, window_start, ${sums} from budget_reservations left join (${given}) as given using (id)
      where ${where} group by window_tenant, budget, subject, window_start`
    const counted = sql`update budget_windows set ${changes} from (${closed}) as sums where ${isSame}`
    const removed = sql`delete from budget_reservations where ${where}`
    await query(connection, { compile: () => counted.compile(db) })
    return (await query(connection, { compile: () => removed.compile(db) })).changes
  }
}

function toJson(costs: readonly Settlement[]): string {
  return JSON.stringify(costs.map(({ id, cost }) => [id, cost.nanoUsd, cost.tokens]))
}
