import { Button, Menu, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ChevronDownIcon, SignOutIcon } from '@primer/octicons-react'
import { useLocation } from 'wouter'
import { useMe } from '../api/me.ts'
import { endSession } from '../api/session.ts'
import { notifyFailure } from '../parts/notify.ts'
import { Timestamp } from '../parts/timestamp.tsx'
import styles from './account-menu.module.css'

/** The signed-in caller with roles and expiry; logging out. */
export function AccountMenu() {
  const me = useMe().data
  const queryClient = useQueryClient()
  const [, navigate] = useLocation()
  const leave = useMutation({
    mutationFn: () => endSession(queryClient),
    onSuccess: () => navigate('/sign-in'),
    onError: (error) => notifyFailure('Could not log out', error),
  })
  if (!me) return null
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="sm" px={10} rightSection={<ChevronDownIcon />} classNames={{ label: styles.name }}>
          {me.sub}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={styles.details}>
          <Text size="sm" fw={600} className={styles.full}>
            {me.sub}
          </Text>
          <Text size="xs" c="dimmed" className={styles.full}>
            Tenant {me.tenant} · {me.roles.join(', ') || 'no roles'}
          </Text>
          {me.expires_at && (
            <Text size="xs" c="dimmed">
              Signed in until <Timestamp at={me.expires_at} isExact />
            </Text>
          )}
        </div>
        <Menu.Divider />
        <Menu.Item leftSection={<SignOutIcon />} onClick={() => leave.mutate()}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
