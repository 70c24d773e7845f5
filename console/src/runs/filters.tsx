import { Button, Select, TextInput } from '@mantine/core'
import { PeriodSelect } from '../parts/period-select.tsx'
import { operationLabels, statuses, withToolErrors } from './labels.ts'
import { filterNames, type RunFilters } from './queries.ts'
import styles from './runs.module.css'

interface FiltersProps {
  filters: RunFilters
  setFilter: (name: (typeof filterNames)[number], value: string | undefined) => void
  seesTenant: boolean
}

const statusOptions = [
  { value: '', label: 'Any status' },
  ...statuses.map((value) => ({ value, label: value })),
  { value: withToolErrors, label: 'with tool errors' },
]
const kindOptions = [{ value: '', label: 'Any kind' }, ...Object.entries(operationLabels).map(([value, label]) => ({ value, label }))]

/** The filters of the list, and a button that removes all. */
export function Filters({ filters, setFilter, seesTenant }: FiltersProps) {
  const texts = [
    ...(seesTenant ? [{ name: 'sub' as const, label: 'Caller' }] : []),
    { name: 'tool' as const, label: 'Tool' },
    { name: 'version' as const, label: 'Version' },
    { name: 'session' as const, label: 'Session' },
  ]
  const isFiltered = filterNames.some((name) => filters[name] !== undefined)
  return (
    <search className={styles.filters} aria-label="Filters">
      <Choice label="Status" options={statusOptions} value={filters.status} onChange={(value) => setFilter('status', value)} />
      <Choice label="Kind" options={kindOptions} value={filters.operation} onChange={(value) => setFilter('operation', value)} />
      <PeriodSelect value={filters.period} onChange={(value) => setFilter('period', value)} />
      {texts.map(({ name, label }) => (
        <TextFilter key={name} label={label} value={filters[name]} onChange={(value) => setFilter(name, value)} />
      ))}
      {isFiltered && (
        <Button variant="subtle" size="compact-sm" onClick={() => filterNames.forEach((name) => setFilter(name, undefined))}>
          Clear
        </Button>
      )}
    </search>
  )
}

interface ChoiceProps {
  label: string
  options: { value: string; label: string }[]
  value: string | undefined
  onChange: (value: string | undefined) => void
}

function Choice({ label, options, value, onChange }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      w={138}
      data={options}
      value={value ?? ''}
      onChange={(chosen) => onChange(chosen || undefined)}
      allowDeselect={false}
    />
  )
}

/** A filter by text. It is applied when Enter is pressed or the field is left. */
function TextFilter({ label, value, onChange }: { label: string; value: string | undefined; onChange: (value: string) => void }) {
  const apply = (text: string): void => {
    if (text.trim() !== (value ?? '')) onChange(text.trim())
  }
  return (
    <TextInput
      key={value}
      aria-label={label}
      placeholder={label}
      w={120}
      defaultValue={value}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
    />
  )
}
