import type { Logger } from 'pino'
import { createBudgets, type Budgets } from '../budgets/budgets.ts'
import { createOverrides, type Overrides } from '../budgets/change-overrides.ts'
import { createOverrideRules, type OverrideRules } from '../budgets/overrides.ts'
import { createListBudgets, type ListBudgets } from '../budgets/windows-list.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createBudgetStore, type BudgetRows } from '../store/budgets/budgets.ts'
import { createOverrideStore } from '../store/budgets/overrides.ts'
import { createWindowList } from '../store/budgets/windows-list.ts'

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
  /** For routes. */
  services: { listBudgets: ListBudgets; overrides: Overrides }
}

/** Wires budgets. Nothing is read or stored for an agent without budgets, but by the sweep of what is left over. */
export function openBudgets(database: Database, { agent, settings, log, ...options }: BudgetsOptions): OpenBudgets {
  const budgetStore = createBudgetStore(database)
  const onFault = (err: unknown) => log.error({ err }, 'What a budget has paid, or its warning, could not be stored')
  const { adminTenant } = settings
  const configured = () => agent().config.budgets ?? []
  const store = { look: budgetStore.look, ...createOverrideStore(database), ...createWindowList(database) }
  const overrideRules = createOverrideRules({ store, budgets: configured, adminTenant })
  return {
    budgets: createBudgets({ ...options, adminTenant, store: budgetStore, onFault }),
    budgetStore,
    overrideRules,
    services: {
      listBudgets: createListBudgets({ store, budgets: configured, adminTenant }),
      overrides: createOverrides({ store, rules: overrideRules, budgets: configured }),
    },
  }
}
