import { useMemo } from 'react'
import { client } from '../api/client.ts'
import type { Page } from '../parts/pages/page.ts'
import { startOf } from '../parts/period.ts'
import { usePages } from '../parts/pages/use-pages.ts'
import { parseEntries, type LogEntry } from './log-entries.ts'

/** Most entries that the route gives at once. */
const pageLength = 20

interface LogFilters {
  run?: string | undefined
  period?: string | undefined
}

/** Ended runs of the tenant, newest first. */
export function useLogs({ run, period }: LogFilters) {
  const since = useMemo(() => startOf(period), [period])
  return usePages<LogEntry>({
    queryKey: ['logs', run, since],
    load: (before, signal) => loadPage({ run, since, offset: Number(before ?? 0) }, signal),
    idOf: ({ id, end_time: endTime }) => `${id} ${endTime}`,
    isLive: true,
  })
}

interface LogPage {
  run: string | undefined
  since: number | undefined
  offset: number
}

async function loadPage({ run, since, offset }: LogPage, signal: AbortSignal): Promise<Page<LogEntry>> {
  const query = { limit: pageLength, offset, run_id: run, start_timestamp: since ?? 0 }
  const { data, has_more } = await client.request('GET', '/core/v1/logs', { query, signal })
  const rows = parseEntries(data)
  return { rows, offset: String(offset + rows.length), has_more }
}
