import { useQueries } from '@tanstack/react-query'
import { client } from '../api/client.ts'
import { hrefOf, type Screen } from '../screens.tsx'

/** Checks, by address, whether a screen that is mostly empty has content. */
const contents: Record<string, (signal: AbortSignal) => Promise<boolean>> = {
  '/sub-agents': async (signal) => (await client.request('GET', '/core/v1/chain/sub_agents', { signal })).sub_agents.length > 0,
  '/memories': async (signal) => (await client.request('GET', '/core/v1/memories', { query: { limit: 1 }, signal })).memories.length > 0,
  '/schedules': async (signal) => {
    const { schedules, enabled } = await client.request('GET', '/core/v1/schedules', { query: { limit: 1 }, signal })
    return enabled || schedules.length > 0
  },
  '/budgets': async (signal) => (await client.request('GET', '/core/v1/budgets', { query: { limit: 1 }, signal })).budgets.length > 0,
  '/deliveries': async (signal) =>
    (await client.request('GET', '/core/v1/callbacks', { query: { limit: 1 }, signal })).callbacks.length > 0,
}

const staleMs = 60_000

/** The screens that are known to be empty. */
export function useEmptyScreens(screens: readonly Screen[]): ReadonlySet<Screen> {
  const rare = screens.filter((screen) => contents[hrefOf(screen)])
  const queries = useQueries({
    queries: rare.map((screen) => ({
      queryKey: ['holds', screen.path],
      queryFn: ({ signal }: { signal: AbortSignal }) => contents[hrefOf(screen)]!(signal),
      staleTime: staleMs,
      refetchInterval: staleMs,
      refetchIntervalInBackground: false,
    })),
  })
  return new Set(rare.filter((_, index) => queries[index]?.data !== true))
}
