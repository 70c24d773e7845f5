import { Button, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
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

/** The filters of the list, and a button that removes all. Filters that are seldom used are folded, on a phone all but status and period. */
export function Filters({ filters, setFilter, seesTenant }: FiltersProps) {
  const texts = [
    ...(seesTenant ? [{ name: 'sub' as const, label: 'Caller', fold: 'phone' as const }] : []),
    { name: 'tool' as const, label: 'Tool', fold: 'phone' as const },
    { name: 'version' as const, label: 'Version', fold: 'always' as const },
    { name: 'session' as const, label: 'Session', fold: 'always' as const },
  ]
  const isSet = (name: (typeof filterNames)[number]) => filters[name] !== undefined
  const [isOpen, setOpen] = useState(isSet('version') || isSet('session'))
  return (
    <search className={styles.filters} aria-label="Filters" data-open={isOpen}>
      <Choice label="Status" options={statusOptions} value={filters.status} onChange={(value) => setFilter('status', value)} />
      <PeriodSelect value={filters.period} onChange={(value) => setFilter('period', value)} />
      <div data-fold={isSet('operation') ? undefined : 'phone'}>
        <Choice label="Kind" options={kindOptions} value={filters.operation} onChange={(value) => setFilter('operation', value)} />
      </div>
      {texts.map(({ name, label, fold }) => (
        <div key={name} data-fold={isSet(name) ? undefined : fold}>
          <TextFilter label={label} value={filters[name]} onChange={(value) => setFilter(name, value)} />
        </div>
      ))}
      <Button variant="subtle" color="gray" size="compact-sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Fewer filters' : 'More filters'}
      </Button>
      {filterNames.some(isSet) && (
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
