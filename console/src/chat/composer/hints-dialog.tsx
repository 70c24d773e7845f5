import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { useState, type FormEvent } from 'react'
import { useTools } from '../../api/tools.ts'
import type { Question } from '../live/live-run.ts'

type Hint = NonNullable<Question['hints']>[number]

const types = [
  { value: 'equals', label: 'equals' },
  { value: 'not_equals', label: 'does not equal' },
  { value: 'in', label: 'is one of (separated by commas)' },
  { value: 'contains', label: 'contains' },
]

/** Adds a data filter hint: the tool enforces the filter, whatever the model asks for. */
export function HintsDialog({ onAdd, onClose }: { onAdd: (hint: Hint) => void; onClose: () => void }) {
  const tools = useTools()
  const [tool, setTool] = useState<string | null>(null)
  const [key, setKey] = useState('')
  const [type, setType] = useState<string | null>('equals')
  const [value, setValue] = useState('')
  function submit(event: FormEvent) {
    event.preventDefault()
    if (tool === null || key.trim() === '' || type === null) return
    onAdd({ tool_name: tool, filter_key: key.trim(), filter_type: type as Hint['filter_type'], filter_value: value })
    onClose()
  }
  return (
    <Modal opened onClose={onClose} title="Filter a tool’s data" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            The filter is enforced for the next question, sub-agents included. A tool that cannot filter refuses the question.
          </Text>
          <Select
            label="Tool"
            data={tools.data?.map(({ name }) => name) ?? []}
            value={tool}
            onChange={setTool}
            searchable
            required
            data-autofocus
          />
          <TextInput label="Column or field" value={key} onChange={(event) => setKey(event.currentTarget.value)} required />
          <Select label="Comparison" data={types} value={type} onChange={setType} allowDeselect={false} required />
          <TextInput label="Value" value={value} onChange={(event) => setValue(event.currentTarget.value)} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" disabled={tool === null || key.trim() === ''}>
              Add
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
