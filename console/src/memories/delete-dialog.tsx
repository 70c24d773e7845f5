import { Button, Group, Modal, Text } from '@mantine/core'
import { notify, notifyFailure } from '../parts/notify.ts'
import { useDeleteMemory, type Memory } from './queries.ts'
import styles from './memories.module.css'

/** Asks before a memory is deleted, since nothing brings it back. Closed without a memory. */
export function DeleteDialog({ memory, onClose }: { memory: Memory | undefined; onClose: () => void }) {
  const deletion = useDeleteMemory()
  const confirm = (deleted: Memory): void =>
    deletion.mutate(deleted, {
      onSuccess: () => {
        notify('The memory was deleted.')
        onClose()
      },
      onError: (error) => notifyFailure('The memory could not be deleted', error),
    })
  return (
    <Modal
      opened={memory !== undefined}
      onClose={onClose}
      title="Delete this memory?"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {memory && (
        <>
          <Text size="sm" mb="xs">
            The agent will no longer know this. It cannot be undone.
          </Text>
          <blockquote className={styles.quote}>{memory.content}</blockquote>
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={onClose} data-autofocus>
              Keep
            </Button>
            <Button color="red" loading={deletion.isPending} onClick={() => confirm(memory)}>
              Delete
            </Button>
          </Group>
        </>
      )}
    </Modal>
  )
}
