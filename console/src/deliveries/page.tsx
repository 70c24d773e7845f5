import { Select } from '@mantine/core'
import { SearchIcon, WebhookIcon } from '@primer/octicons-react'
import { PageHeader } from '../parts/page-header.tsx'
import { PagedList } from '../parts/pages/paged-table.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { EmptyState } from '../parts/states.tsx'
import { DeliveryRow } from './delivery-row.tsx'
import { idOf, statuses, useDeliveries } from './queries.ts'

const options = [{ value: '', label: 'Any status' }, ...statuses.map((value) => ({ value, label: value }))]

/** Callbacks of asynchronous chats and push notifications of A2A tasks: where each went, every attempt, what was sent and answered. */
export function DeliveriesPage() {
  const [{ status }, setFilter] = useFilters(['status'])
  const deliveries = useDeliveries(status)
  const filter = (
    <Select
      aria-label="Status"
      w={150}
      data={options}
      value={status ?? ''}
      onChange={(value) => setFilter('status', value)}
      allowDeselect={false}
    />
  )
  return (
    <>
      <PageHeader title="Deliveries" actions={filter}>
        Answers and notices that the agent sends to other programs, newest first. A delivery that fails is tried again for about a day.
      </PageHeader>
      <PagedList
        label="Deliveries"
        pages={deliveries}
        idOf={idOf}
        rowHeight={66}
        empty={status === undefined ? <NoDeliveries /> : <NoMatch />}
      >
        {(delivery) => <DeliveryRow delivery={delivery} />}
      </PagedList>
    </>
  )
}

function NoDeliveries() {
  return (
    <EmptyState icon={WebhookIcon} title="There are no callbacks">
      A program can ask the agent without waiting, and be called back with the answer. Each call back, and each attempt, appears here.
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState icon={SearchIcon} title="No callback has this status">
      Choose another status.
    </EmptyState>
  )
}
