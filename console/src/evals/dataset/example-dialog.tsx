import { Button, Group, Modal, TextInput } from '@mantine/core'
import { useState, type FormEvent } from 'react'
import { faultText } from '../../parts/fault-text.ts'
import { notify } from '../../parts/notify.ts'
import { toTags } from '../tags.ts'
import { useDatasetMutations, type ExampleKey } from '../queries.ts'
import styles from '../evals.module.css'

const labels = { name: 'Name', tags: 'Tags' }

/** Changes the name and the tags of an example. The recording stays. */
export function EditExampleDialog({ dataset, example, onClose }: ExampleKey & { onClose: () => void }) {
  const [name, setName] = useState(example.name)
  const [tags, setTags] = useState(example.tags.join(', '))
  const { changeExample: change } = useDatasetMutations()
  const patch = { name: name.trim(), tags: toTags(tags) }
  const isUnchanged = patch.name === example.name && patch.tags.join() === example.tags.join()
  const isReady = patch.name !== '' && !isUnchanged
  const done = (): void => {
    notify('The example was changed.')
    onClose()
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isReady && !change.isPending) change.mutate({ dataset, example, patch }, { onSuccess: done })
  }
  return (
    <Modal opened onClose={onClose} title="Edit example" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit} className={styles.form}>
        <TextInput
          label={labels.name}
          required
          data-autofocus
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TagsInput value={tags} onChange={setTags} />
        {change.error && (
          <p role="alert" className={styles.fault}>
            {faultText(change.error, labels)}
          </p>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={change.isPending} disabled={!isReady}>
            Save
          </Button>
        </Group>
      </form>
    </Modal>
  )
}

/** Tags as one text. */
export function TagsInput({ value, onChange }: { value: string; onChange: (tags: string) => void }) {
  return (
    <TextInput
      label={labels.tags}
      description="Separated by commas."
      maxLength={1400}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
