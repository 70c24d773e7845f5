import { ActionIcon, Button, Select, TextInput } from '@mantine/core'
import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import type { ExecuteRequest } from './queries.ts'
import styles from './tools.module.css'

export interface Hint {
  key: string
  type: string
  value: string
}

const types = [
  { value: 'equals', label: 'equals' },
  { value: 'not_equals', label: 'does not equal' },
  { value: 'in', label: 'is one of (a, b)' },
  { value: 'contains', label: 'contains' },
]

/** Data filters that the service enforces on the data of the tool. */
export function HintFields({ hints, onChange }: { hints: readonly Hint[]; onChange: (hints: readonly Hint[]) => void }) {
  const change = (index: number, part: Partial<Hint>): void => onChange(hints.map((hint, i) => (i === index ? { ...hint, ...part } : hint)))
  return (
    <div className={styles.hints}>
      {hints.map(({ key, type, value }, index) => (
        <div key={index} className={styles.hint}>
          <TextInput
            aria-label={`Field of filter ${index + 1}`}
            placeholder="Field"
            value={key}
            onChange={(event) => change(index, { key: event.currentTarget.value })}
          />
          <Select
            aria-label={`Comparison of filter ${index + 1}`}
            data={types}
            value={type}
            allowDeselect={false}
            onChange={(chosen) => change(index, { type: chosen ?? 'equals' })}
          />
          <TextInput
            aria-label={`Value of filter ${index + 1}`}
            placeholder="Value"
            value={value}
            onChange={(event) => change(index, { value: event.currentTarget.value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={`Remove filter ${index + 1}`}
            onClick={() => onChange(hints.filter((_, i) => i !== index))}
          >
            <TrashIcon />
          </ActionIcon>
        </div>
      ))}
      <Button
        size="compact-sm"
        variant="subtle"
        leftSection={<PlusIcon />}
        onClick={() => onChange([...hints, { key: '', type: 'equals', value: '' }])}
      >
        Data filter
      </Button>
    </div>
  )
}

/** The part of a request with the filters of a tool; filters without a field are left out. */
export function toHints(tool: string, hints: readonly Hint[]): Pick<ExecuteRequest, 'data_filter_hints'> {
  const complete = hints.filter(({ key }) => key.trim() !== '')
  if (complete.length === 0) return {}
  return {
    data_filter_hints: complete.map(({ key, type, value }) => ({
      tool_name: tool,
      filter_key: key.trim(),
      filter_type: type as 'equals',
      filter_value: value,
    })),
  }
}
