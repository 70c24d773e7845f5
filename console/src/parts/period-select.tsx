import { Select } from '@mantine/core'
import { periods, type Period } from './period.ts'

const options = [{ value: '', label: 'All time' }, ...Object.entries(periods).map(([value, { label }]) => ({ value, label }))]

interface PeriodSelectProps {
  value: string | undefined
  onChange: (period: string | undefined) => void
  /** The periods to choose from. Default: all, and "All time". */
  choices?: readonly Period[]
}

/** Choice of a period that ends now. */
export function PeriodSelect({ value, onChange, choices }: PeriodSelectProps) {
  return (
    <Select
      aria-label="Period"
      size="sm"
      w={150}
      data={choices?.map((choice) => ({ value: choice, label: periods[choice].label })) ?? options}
      value={value ?? ''}
      onChange={(period) => onChange(period || undefined)}
      allowDeselect={false}
      comboboxProps={{ withinPortal: true }}
    />
  )
}
