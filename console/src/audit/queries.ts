import { useMemo } from 'react'
import type { AuditEvent } from '../../../client/src/index.ts'
import { createAudit } from '../../../client/src/resources/audit.ts'
import { client } from '../api/client.ts'
import type { Page } from '../parts/pages/page.ts'
import { usePages } from '../parts/pages/use-pages.ts'
import { startOf } from '../parts/period.ts'

export type { AuditEvent }

export const audit = createAudit(client)

/** Names of the filters in the address of the list. */
export const filterNames = ['action', 'actor', 'target', 'request', 'period'] as const

export type AuditFilters = Partial<Record<(typeof filterNames)[number], string>>

/** Name of the lists in the cache. */
export const auditKey = 'audit'

/** Pages without a match that are loaded one after another: half a million events. */
const maxEmptyPages = 50

/** Events of the tenant, newest first. The list is not refreshed by itself: a read may be an event. */
export function useEvents({ action, actor, target, request, period }: AuditFilters) {
  const since = useMemo(() => startOf(period), [period])
  const filters = {
    action: action as AuditEvent['action'] | undefined,
    actor,
    target,
    request_id: request,
    since: since === undefined ? undefined : new Date(since).toISOString(),
  }
  return usePages<AuditEvent>({
    queryKey: [auditKey, filters],
    load: async (before, signal): Promise<Page<AuditEvent>> => {
      let page = await audit.list({ ...filters, before }, { signal })
      for (let empty = 1; page.events.length === 0 && page.has_more && empty < maxEmptyPages; empty++)
        page = await audit.list({ ...filters, before: page.offset }, { signal })
      return { rows: page.events, offset: page.offset, has_more: page.has_more }
    },
    idOf: ({ id }) => id,
  })
}
