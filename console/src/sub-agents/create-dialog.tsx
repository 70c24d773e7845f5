import { Button, Group, Modal, MultiSelect, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useState, type FormEvent } from 'react'
import { messageOf } from '../api/errors.ts'
import { useTools } from '../api/tools.ts'
import { notify } from '../parts/notify.ts'
import { useCreateSubAgent } from './queries.ts'
// Of `MultiSelect`, which no other screen has.
import '@mantine/core/styles/Pill.layer.css'
import '@mantine/core/styles/PillsInput.layer.css'

const workflows = [
  { value: 'react', label: 'Step by step' },
  { value: 'plan_execute', label: 'Plan first' },
]
const unnamed = { name: '', description: '', objective: '', tools: [] as string[], workflow: 'react' }

/** Form of a new sub-agent. What was typed stays when the dialog is closed without creating. */
export function CreateDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [draft, setDraft] = useState(unnamed)
  const creation = useCreateSubAgent()
  const close = (): void => {
    creation.reset()
    onClose()
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const { workflow, ...fields } = draft
    creation.mutate(
      { ...fields, name: draft.name.trim(), workflow_type: workflow === 'plan_execute' ? 'plan_execute' : 'react' },
      {
        onSuccess: () => {
          notify(`${draft.name.trim()} was created.`)
          setDraft(unnamed)
          close()
        },
      },
    )
  }
  return (
    <Modal opened={isOpen} onClose={close} title="New sub-agent" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack gap="md">
          <SubAgentFields draft={draft} onChange={setDraft} />
          {creation.error && (
            <Text size="sm" c="var(--mantine-color-error)" role="alert">
              {messageOf(creation.error)}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={creation.isPending} disabled={draft.name.trim() === ''}>
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function SubAgentFields({ draft, onChange }: { draft: typeof unnamed; onChange: (draft: typeof unnamed) => void }) {
  const toolNames = useTools().data?.map(({ name }) => name) ?? []
  return (
    <>
      <TextInput
        label="Name"
        required
        maxLength={64}
        data-autofocus
        value={draft.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      <TextInput
        label="Description"
        description="Tells the agent when to delegate to this sub-agent."
        maxLength={2000}
        value={draft.description}
        onChange={(event) => onChange({ ...draft, description: event.currentTarget.value })}
      />
      <Textarea
        label="Objective"
        description="Its instructions."
        autosize
        minRows={3}
        maxRows={12}
        maxLength={20_000}
        value={draft.objective}
        onChange={(event) => onChange({ ...draft, objective: event.currentTarget.value })}
      />
      <MultiSelect
        label="Tools"
        data={toolNames}
        searchable
        value={draft.tools}
        nothingFoundMessage="No such tool"
        onChange={(tools) => onChange({ ...draft, tools })}
      />
      <SegmentedControl
        aria-label="Way of working"
        data={workflows}
        value={draft.workflow}
        onChange={(workflow) => onChange({ ...draft, workflow })}
      />
    </>
  )
}
