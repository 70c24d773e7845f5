import { Button, Group, Modal, Select, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { BeakerIcon } from '@primer/octicons-react'
import { useState, type FormEvent } from 'react'
import { Link } from 'wouter'
import { statusOf } from '../api/errors.ts'
import { useMay } from '../api/me.ts'
import { faultText } from '../parts/fault-text.ts'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import type { RunKey } from '../run/queries.ts'
import { datasetHref } from './addresses.ts'
import { DatasetName } from './dataset/dialogs.tsx'
import { TagsInput } from './dataset/example-dialog.tsx'
import { useDatasetMutations, useDatasets, type Dataset } from './queries.ts'
import { toTags } from './tags.ts'
import styles from './evals.module.css'

/** Makes an example of a run, in a dataset that exists or in a new one. */
export function AddToDataset({ run }: { run: RunKey }) {
  const [isOpen, { open, close }] = useDisclosure(false)
  if (!useMay()('evals.write')) return null
  return (
    <>
      <Button variant="default" size="sm" leftSection={<BeakerIcon />} onClick={open}>
        Add to dataset
      </Button>
      <Modal opened={isOpen} onClose={close} title="Add to dataset" closeButtonProps={{ 'aria-label': 'Close' }}>
        <Content run={run} onClose={close} />
      </Modal>
    </>
  )
}

function Content({ run, onClose }: { run: RunKey; onClose: () => void }) {
  const datasets = useDatasets()
  const [added, setAdded] = useState<Dataset>()
  if (added) return <Added dataset={added} onClose={onClose} />
  if (datasets.error) return <FailedState title="The datasets could not be loaded" error={datasets.error} retry={datasets.retry} />
  if (datasets.isPending) return <RowsSkeleton count={3} />
  return <AddForm run={run} datasets={datasets.rows} onAdded={setAdded} onCancel={onClose} />
}

function Added({ dataset: { id, name }, onClose }: { dataset: Dataset; onClose: () => void }) {
  return (
    <>
      <p role="status" className={styles.text}>
        The run is an example of{' '}
        <Link href={datasetHref(id)} className={styles.link}>
          {name}
        </Link>{' '}
        now.
      </p>
      <Group justify="flex-end" mt="lg">
        <Button onClick={onClose} data-autofocus>
          Done
        </Button>
      </Group>
    </>
  )
}

/** The choice that makes a dataset. No id has this form. */
const newDataset = 'new dataset'

interface AddFormProps {
  run: RunKey
  datasets: readonly Dataset[]
  onAdded: (dataset: Dataset) => void
  onCancel: () => void
}

function AddForm({ run, datasets, onAdded, onCancel }: AddFormProps) {
  const [choice, setChoice] = useState(datasets[0]?.id ?? newDataset)
  const [made, setMade] = useState('')
  const [name, setName] = useState('')
  const [tags, setTags] = useState('')
  const { create, add } = useDatasetMutations()
  const isNew = choice === newDataset
  const error = create.error ?? add.error
  const isPending = create.isPending || add.isPending
  const isReady = !isNew || made.trim() !== ''
  const example = {
    from_run: { request_id: run.id, issuer: run.issuer, sub: run.sub },
    ...(name.trim() !== '' && { name: name.trim() }),
    tags: toTags(tags),
  }
  /** A dataset that was made stays chosen where the run could not be added. */
  async function send(): Promise<void> {
    const dataset = isNew ? await create.mutateAsync({ name: made.trim() }) : datasets.find(({ id }) => id === choice)!
    setChoice(dataset.id)
    await add.mutateAsync({ id: dataset.id, example })
    onAdded(dataset)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (!isReady || isPending) return
    create.reset()
    // The error is shown in the form.
    void send().catch(() => undefined)
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      <Select
        label="Dataset"
        data={[...datasets.map(({ id, name: label }) => ({ value: id, label })), { value: newDataset, label: 'New dataset' }]}
        value={choice}
        onChange={(value) => setChoice(value ?? newDataset)}
        allowDeselect={false}
        searchable
      />
      {isNew && <DatasetName label="Name of the dataset" value={made} onChange={setMade} />}
      <TextInput
        label="Name of the example"
        placeholder="The beginning of the question"
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TagsInput value={tags} onChange={setTags} />
      {error && (
        <p role="alert" className={styles.fault}>
          {reasonOf(error)}
        </p>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isPending} disabled={!isReady}>
          Add
        </Button>
      </Group>
    </form>
  )
}

function reasonOf(error: unknown): string {
  if (statusOf(error) === 410) return 'The run has been removed, so its recording is gone.'
  return faultText(error, { name: 'Name', tags: 'Tags', from_run: 'Run' })
}
