import { Button } from '@mantine/core'
import { PulseIcon, SearchIcon } from '@primer/octicons-react'
import { Link } from 'wouter'
import { useMay, useMe } from '../api/me.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { PageTabs } from '../parts/page-tabs.tsx'
import { PagedTable } from '../parts/pages/paged-table.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { EmptyState } from '../parts/states.tsx'
import { columnsOf } from './columns.tsx'
import { Filters } from './filters.tsx'
import { LogTable } from './log-table.tsx'
import { filterNames, idOf, useRuns } from './queries.ts'
import { runAddress } from './run-address.ts'

/** All runs that the caller may see, live, and the log of the tenant's ended runs. */
export function RunsPage() {
  const seesTenant = useMay()('observability.read')
  const runs = { value: 'runs', label: 'Runs', content: <RunTable seesTenant={seesTenant} /> }
  const log = { value: 'log', label: 'Log', content: <LogTable /> }
  return (
    <>
      <PageHeader title="Runs">{seesTenant ? 'Every chat of your tenant, newest first.' : 'Every chat of yours, newest first.'}</PageHeader>
      <PageTabs tabs={seesTenant ? [runs, log] : [runs]} />
    </>
  )
}

function RunTable({ seesTenant }: { seesTenant: boolean }) {
  const [filters, setFilter] = useFilters(filterNames)
  const runs = useRuns(filters)
  const me = useMe().data
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  return (
    <>
      <Filters filters={filters} setFilter={setFilter} seesTenant={seesTenant} />
      <PagedTable
        label="Runs"
        pages={runs}
        columns={columnsOf({ seesTenant, hasCosts: runs.rows.some(({ cost }) => cost !== null) })}
        idOf={idOf}
        hrefOf={(run) => runAddress(run, me)}
        empty={isFiltered ? <NoMatch /> : <NoRuns />}
        minWidth={seesTenant ? 1060 : 920}
      />
    </>
  )
}

function NoRuns() {
  const action = (
    <Button component={Link} href="/chat" variant="default">
      Ask the agent
    </Button>
  )
  return (
    <EmptyState icon={PulseIcon} title="There are no runs yet" action={action}>
      Each question to the agent is a run, whether a person asks in the chat or a program does. Runs appear here as they begin.
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState icon={SearchIcon} title="No run matches">
      Remove a filter, or choose a longer period.
    </EmptyState>
  )
}
