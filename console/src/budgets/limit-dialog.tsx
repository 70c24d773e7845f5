import { Modal } from '@mantine/core'
import { notify } from '../parts/notify.ts'
import { LimitForm } from './limit-form.tsx'
import { useSetLimit, type Budget } from './queries.ts'

/** Changes the limit of one window. The dialog is closed without a budget. */
export function LimitDialog({ budget, onClose }: { budget: Budget | undefined; onClose: () => void }) {
  return (
    <Modal
      opened={budget !== undefined}
      onClose={onClose}
      title={`Change the limit of ${budget?.name ?? ''}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {budget && <Content budget={budget} onClose={onClose} />}
    </Modal>
  )
}

function Content({ budget, onClose }: { budget: Budget; onClose: () => void }) {
  const setting = useSetLimit(budget)
  const done = (): void => {
    notify('The limit was changed.')
    onClose()
  }
  return (
    <LimitForm
      budget={budget}
      onSubmit={(limit) => setting.mutate(limit, { onSuccess: done })}
      onCancel={onClose}
      isPending={setting.isPending}
      error={setting.error}
    />
  )
}
