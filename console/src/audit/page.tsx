import { Button } from '@mantine/core'
import { LogIcon, SearchIcon, SyncIcon } from '@primer/octicons-react'
import { useQueryClient } from '@tanstack/react-query'
import { PageHeader } from '../parts/page-header.tsx'
import { PagedList } from '../parts/pages/paged-table.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { EmptyState } from '../parts/states.tsx'
import { EventRow } from './event-row.tsx'
import { Filters } from './filters.tsx'
import { auditKey, filterNames, useEvents } from './queries.ts'
import { Verification } from './verification.tsx'

/** The ledger of the tenant, newest first, with filters and the verification of its chain. */
export function AuditPage() {
  const [filters, setFilter] = useFilters(filterNames)
  const [{ event: open }, setOpen] = useFilters(['event'])
  const events = useEvents(filters)
  const queryClient = useQueryClient()
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  const refresh = (
    <Button variant="default" leftSection={<SyncIcon />} onClick={() => void queryClient.resetQueries({ queryKey: [auditKey] })}>
      Refresh
    </Button>
  )
  return (
    <>
      <PageHeader title="Audit" actions={refresh}>
        Who did what in your tenant, newest first. Events have names and hashes, never the content of chats.
      </PageHeader>
      <Verification />
      <Filters filters={filters} setFilter={setFilter} />
      <PagedList label="Events" pages={events} idOf={({ id }) => id} rowHeight={60} empty={isFiltered ? <NoMatch /> : <NoEvents />}>
        {(event) => (
          <EventRow event={event} isOpen={open === event.id} onOpen={() => setOpen('event', open === event.id ? undefined : event.id)} />
        )}
      </PagedList>
    </>
  )
}

function NoEvents() {
  return (
    <EmptyState icon={LogIcon} title="Nothing was done yet">
      Keys that are made, changes of the configuration, approvals, and each call of a tool that changes something appear here.
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState icon={SearchIcon} title="No event matches">
      Remove a filter, or choose a longer period.
    </EmptyState>
  )
}
