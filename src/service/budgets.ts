import type { Logger } from 'pino'
import { createBudgets, type Budgets } from '../budgets/budgets.ts'
import type { Database } from '../store/database.ts'
import { createBudgetStore, type BudgetRows } from '../store/budgets/budgets.ts'

interface BudgetsOptions {
  holder: string
  now(): number
  newId(): string
  log: Logger
}

/** Wires budgets. Nothing is read or stored for an agent without budgets, but by the sweep of what is left over. */
export function openBudgets(database: Database, { log, ...options }: BudgetsOptions): { budgets: Budgets; budgetStore: BudgetRows } {
  const budgetStore = createBudgetStore(database)
  const onFault = (err: unknown) => log.error({ err }, 'A warning of a budget could not be stored')
  return { budgets: createBudgets({ ...options, store: budgetStore, onFault }), budgetStore }
}
