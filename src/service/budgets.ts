import type { Logger } from 'pino'
import { createBudgets, type Budgets } from '../budgets/budgets.ts'
import { createOverrideRules, type OverrideRules } from '../budgets/overrides.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createBudgetStore, type BudgetRows } from '../store/budgets/budgets.ts'
import { createOverrideStore } from '../store/budgets/overrides.ts'

interface BudgetsOptions {
  agent: CurrentAgent
  settings: Pick<Settings, 'adminTenant'>
  holder: string
  now(): number
  newId(): string
  log: Logger
}

interface OpenBudgets {
  budgets: Budgets
  budgetStore: BudgetRows
  overrideRules: OverrideRules
}

/** Wires budgets. Nothing is read or stored for an agent without budgets, but by the sweep of what is left over. */
export function openBudgets(database: Database, { agent, settings, log, ...options }: BudgetsOptions): OpenBudgets {
  const budgetStore = createBudgetStore(database)
  const overrideStore = { ...createOverrideStore(database), look: budgetStore.look }
  const onFault = (err: unknown) => log.error({ err }, 'What a budget has paid, or its warning, could not be stored')
  return {
    budgets: createBudgets({ ...options, store: budgetStore, onFault }),
    budgetStore,
    overrideRules: createOverrideRules({
      store: overrideStore,
      budgets: () => agent().config.budgets ?? [],
      adminTenant: settings.adminTenant,
    }),
  }
}
