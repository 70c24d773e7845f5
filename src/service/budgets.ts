import type { Logger } from 'pino'
import type { BudgetStore } from '../budgets/budget.ts'
import { createBudgets, type MeasuredBudgets } from '../budgets/budgets.ts'
import { createOverrides, type Overrides } from '../budgets/change-overrides.ts'
import { createOverrideRules, type OverrideRules } from '../budgets/overrides.ts'
import { toAmountView, toLimitView } from '../budgets/refusal.ts'
import { createListBudgets, type ListBudgets } from '../budgets/windows-list.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { warningJob } from '../runs/callbacks/budget-warnings.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createBudgetStore, type BudgetRows } from '../store/budgets/budgets.ts'
import { createOverrideStore } from '../store/budgets/overrides.ts'
import { createWindowList } from '../store/budgets/windows-list.ts'

interface BudgetsOptions extends WarningOptions {
  agent: CurrentAgent
  settings: Pick<Settings, 'adminTenant' | 'budgetCallbackUrl'>
  holder: string
  now(): number
  newId(): string
}

interface OpenBudgets {
  budgets: MeasuredBudgets
  budgetStore: BudgetRows
  overrideRules: OverrideRules
  /** For routes. */
  services: { listBudgets: ListBudgets; overrides: Overrides }
}

/** Wires budgets. Nothing is read or stored for an agent without budgets, but by the sweep of what is left over. */
export function openBudgets(database: Database, { agent, settings, jobs, log, ...options }: BudgetsOptions): OpenBudgets {
  const budgetStore = createBudgetStore(database, settings.budgetCallbackUrl === undefined ? undefined : warningJob)
  const onFault = (err: unknown) => log.error({ err }, 'What a budget has paid, or its warning, could not be stored')
  const { adminTenant } = settings
  const configured = () => agent().config.budgets ?? []
  const store = { look: budgetStore.look, ...createOverrideStore(database), ...createWindowList(database) }
  const overrideRules = createOverrideRules({ store, budgets: configured, adminTenant })
  return {
    budgets: createBudgets({ ...options, adminTenant, store: { ...budgetStore, warn: withLog(budgetStore.warn, { jobs, log }) }, onFault }),
    budgetStore,
    overrideRules,
    services: {
      listBudgets: createListBudgets({ store, budgets: configured, adminTenant }),
      overrides: createOverrides({ store, rules: overrideRules, budgets: configured }),
    },
  }
}

interface WarningOptions {
  jobs: Pick<Jobs, 'wake'>
  log: Logger
}

/** Logs the first warning of a window, and wakes the workers of warnings. */
function withLog(warn: BudgetStore['warn'], { jobs, log }: WarningOptions): BudgetStore['warn'] {
  return async (tenant, warning) => {
    const isFirst = await warn(tenant, warning)
    if (!isFirst) return false
    jobs.wake('budget_warning')
    const { account, state } = warning
    const { budget, scope, window } = account
    const amounts = { limit: toLimitView(state.limit), spent: toAmountView(state.spent, state.limit) }
    log.warn({ budget, scope, window, tenant, ...amounts }, 'A budget is nearly used up')
    return true
  }
}
