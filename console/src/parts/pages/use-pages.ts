import { useInfiniteQuery, useQuery, useQueryClient, type InfiniteData, type QueryKey } from '@tanstack/react-query'
import { useMemo } from 'react'
import { live } from '../../api/query-client.ts'
import { mergeHead, type Page } from './page.ts'

interface PagesOptions<Row> {
  /** Names the list in the cache; it contains every filter. */
  queryKey: QueryKey
  /** Loads the page behind `before`; the first page without it. */
  load: (before: string | undefined, signal: AbortSignal) => Promise<Page<Row>>
  /** Returns the id of a row; a newer first page is merged with the loaded pages by id. */
  idOf: (row: Row) => string
  /** True if the first page is refreshed every 2 seconds while the page is visible. */
  isLive?: boolean
  enabled?: boolean
}

/** The rows of a list that are loaded, and how to get more. */
export interface Pages<Row> {
  rows: readonly Row[]
  isPending: boolean
  error: Error | null
  hasMore: boolean
  loadMore: () => void
  isLoadingMore: boolean
  retry: () => void
}

/** Loads a list page by page. `PagedTable` and `PagedList` show it. */
export function usePages<Row>({ queryKey, load, idOf, isLive = false, enabled = true }: PagesOptions<Row>): Pages<Row> {
  const queryClient = useQueryClient()
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.has_more ? last.offset : undefined),
    refetchOnWindowFocus: false,
    enabled,
  })
  useQuery({
    queryKey: [...queryKey, 'first page'],
    queryFn: async ({ signal }) => {
      const head = await load(undefined, signal)
      queryClient.setQueryData<Data<Row>>(queryKey, (data) => data && toData(mergeHead(data.pages, head, idOf)))
      return null
    },
    ...live,
    initialData: null,
    staleTime: live.refetchInterval,
    enabled: isLive && enabled && list.isSuccess,
  })
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.rows) ?? [], [list.data])
  return {
    rows,
    isPending: list.isPending,
    error: list.data ? null : list.error,
    hasMore: list.hasNextPage,
    loadMore: () => void (list.hasNextPage && !list.isFetchingNextPage && list.fetchNextPage()),
    isLoadingMore: list.isFetchingNextPage,
    retry: () => void list.refetch(),
  }
}

type Data<Row> = InfiniteData<Page<Row>, string | undefined>

function toData<Row>(pages: Page<Row>[]): Data<Row> {
  return { pages, pageParams: pages.map((_, index) => pages[index - 1]?.offset) }
}
