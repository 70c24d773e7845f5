import type { Account, AccountState, Override } from '../../budgets/budget.ts'
import type { Act } from '../../audit/acts.ts'
import type { ActedOverride, OverrideChange, OverrideStore } from '../../budgets/overrides.ts'
import { toLimitView } from '../../budgets/refusal.ts'
import { query, type Connection, type Database } from '../database.ts'
import { clockOf } from '../leases/processes.ts'
import { toColumns, toState, whereWindow } from './windows.ts'

/** Changes the override of a window as a part of a unit of work of the tenant. A window without a row gets a row. */
export type ChangeOverride = (connection: Connection, tenant: string, account: Account, change: OverrideChange) => Promise<AccountState>

export function createChangeOverride(database: Pick<Database, 'db' | 'isShared'>): ChangeOverride {
  const { db, isShared } = database
  const clock = clockOf(database).as('now')

  return async (connection, tenant, account, change) => {
    const window = toColumns(tenant, account)
    const key = whereWindow(window)
    await query(
      connection,
      db
        .insertInto('budget_windows')
        .values(window)
        .onConflict((conflict) => conflict.doNothing()),
    )
    const current = db
      .selectFrom('budget_windows')
      .selectAll()
      .select(clock)
      .where((is) => is.and(key))
    const { rows } = await query(connection, isShared ? current.forUpdate() : current)
    const { now, ...row } = rows[0]!
    const { limit, until, by } = change(toState(account, row, now), now) ?? {}
    const { nanoUsd = null, tokens = null } = limit ?? {}
    const columns = { usd_override: nanoUsd, tokens_override: tokens, override_until: until ?? null, override_by: by ?? null }
    const updated = db.updateTable('budget_windows').set(columns)
    await query(
      connection,
      updated.where((is) => is.and(key)),
    )
    return toState(account, { ...row, ...columns }, now)
  }
}

export function createOverrideStore(database: Database): Pick<OverrideStore, 'now' | 'override'> {
  const change = createChangeOverride(database)
  const clock = database.db.selectNoFrom(clockOf(database).as('now'))
  return {
    now: async () => (await query(database.all.read, clock)).rows[0]!.now,
    override: (tenant, account, changeOf, acted) =>
      database.forTenant(tenant).unit(async (connection) => {
        let acts: Act[] = []
        const state = await change(connection, tenant, account, (before, now) => {
          const after = changeOf(before, now)
          if (after ?? before.override) acts = acted ? [toAct(account, acted, after)] : []
          return after
        })
        await database.ledger.record(connection, tenant, acted?.acting, acts)
        return state
      }),
  }
}

/** `limit` is null where that of agent.yaml applies again. */
function toAct({ budget, scope }: Account, { subject }: ActedOverride, override: Override | undefined): Act {
  const limit = override ? toLimitView(override.limit) : null
  const until = override ? new Date(override.until).toISOString() : null
  return { action: 'budget.overridden', target: `budget:${budget}`, data: { scope, subject, limit, until } }
}
