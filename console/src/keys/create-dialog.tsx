import { Modal } from '@mantine/core'
import { CreateForm } from './create-form.tsx'
import { NewKey } from './new-key.tsx'
import { useCreateKey } from './queries.ts'

/**
 * Creates a key, then shows it. Only the buttons close the dialog while the key is shown, since the service does not show the
 * key again.
 */
export function CreateDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const creation = useCreateKey()
  const created = creation.data
  const close = (): void => {
    creation.reset()
    onClose()
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={created ? 'Copy the key now' : 'Create key'}
      size="lg"
      withCloseButton={!created}
      closeOnEscape={!created && !creation.isPending}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {created ? (
        <NewKey created={created} onDone={close} />
      ) : (
        <CreateForm onCreate={creation.mutate} isPending={creation.isPending} error={creation.error} onCancel={close} />
      )}
    </Modal>
  )
}
