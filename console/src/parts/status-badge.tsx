import {
  AlertIcon,
  CheckCircleIcon,
  CircleSlashIcon,
  ClockIcon,
  HourglassIcon,
  PlayIcon,
  SquareIcon,
  SyncIcon,
  XCircleIcon,
  type Icon,
} from '@primer/octicons-react'
import styles from './status-badge.module.css'

type Tone = 'good' | 'bad' | 'busy' | 'waiting' | 'neutral'

const looks: Record<string, readonly [Tone, Icon]> = {
  success: ['good', CheckCircleIcon],
  ready: ['good', CheckCircleIcon],
  ok: ['good', CheckCircleIcon],
  delivered: ['good', CheckCircleIcon],
  active: ['good', CheckCircleIcon],
  error: ['bad', XCircleIcon],
  failed: ['bad', XCircleIcon],
  timeout: ['bad', ClockIcon],
  gone: ['bad', CircleSlashIcon],
  refused: ['bad', XCircleIcon],
  revoked: ['bad', CircleSlashIcon],
  running: ['busy', SyncIcon],
  busy: ['busy', SyncIcon],
  initializing: ['busy', SyncIcon],
  pending: ['waiting', HourglassIcon],
  interrupted: ['waiting', PlayIcon],
  paused: ['waiting', SquareIcon],
  missed: ['waiting', ClockIcon],
  warning: ['waiting', AlertIcon],
  unknown: ['waiting', AlertIcon],
  expired: ['neutral', ClockIcon],
  cancelled: ['neutral', CircleSlashIcon],
  skipped: ['neutral', CircleSlashIcon],
}

/** State of a run, tool, callback, check or key. `label` replaces the word of the interface. */
export function StatusBadge({ status, label = status, title }: { status: string; label?: string; title?: string | undefined }) {
  const [tone, StatusIcon] = looks[status] ?? (['neutral', ClockIcon] as const)
  return (
    <span className={styles.badge} data-tone={tone} title={title}>
      <StatusIcon size={14} className={status === 'running' ? styles.turning : undefined} />
      {label}
    </span>
  )
}
