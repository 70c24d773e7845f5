import { Select, TextInput } from '@mantine/core'
import { CreditCardIcon, SearchIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { useMay } from '../api/me.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { CutText } from '../parts/cut-text.tsx'
import { PageHeader } from '../parts/page-header.tsx'
import { PagedList } from '../parts/pages/paged-table.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { EmptyState } from '../parts/states.tsx'
import { BudgetRow } from './budget-row.tsx'
import { LimitDialog } from './limit-dialog.tsx'
import { filterNames, idOf, useBudgets, useRestoreLimit, type Budget, type BudgetFilters } from './queries.ts'
import { scopeLabels, subjectOf } from './scopes.ts'

/** Budgets that the caller may see: the spent and the reserved part of each limit, the time of the reset, and the author of a change. */
export function BudgetsPage() {
  const [filters, setFilter] = useFilters(filterNames)
  const budgets = useBudgets(filters)
  const restoring = useRestoreLimit()
  const [changed, setChanged] = useState<Budget>()
  const [restored, setRestored] = useState<Budget>()
  const isFiltered = filterNames.some((name) => filters[name] !== undefined)
  return (
    <>
      <PageHeader title="Budgets" actions={<Filters key={filters.name} filters={filters} setFilter={setFilter} />}>
        What model calls may cost, and what they did cost. A call is made only if the budget can pay the most that it may cost.
      </PageHeader>
      <PagedList label="Budgets" pages={budgets} idOf={idOf} rowHeight={132} empty={isFiltered ? <NoMatch /> : <NoBudgets />}>
        {(budget) => <BudgetRow budget={budget} onChange={() => setChanged(budget)} onRestore={() => setRestored(budget)} />}
      </PagedList>
      <LimitDialog budget={changed} onClose={() => setChanged(undefined)} />
      <ConfirmDialog
        item={restored}
        subject="The limit"
        verb={['Restore', 'restored']}
        mutation={restoring}
        onClose={() => setRestored(undefined)}
      >
        {(budget) => (
          <>
            {budget.name}, {subjectOf(budget).text}: the limit of agent.yaml applies again at once.
          </>
        )}
      </ConfirmDialog>
    </>
  )
}

const scopeOptions = [{ value: '', label: 'Any scope' }, ...Object.entries(scopeLabels).map(([value, label]) => ({ value, label }))]

interface FiltersProps {
  filters: BudgetFilters
  setFilter: (name: keyof BudgetFilters, value: string | null) => void
}

/** The name is applied when Enter is pressed or the field is left. */
function Filters({ filters, setFilter }: FiltersProps) {
  const apply = (text: string): void => setFilter('name', text.trim())
  return (
    <>
      <TextInput
        aria-label="Name"
        placeholder="Name"
        w={150}
        maxLength={64}
        defaultValue={filters.name}
        onBlur={(event) => apply(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
      />
      <Select
        aria-label="Scope"
        w={150}
        data={scopeOptions}
        value={filters.scope ?? ''}
        onChange={(value) => setFilter('scope', value)}
        allowDeselect={false}
      />
    </>
  )
}

const example = `budgets:
  - name: caller-day
    scope: caller
    window: day
    limit: { usd: 2 }
    on_exceeded: stop
`

/** Without budgets the page says what to write, and leads to where it is written. */
function NoBudgets() {
  const mayWrite = useMay()('config.write')
  return (
    <EmptyState
      icon={CreditCardIcon}
      title="Nothing limits what model calls cost"
      action={
        <>
          <CutText text={example} label="Lines of agent.yaml" fileName="budgets.yaml" />
          {mayWrite && <Link href="/agent">Open agent.yaml</Link>}
        </>
      }
    >
      Budgets are lines of agent.yaml. A limit in USD needs the prices of all models. The <a href="../docs/guides/budgets">guide</a>{' '}
      explains the fields.
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState icon={SearchIcon} title="No budget matches">
      Choose another name or scope.
    </EmptyState>
  )
}
