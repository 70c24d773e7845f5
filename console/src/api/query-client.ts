import { QueryClient } from '@tanstack/react-query'
import { connectionLost } from './connection.ts'
import { isConnectionError, statusOf } from './errors.ts'

const maxRetries = 2

/** Creates the cache of answers. A lost connection is retried until it is back, a fault of the service twice, a refusal never. */
export function createQueryClient(): QueryClient {
  const queryClient = new QueryClient({
    defaultOptions: {
      queries: {
        // The service may be on this machine or in this network, so the browser's online state does not matter.
        networkMode: 'always',
        staleTime: 5_000,
        retry: (failures, error) => isConnectionError(error) || (statusOf(error) >= 500 && failures < maxRetries),
        retryDelay: (failures) => Math.min(1000 * 2 ** failures, 10_000),
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
  connectionLost.subscribe(() => {
    if (!connectionLost.get()) void queryClient.invalidateQueries()
  })
  return queryClient
}

/** Options of a live query: refreshed every 2 seconds while the page is visible. */
export const live = { refetchInterval: 2000, refetchIntervalInBackground: false } as const
