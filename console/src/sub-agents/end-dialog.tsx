import { Button, Group, Modal, Text } from '@mantine/core'
import { notify, notifyFailure } from '../parts/notify.ts'
import { useEndSubAgent, type SubAgent } from './queries.ts'

/** Asks before a sub-agent is ended, since its work is cancelled. Closed without a sub-agent. */
export function EndDialog({ subAgent, onClose }: { subAgent: SubAgent | undefined; onClose: () => void }) {
  const end = useEndSubAgent()
  const confirm = (ended: SubAgent): void =>
    end.mutate(ended, {
      onSuccess: () => {
        notify('The sub-agent was ended.')
        onClose()
      },
      onError: (error) => notifyFailure('The sub-agent could not be ended', error),
    })
  return (
    <Modal
      opened={subAgent !== undefined}
      onClose={onClose}
      title="End this sub-agent?"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {subAgent && (
        <>
          <Text size="sm" lineClamp={4}>
            {subAgent.name} is removed
            {subAgent.status === 'busy' && ', and what it is working on is cancelled'}. It cannot be brought back.
          </Text>
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={onClose} data-autofocus>
              Keep
            </Button>
            <Button color="red" loading={end.isPending} onClick={() => confirm(subAgent)}>
              End
            </Button>
          </Group>
        </>
      )}
    </Modal>
  )
}
