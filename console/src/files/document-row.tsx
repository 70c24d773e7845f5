import { ActionIcon } from '@mantine/core'
import { BookIcon, TrashIcon } from '@primer/octicons-react'
import { formatSize } from '../parts/artifact/preview-kind.ts'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import type { Document } from './queries.ts'
import styles from './files.module.css'

const states: Record<Document['state'], readonly [status: string, label: string]> = {
  waiting: ['pending', 'waits'],
  indexing: ['running', 'is read'],
  ready: ['ready', 'ready'],
  failed: ['failed', 'not readable'],
}

/** A document: state, size, number of passages, or the reason why the text cannot be read. */
export function DocumentRow({ document, onDelete }: { document: Document; onDelete: (() => void) | undefined }) {
  const { name, size, state, passages, error, created_at: created } = document
  const [status, label] = states[state]
  return (
    <article className={styles.row}>
      <BookIcon className={styles.icon} />
      <div className={styles.texts}>
        <p className={styles.name} title={name}>
          {name}
        </p>
        <p className={styles.facts} title={error} data-failed={state === 'failed'}>
          {formatSize(size)}
          {passages !== undefined && ` · ${passages.toLocaleString('en')} ${passages === 1 ? 'passage' : 'passages'}`} ·{' '}
          <Timestamp at={created} />
          {error !== undefined && ` · ${error}`}
        </p>
      </div>
      <StatusBadge status={status} label={label} title={error} />
      {onDelete && (
        <ActionIcon variant="subtle" color="gray" aria-label={`Delete ${name.slice(0, 80)}`} onClick={onDelete}>
          <TrashIcon />
        </ActionIcon>
      )}
    </article>
  )
}
