import { Modal, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { sessionEnded } from '../api/session-state.ts'
import { useStore } from '../api/store.ts'

const KeyForm = lazy(async () => ({ default: (await import('../sign-in/key-form.tsx')).KeyForm }))

/** Dialog after the session has ended in the middle of work. The page below keeps its state; its requests go on after the sign-in. */
export function SignInAgain() {
  const isEnded = useStore(sessionEnded)
  return (
    <Modal
      opened={isEnded}
      onClose={() => undefined}
      title="Sign in again"
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      centered
    >
      <Text size="sm" mb="md">
        Your session has ended. What you were doing is still here and goes on once you have signed in.
      </Text>
      <Suspense fallback={null}>{isEnded && <KeyForm />}</Suspense>
    </Modal>
  )
}
