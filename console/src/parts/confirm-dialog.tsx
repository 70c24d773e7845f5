import { Button, Group, Modal } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { notify, notifyFailure } from './notify.ts'

interface ConfirmDialogProps<Item> {
  /** The item to remove. The dialog is closed without an item. */
  item: Item | undefined
  /** Such as "The memory". */
  subject: string
  /** Such as "Delete", and "deleted" for the messages afterwards. */
  verb: readonly [now: string, done: string]
  mutation: UseMutationResult<unknown, Error, Item>
  onClose: () => void
  onDone?: (item: Item) => void
  /** Explanation of the removal. */
  children: (item: Item) => ReactNode
}

/** Asks before something is removed for good. */
export function ConfirmDialog<Item>({ item, subject, verb: [now, done], mutation, onClose, onDone, children }: ConfirmDialogProps<Item>) {
  const confirm = (confirmed: Item): void =>
    mutation.mutate(confirmed, {
      onSuccess: () => {
        notify(`${subject} was ${done}.`)
        onClose()
        onDone?.(confirmed)
      },
      onError: (error) => notifyFailure(`${subject} could not be ${done}`, error),
    })
  return (
    <Modal
      opened={item !== undefined}
      onClose={onClose}
      title={`${now} ${subject.replace(/^The/, 'this')}?`}
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {item !== undefined && (
        <>
          {children(item)}
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={onClose} data-autofocus>
              Keep
            </Button>
            <Button color="red.8" loading={mutation.isPending} onClick={() => confirm(item)}>
              {now}
            </Button>
          </Group>
        </>
      )}
    </Modal>
  )
}
