import { useMutation, useQueryClient } from '@tanstack/react-query'
import { client, type Reply, type RequestOptions } from '../api/client.ts'
import { usePages } from '../parts/pages/use-pages.ts'
import { subjectKeyOf } from './scopes.ts'

export type Budget = Reply<'GET', '/core/v1/budgets'>['budgets'][number]
export type NewLimit = RequestOptions<'PUT', '/core/v1/budgets/{name}/override'>['body']

type Query = NonNullable<RequestOptions<'GET', '/core/v1/budgets'>['query']>

export const filterNames = ['name', 'scope'] as const

export type BudgetFilters = Partial<Record<(typeof filterNames)[number], string>>

const listKey = ['budgets'] as const

/** Names a window among those of all subjects. */
export const idOf = ({ name, subject, issuer, sub }: Budget): string => JSON.stringify([name, subject, issuer, sub])

/** The windows of budgets that the caller may see. */
export function useBudgets({ name, scope }: BudgetFilters) {
  return usePages<Budget>({
    queryKey: [...listKey, name, scope],
    load: async (before, signal) => {
      const query = { name, scope: scope as Query['scope'], before }
      const { budgets, offset, has_more } = await client.request('GET', '/core/v1/budgets', { query, signal })
      return { rows: budgets, offset, has_more }
    },
    idOf,
    isLive: true,
  })
}

/** Sets a limit that applies until a time, instead of that of agent.yaml. */
export function useSetLimit({ name }: Budget) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NewLimit) => client.request('PUT', '/core/v1/budgets/{name}/override', { path: { name }, body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: listKey }),
  })
}

/** Brings the limit of agent.yaml back. */
export function useRestoreLimit() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (budget: Budget) =>
      client.request('DELETE', '/core/v1/budgets/{name}/override', {
        path: { name: budget.name },
        query: { subject: subjectKeyOf(budget) },
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: listKey }),
  })
}
