import { Button, Group, Modal, Textarea, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { PlusIcon } from '@primer/octicons-react'
import { useState, type FormEvent } from 'react'
import { useLocation } from 'wouter'
import { faultText } from '../../parts/fault-text.ts'
import { notify } from '../../parts/notify.ts'
import { datasetHref } from '../addresses.ts'
import { useDatasetMutations, type Dataset } from '../queries.ts'
import styles from '../evals.module.css'

/** Opens the form of a new dataset, and the dataset when there is one. */
export function NewDatasetButton() {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [, navigate] = useLocation()
  const { create } = useDatasetMutations()
  const submit = (fields: DatasetFields): void =>
    create.mutate(fields, {
      onSuccess: ({ id }) => {
        notify('The dataset was created.')
        navigate(datasetHref(id))
      },
    })
  return (
    <>
      <Button leftSection={<PlusIcon />} onClick={open}>
        New dataset
      </Button>
      <Modal opened={isOpen} onClose={close} title="New dataset" closeButtonProps={{ 'aria-label': 'Close' }}>
        <DatasetForm
          initial={{ name: '', description: '' }}
          verb="Create"
          isPending={create.isPending}
          error={create.error}
          onSubmit={submit}
          onCancel={close}
        />
      </Modal>
    </>
  )
}

/** Changes the name and the description of a dataset. */
export function EditDatasetDialog({ dataset, isOpen, onClose }: { dataset: Dataset; isOpen: boolean; onClose: () => void }) {
  const { change } = useDatasetMutations()
  const { id, name, description } = dataset
  const submit = (patch: DatasetFields): void =>
    change.mutate(
      { id, patch },
      {
        onSuccess: () => {
          notify('The dataset was changed.')
          onClose()
        },
      },
    )
  return (
    <Modal opened={isOpen} onClose={onClose} title="Edit dataset" closeButtonProps={{ 'aria-label': 'Close' }}>
      <DatasetForm
        initial={{ name, description }}
        verb="Save"
        isPending={change.isPending}
        error={change.error}
        onSubmit={submit}
        onCancel={onClose}
      />
    </Modal>
  )
}

interface DatasetFields {
  name: string
  description: string
}

interface DatasetFormProps {
  initial: DatasetFields
  verb: string
  isPending: boolean
  error: Error | null
  onSubmit: (fields: DatasetFields) => void
  onCancel: () => void
}

const labels = { name: 'Name', description: 'Description' }

function DatasetForm({ initial, verb, isPending, error, onSubmit, onCancel }: DatasetFormProps) {
  const [name, setName] = useState(initial.name)
  const [description, setDescription] = useState(initial.description)
  const isReady = name.trim() !== '' && (name.trim() !== initial.name || description !== initial.description)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isReady && !isPending) onSubmit({ name: name.trim(), description })
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      <DatasetName value={name} onChange={setName} />
      <Textarea
        label={labels.description}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={2000}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      {error && (
        <p role="alert" className={styles.fault}>
          {faultText(error, labels)}
        </p>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isPending} disabled={!isReady}>
          {verb}
        </Button>
      </Group>
    </form>
  )
}

/** Name of a dataset, which commands and gates use too. */
export function DatasetName({ value, onChange, label = 'Name' }: { value: string; onChange: (name: string) => void; label?: string }) {
  return (
    <TextInput
      label={label}
      description="Letters, digits, dots, dashes and underscores. Commands and the gate name the dataset so."
      data-autofocus
      required
      maxLength={64}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
