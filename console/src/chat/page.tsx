import { ActionIcon, Drawer } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { CommentDiscussionIcon } from '@primer/octicons-react'
import { useEffect } from 'react'
import { useMay } from '../api/me.ts'
import { usePageHeading } from '../parts/page-header.tsx'
import { usePathId } from '../parts/use-path-id.ts'
import { Conversation } from './conversation.tsx'
import { SessionsPane } from './sessions-pane.tsx'
import styles from './page.module.css'

/** Sessions at the side, and the conversation of the session in the address; without one, a new conversation. */
export function ChatPage() {
  const session = usePathId('session')
  const [isOpen, drawer] = useDisclosure(false)
  const heading = usePageHeading('Chat')
  const may = useMay()
  const hasSessions = may('sessions.read')
  useEffect(drawer.close, [session])
  return (
    <div className={styles.page}>
      <h1 className="visually-hidden" ref={heading} tabIndex={-1}>
        Chat
      </h1>
      {hasSessions && (
        <>
          <aside className={styles.side} aria-label="Sessions">
            <SessionsPane current={session} />
          </aside>
          <ActionIcon className={styles.open} variant="default" size="lg" aria-label="Open sessions" onClick={drawer.open}>
            <CommentDiscussionIcon />
          </ActionIcon>
          <Drawer
            opened={isOpen}
            onClose={drawer.close}
            size={300}
            title="Sessions"
            closeButtonProps={{ 'aria-label': 'Close sessions' }}
            classNames={{ body: styles.drawer }}
          >
            <SessionsPane current={session} />
          </Drawer>
        </>
      )}
      <Conversation key={session ?? 'new'} session={session} />
    </div>
  )
}
