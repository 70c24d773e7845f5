import { Button, Group, Modal, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLeaveGuard } from './leave-guard.ts'

/** Asks before the page is left with a draft. `children` says what becomes of the draft. */
export function LeaveDialog({ isActive, children }: { isActive: boolean; children: ReactNode }) {
  const question = useLeaveGuard(isActive)
  return (
    <Modal
      opened={question.isOpen}
      onClose={question.stay}
      title="Leave without saving?"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Text size="sm">{children}</Text>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={question.leave}>
          Leave
        </Button>
        <Button onClick={question.stay} data-autofocus>
          Stay
        </Button>
      </Group>
    </Modal>
  )
}
