import { Button, Select, TextInput } from '@mantine/core'
import { PeriodSelect } from '../parts/period-select.tsx'
import { actionLabels } from './actions.ts'
import { filterNames, type AuditFilters } from './queries.ts'
import styles from './audit.module.css'

interface FiltersProps {
  filters: AuditFilters
  setFilter: (name: (typeof filterNames)[number], value: string | null | undefined) => void
}

const actions = [{ value: '', label: 'Any action' }, ...Object.entries(actionLabels).map(([value, label]) => ({ value, label }))]
const texts = [
  { name: 'actor', label: 'Actor' },
  { name: 'target', label: 'Target' },
  { name: 'request', label: 'Run' },
] as const

/** The filters of the list, and a button that removes all. A text is applied when Enter is pressed or the field is left. */
export function Filters({ filters, setFilter }: FiltersProps) {
  return (
    <search className={styles.filters} aria-label="Filters">
      <Select
        aria-label="Action"
        w={220}
        data={actions}
        value={filters.action ?? ''}
        onChange={(value) => setFilter('action', value)}
        allowDeselect={false}
        searchable
      />
      <PeriodSelect value={filters.period} onChange={(value) => setFilter('period', value)} />
      {texts.map(({ name, label }) => (
        <TextInput
          key={`${name} ${filters[name]}`}
          aria-label={label}
          placeholder={label}
          w={150}
          maxLength={1024}
          defaultValue={filters[name]}
          onBlur={({ currentTarget: { value } }) => value.trim() !== (filters[name] ?? '') && setFilter(name, value.trim())}
          onKeyDown={({ key, currentTarget }) => key === 'Enter' && setFilter(name, currentTarget.value.trim())}
        />
      ))}
      {filterNames.some((name) => filters[name] !== undefined) && (
        <Button variant="subtle" size="compact-sm" onClick={() => filterNames.forEach((name) => setFilter(name, undefined))}>
          Clear
        </Button>
      )}
    </search>
  )
}
