import { Button } from '@mantine/core'
import { KeyIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { PagedTable, type Column } from '../parts/pages/paged-table.tsx'
import { EmptyState } from '../parts/states.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { keyStateOf } from './key-state.ts'
import { useKeys, type AccessKey } from './queries.ts'
import { RevokeDialog } from './revoke-dialog.tsx'
import styles from './keys.module.css'

/** All keys of the tenant, newest first, with a button to revoke each. */
export function KeyTable({ onCreate }: { onCreate: () => void }) {
  const keys = useKeys()
  const [revoked, setRevoked] = useState<AccessKey>()
  return (
    <>
      <PagedTable
        label="Keys"
        pages={keys}
        columns={[...columns, revokeColumn(setRevoked)]}
        idOf={({ jti }) => jti}
        empty={<NoKeys onCreate={onCreate} />}
        minWidth={1010}
      />
      <RevokeDialog accessKey={revoked} onClose={() => setRevoked(undefined)} />
    </>
  )
}

const columns: readonly Column<AccessKey>[] = [
  {
    header: 'Caller',
    width: 'minmax(120px, 2fr)',
    phone: 'minmax(0, 1fr)',
    cell: ({ sub }) => <span title={sub.slice(0, 300)}>{sub}</span>,
  },
  { header: 'Roles', width: 'minmax(100px, 2fr)', cell: ({ roles }) => <span title={roles.join(', ')}>{roles.join(', ')}</span> },
  { header: 'State', width: '92px', phone: '82px', cell: (key) => <KeyStateBadge accessKey={key} /> },
  { header: 'Created', width: '92px', cell: ({ created_at: at }) => <Timestamp at={at} /> },
  { header: 'Expires', width: '92px', cell: ({ expires_at: at }) => <Timestamp at={at} /> },
  { header: 'Last used', width: '92px', cell: ({ last_used_at: at }) => (at === null ? 'never' : <Timestamp at={at} />) },
  {
    header: 'Created by',
    width: 'minmax(90px, 1fr)',
    cell: ({ created_by: creator }) =>
      creator !== null && <span title={creator.slice(0, 300)}>{creator.slice(creator.indexOf(' ') + 1)}</span>,
  },
  { header: 'Id', width: 'minmax(64px, 1fr)', cell: ({ jti }) => <code className={styles.id}>{jti}</code> },
]

function revokeColumn(revoke: (key: AccessKey) => void): Column<AccessKey> {
  return {
    header: '',
    width: '74px',
    phone: '74px',
    align: 'end',
    cell: (key) =>
      keyStateOf(key) === 'active' && (
        <Button
          size="compact-xs"
          variant="subtle"
          color="red"
          aria-label={`Revoke the key ${key.jti} of ${key.sub.slice(0, 80)}`}
          onClick={() => revoke(key)}
        >
          Revoke
        </Button>
      ),
  }
}

function KeyStateBadge({ accessKey }: { accessKey: AccessKey }) {
  const state = keyStateOf(accessKey)
  if (state === 'active') return <StatusBadge status="ok" label="active" />
  return <StatusBadge status={state} title={accessKey.revoked_at === null ? undefined : `Revoked at ${accessKey.revoked_at}`} />
}

function NoKeys({ onCreate }: { onCreate: () => void }) {
  return (
    <EmptyState icon={KeyIcon} title="There are no keys" action={<Button onClick={onCreate}>Create key</Button>}>
      A key lets a person or a program use the agent. Create one for each of them, with what that person or program may do. People who sign
      in with your identity provider need none.
    </EmptyState>
  )
}
