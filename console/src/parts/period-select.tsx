import { Select } from '@mantine/core'
import { periods } from './period.ts'

const options = [{ value: '', label: 'All time' }, ...Object.entries(periods).map(([value, { label }]) => ({ value, label }))]

interface PeriodSelectProps {
  value: string | undefined
  onChange: (period: string | undefined) => void
  /** Whether "All time" is a choice. */
  hasAll?: boolean
}

/** Choice of a period that ends now. */
export function PeriodSelect({ value, onChange, hasAll = true }: PeriodSelectProps) {
  return (
    <Select
      aria-label="Period"
      size="sm"
      w={150}
      data={hasAll ? options : options.slice(1)}
      value={value ?? ''}
      onChange={(period) => onChange(period || undefined)}
      allowDeselect={false}
      comboboxProps={{ withinPortal: true }}
    />
  )
}
