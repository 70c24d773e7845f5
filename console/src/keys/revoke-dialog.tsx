import { Button, Group, Modal, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMe } from '../api/me.ts'
import { notify, notifyFailure } from '../parts/notify.ts'
import { Timestamp } from '../parts/timestamp.tsx'
import { useRevokeKey, type AccessKey } from './queries.ts'
import styles from './keys.module.css'

/** Asks before a key is revoked, since nothing makes it valid again. Closed without a key. */
export function RevokeDialog({ accessKey, onClose }: { accessKey: AccessKey | undefined; onClose: () => void }) {
  const me = useMe().data
  const revocation = useRevokeKey()
  const confirm = (revoked: AccessKey): void =>
    revocation.mutate(revoked, {
      onSuccess: () => {
        notify('The key was revoked.')
        onClose()
      },
      onError: (error) => notifyFailure('The key could not be revoked', error),
    })
  return (
    <Modal
      opened={accessKey !== undefined}
      onClose={onClose}
      title="Revoke this key?"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {accessKey && (
        <>
          <Text size="sm" mb="sm">
            Whoever uses it is refused within 5 seconds, and its sessions of the console end. It cannot be undone.
          </Text>
          <dl className={styles.facts}>
            <Fact name="Caller">{accessKey.sub}</Fact>
            <Fact name="Roles">{accessKey.roles.join(', ')}</Fact>
            <Fact name="Last used">{accessKey.last_used_at === null ? 'never' : <Timestamp at={accessKey.last_used_at} />}</Fact>
            <Fact name="Id">
              <code className={styles.id}>{accessKey.jti}</code>
            </Fact>
          </dl>
          {me?.sub === accessKey.sub && (
            <p className={styles.warning}>This key has your own name. If you are signed in with it, you will be signed out.</p>
          )}
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={onClose} data-autofocus>
              Keep
            </Button>
            <Button color="red" loading={revocation.isPending} onClick={() => confirm(accessKey)}>
              Revoke
            </Button>
          </Group>
        </>
      )}
    </Modal>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
