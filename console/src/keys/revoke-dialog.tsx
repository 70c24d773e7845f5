import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMe } from '../api/me.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { useRevokeKey, type AccessKey } from './queries.ts'
import styles from './keys.module.css'

/** Asks before a key is revoked, since nothing makes it valid again. Closed without a key. */
export function RevokeDialog({ accessKey, onClose }: { accessKey: AccessKey | undefined; onClose: () => void }) {
  const me = useMe().data
  const revocation = useRevokeKey()
  return (
    <ConfirmDialog item={accessKey} subject="The key" verb={['Revoke', 'revoked']} mutation={revocation} onClose={onClose}>
      {({ sub, roles, jti, last_used_at: lastUsed }) => (
        <>
          <Text size="sm" mb="sm">
            Whoever uses it is refused within 5 seconds, and its sessions of the console end. It cannot be undone.
          </Text>
          <dl className={styles.facts}>
            <Fact name="Caller">{sub}</Fact>
            <Fact name="Roles">{roles.join(', ')}</Fact>
            <Fact name="Last used">{lastUsed === null ? 'never' : <Timestamp at={lastUsed} />}</Fact>
            <Fact name="Id">
              <code className={styles.id}>{jti}</code>
            </Fact>
          </dl>
          {me?.sub === sub && (
            <p className={styles.warning}>This key has your own name. If you are signed in with it, you will be signed out.</p>
          )}
        </>
      )}
    </ConfirmDialog>
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
