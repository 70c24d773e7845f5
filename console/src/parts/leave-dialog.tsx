import { Button, Group, Modal, Text } from '@mantine/core'
import { useLeaveGuard } from '../parts/leave-guard.ts'

/** Asks before the page is left with a draft. */
export function LeaveDialog({ isActive }: { isActive: boolean }) {
  const question = useLeaveGuard(isActive)
  return (
    <Modal
      opened={question.isOpen}
      onClose={question.stay}
      title="Leave without saving?"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Text size="sm">
        Your changes of the agent are not in effect yet. This browser keeps them as a draft; secrets that you typed are not kept.
      </Text>
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
