import { Button, Text } from '@mantine/core'
import { AlertIcon, LockIcon, type Icon } from '@primer/octicons-react'
import type { ReactNode } from 'react'
import { messageOf } from '../api/errors.ts'
import styles from './states.module.css'

interface StateProps {
  icon: Icon
  title: string
  children?: ReactNode
  isAlert?: boolean
}

function State({ icon: StateIcon, title, children, isAlert }: StateProps) {
  return (
    <div className={styles.state} role={isAlert ? 'alert' : undefined}>
      <StateIcon size={24} className={styles.icon} />
      <h2 className={styles.title}>{title}</h2>
      {children}
    </div>
  )
}

/** An empty place: what belongs there (`title`), how to get it (`children`), and a button or link (`action`). */
export function EmptyState({ icon, title, children, action }: { icon: Icon; title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <State icon={icon} title={title}>
      <Text c="dimmed" size="sm" className={styles.text} component="div">
        {children}
      </Text>
      {action}
    </State>
  )
}

interface FailedStateProps {
  /** Title of the failure, such as "The runs could not be loaded". */
  title: string
  /** Remedy for the user. */
  text?: string | undefined
  /** The message is shown: errors of the service name a remedy. */
  error?: unknown
  retry?: () => void
  retryLabel?: string
}

export function FailedState({ title, text, error, retry, retryLabel = 'Try again' }: FailedStateProps) {
  return (
    <State icon={AlertIcon} title={title} isAlert>
      <Text c="dimmed" size="sm" className={styles.text}>
        {text ?? (error === undefined ? '' : messageOf(error))}
      </Text>
      {retry && (
        <Button variant="default" onClick={retry}>
          {retryLabel}
        </Button>
      )}
    </State>
  )
}

/** In place of what the signed-in key may not see. */
export function ForbiddenState({ permissions }: { permissions: readonly string[] }) {
  return (
    <State icon={LockIcon} title="Your key does not permit this">
      <Text c="dimmed" size="sm" className={styles.text}>
        {permissions.length > 0 ? `This page needs ${permissions.join(' or ')}. ` : ''}
        Ask an administrator for a key with a role that includes it.
      </Text>
    </State>
  )
}
