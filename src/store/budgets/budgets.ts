import { sql } from 'kysely'
import type { BudgetStore, Warning } from '../../budgets/budget.ts'
import type { NewJob } from '../../runs/jobs.ts'
import { reachState } from '../../states.ts'
import { query, type Database } from '../database.ts'
import { aliveProcesses } from '../leases/processes.ts'
import { createReserve } from './reserve.ts'
import { attempts, createSettle } from './settle.ts'
import { toColumns, whereWindow } from './windows.ts'

/** The rows of budgets as retention sees them: what lost processes left is settled, and old windows are removed. */
export interface BudgetRows extends BudgetStore {
  removeExpired(now: number, limit: number): Promise<number>
}

const dayMs = 86_400_000
/** How long windows are kept, so that last year's can be compared. */
const keptMs = 400 * dayMs

/** The job of a warning. */
type ToWarningJob = (tenant: string, warning: Warning) => NewJob

/** `BudgetStore` on either database. Without `toWarningJob`, warnings are not sent. */
export function createBudgetStore(database: Database, toWarningJob?: ToWarningJob): BudgetRows {
  const { db, all, forTenant } = database
  const settle = createSettle(database)

  return {
    ...createReserve(database),

    settle: (tenant, settlements) =>
      forTenant(tenant).unit(async (connection) => void (await settle(connection, attempts(tenant, settlements)))),

    settleLost: () =>
      all.unit(async (connection) => {
        const alive = aliveProcesses(database)
        // A run that is still to be taken over settles its own reservations, in the commit that takes it over.
        const unended = sql`select 1 from runs where runs.tenant = budget_reservations.tenant and runs.owner = budget_reservations.owner
          and runs.request_id = budget_reservations.request_id and runs.status in ('pending', 'running') and runs.fence = budget_reservations.fence`
        // A process that is alive may have lost its run, and not have noticed before another call.
        const isPast = sql`fence > 0 and exists (select 1 from runs where runs.tenant = budget_reservations.tenant
          and runs.owner = budget_reservations.owner and runs.request_id = budget_reservations.request_id
          and (runs.fence > budget_reservations.fence or runs.status not in ('pending', 'running')))`
        const lost = sql`(${isPast} or holder not in (${alive}) and not exists (${unended}))`
        const count = await settle(connection, { where: lost, costs: [] })
        if (count > 0) reachState('budget-lost-settled')
        return count
      }),

    async removeExpired(now, limit) {
      await this.settleLost()
      const old = db.selectFrom('budget_windows').select(['tenant', 'budget', 'subject', 'window_start']).where('window_start', '>', 0)
      const aged = old.where('window_start', '<', now - keptMs).limit(limit)
      const { rows } = await query(all.read, aged)
      if (rows.length === 0) return 0
      const removed = db.deleteFrom('budget_windows').where((is) => is.or(rows.map((row) => is.and(whereWindow(row)))))
      return all.unit(async (connection) => (await query(connection, removed)).changes)
    },

    forget: (tenant, subject) =>
      forTenant(tenant).unit(async (connection) => {
        const windows = db.deleteFrom('budget_windows').where('tenant', '=', tenant).where('window_start', '=', 0)
        await query(connection, windows.where('subject', '=', subject))
      }),

    warn: (tenant, warning) =>
      forTenant(tenant).unit(async (connection) => {
        const marked = db
          .updateTable('budget_windows')
          .set({ warned_at: warning.at })
          .where((is) => is.and(whereWindow(toColumns(tenant, warning.account))))
          .where('warned_at', 'is', null)
        const isFirst = (await query(connection, marked)).changes > 0
        if (isFirst && toWarningJob) await database.jobs.insert(connection, [toWarningJob(tenant, warning)])
        return isFirst
      }),
  }
}
