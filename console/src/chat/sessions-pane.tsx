import { ActionIcon, Button, Menu, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { KebabHorizontalIcon, PlusIcon, SearchIcon, TrashIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useMay } from '../api/me.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { PagedList } from '../parts/pages/paged-table.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { useDeleteSession, useSessions, type Session } from './queries.ts'
import styles from './sessions-pane.module.css'

/** The caller's sessions: new, search, open, delete. */
export function SessionsPane({ current }: { current: string | undefined }) {
  const [text, setText] = useState('')
  const [q] = useDebouncedValue(text.trim(), 250)
  const pages = useSessions(q)
  const [, navigate] = useLocation()
  const deletion = useDeleteSession()
  const [doomed, setDoomed] = useState<Session>()
  return (
    <>
      <div className={styles.head}>
        <Button component={Link} href="/chat" variant="light" leftSection={<PlusIcon />} fullWidth>
          New chat
        </Button>
        <TextInput
          aria-label="Search sessions"
          placeholder="Search"
          type="search"
          leftSection={<SearchIcon />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <PagedList
        label="Sessions"
        pages={pages}
        idOf={({ session_id }) => session_id}
        rowHeight={54}
        empty={
          <Text size="sm" c="dimmed" px="xs">
            {q === '' ? 'Conversations stay here. Ask something to begin one.' : 'No conversation contains all of these words.'}
          </Text>
        }
      >
        {(session) => <SessionRow session={session} isCurrent={session.session_id === current} onDelete={() => setDoomed(session)} />}
      </PagedList>
      <ConfirmDialog
        item={doomed}
        subject="The conversation"
        verb={['Delete', 'deleted']}
        mutation={deletion}
        onClose={() => setDoomed(undefined)}
        onDone={({ session_id }) => session_id === current && navigate('/chat')}
      >
        {({ short_name: name }) => (
          <Text size="sm" className={styles.name}>
            “{name.slice(0, 200)}”, its messages, runs and files are removed for good. A run that has not ended is cancelled.
          </Text>
        )}
      </ConfirmDialog>
    </>
  )
}

function SessionRow({ session, isCurrent, onDelete }: { session: Session; isCurrent: boolean; onDelete: () => void }) {
  const may = useMay()
  const name = session.short_name || 'Untitled'
  return (
    <div className={styles.row} data-current={isCurrent}>
      <Link
        href={`/chat/${encodeURIComponent(session.session_id)}`}
        className={styles.link}
        aria-current={isCurrent ? 'page' : undefined}
        title={name.slice(0, 300)}
      >
        <span className={styles.title}>{name.slice(0, 200)}</span>
        <span className={styles.time}>
          <Timestamp at={session.created_at} />
        </span>
      </Link>
      {may('sessions.write') && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <ActionIcon className={styles.menu} variant="subtle" color="gray" size={24} aria-label={`Actions for ${name.slice(0, 60)}`}>
              <KebabHorizontalIcon size={14} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item color="red" leftSection={<TrashIcon size={14} />} onClick={onDelete}>
              Delete
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
    </div>
  )
}
