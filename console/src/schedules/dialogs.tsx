import { Button, Group, Modal } from '@mantine/core'
import { useState, type FormEvent, type ReactNode } from 'react'
import { statusOf } from '../api/errors.ts'
import { notify } from '../parts/notify.ts'
import { isComplete, newDraft, toDraft, toNewSchedule, toPatch, type Draft } from './draft.ts'
import { faultOf } from './fields.ts'
import { ScheduleFields } from './form.tsx'
import { useScheduleMutations, type VersionedSchedule } from './queries.ts'
import styles from './schedules.module.css'

interface CreateDialogProps {
  isOpen: boolean
  onClose: () => void
  onCreated: (id: string) => void
}

/** Form of a new schedule. Typed texts stay after a close without creation. */
export function CreateDialog({ isOpen, onClose, onCreated }: CreateDialogProps) {
  const [draft, setDraft] = useState(newDraft)
  const { create } = useScheduleMutations()
  const close = (): void => {
    create.reset()
    onClose()
  }
  const submit = (): void =>
    create.mutate(toNewSchedule(draft), {
      onSuccess: ({ id }) => {
        notify('The schedule was created.')
        setDraft(newDraft)
        close()
        onCreated(id)
      },
    })
  return (
    <FormDialog title="New schedule" isOpen={isOpen} onClose={close}>
      <Form
        draft={draft}
        setDraft={setDraft}
        verb="Create"
        error={create.error}
        isPending={create.isPending}
        onSubmit={submit}
        onCancel={close}
      />
    </FormDialog>
  )
}

interface EditDialogProps {
  /** The newest version of the schedule. */
  schedule: VersionedSchedule
  isOpen: boolean
  onClose: () => void
}

/** Form of an existing schedule. A concurrent change is never overwritten. */
export function EditDialog({ schedule, isOpen, onClose }: EditDialogProps) {
  return (
    <FormDialog title="Edit schedule" isOpen={isOpen} onClose={onClose}>
      <EditForm newest={schedule} onClose={onClose} />
    </FormDialog>
  )
}

function EditForm({ newest, onClose }: { newest: VersionedSchedule; onClose: () => void }) {
  const [base, setBase] = useState(newest)
  const [draft, setDraft] = useState(() => toDraft(newest))
  const { change } = useScheduleMutations()
  const patch = toPatch(base, draft)
  const isConflict = statusOf(change.error) === 412
  const reload = (): void => {
    change.reset()
    setBase(newest)
    setDraft(toDraft(newest))
  }
  const done = (): void => {
    notify('The schedule was changed.')
    onClose()
  }
  const submit = (): void => change.mutate({ id: base.id, patch, etag: base.etag }, { onSuccess: done })
  return (
    <>
      {isConflict && (
        <div role="alert" className={styles.conflict}>
          <p>The schedule was changed meanwhile, so your changes were not saved.</p>
          <Button variant="default" size="compact-sm" disabled={newest.etag === base.etag} onClick={reload}>
            Discard mine and load the newer version
          </Button>
        </div>
      )}
      <Form
        draft={draft}
        setDraft={setDraft}
        verb="Save"
        error={isConflict ? null : change.error}
        isPending={change.isPending}
        isUnchanged={Object.keys(patch).length === 0}
        onSubmit={submit}
        onCancel={onClose}
      />
    </>
  )
}

function FormDialog({ title, isOpen, onClose, children }: { title: string; isOpen: boolean; onClose: () => void; children: ReactNode }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      {children}
    </Modal>
  )
}

interface FormProps {
  draft: Draft
  setDraft: (draft: Draft) => void
  verb: string
  error: Error | null
  isPending: boolean
  isUnchanged?: boolean
  onSubmit: () => void
  onCancel: () => void
}

function Form({ draft, setDraft, verb, error, isPending, isUnchanged = false, onSubmit, onCancel }: FormProps) {
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isComplete(draft) && !isPending && !isUnchanged) onSubmit()
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      <ScheduleFields draft={draft} onChange={setDraft} />
      {error && (
        <p role="alert" className={styles.error}>
          {faultOf(error)}
        </p>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isPending} disabled={!isComplete(draft) || isUnchanged}>
          {verb}
        </Button>
      </Group>
    </form>
  )
}
