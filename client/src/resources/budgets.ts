import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type BudgetPage = Reply<'GET', '/core/v1/budgets'>
export type Budget = BudgetPage['budgets'][number]
export type BudgetFilter = Query<'GET', '/core/v1/budgets'>
export type BudgetOverride = RequestOptions<'PUT', '/core/v1/budgets/{name}/override'>['body']

/** What model calls may cost, and what is spent. */
export interface Budgets {
  /** Lists a page of current windows: those of the caller, with `observability.read` those of the tenant too. */
  list(filter?: BudgetFilter, options?: CallOptions): Promise<BudgetPage>
  /** Yields all current windows, page by page. */
  all(filter?: BudgetFilter, options?: CallOptions): AsyncGenerator<Budget, void>
  /** Replaces the limit of a window until a time. `subject` is that of a listed budget; default: the caller or tenant of the key. */
  override(name: string, override: BudgetOverride, options?: CallOptions): Promise<Budget>
  /** Restores the limit of agent.yaml. */
  clear(name: string, subject?: string, options?: CallOptions): Promise<Budget>
}

export function createBudgets(transport: Transport): Budgets {
  const path = '/core/v1/budgets/{name}/override'
  const list: Budgets['list'] = (query, options) => transport.request('GET', '/core/v1/budgets', { ...options, query })

  return {
    list,
    all(filter, options) {
      const load = (before: string | undefined) => list({ ...filter, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ budgets }) => budgets, next: nextPage })
    },
    override: (name, body, options) => transport.request('PUT', path, { ...options, path: { name }, body }),
    clear: (name, subject, options) =>
      transport.request('DELETE', path, { ...options, path: { name }, query: subject === undefined ? {} : { subject } }),
  }
}
