import { ActionIcon } from '@mantine/core'
import { CommentIcon, TrashIcon } from '@primer/octicons-react'
import { Link } from 'wouter'
import { Timestamp } from '../parts/timestamp.tsx'
import type { Memory } from './queries.ts'
import styles from './memories.module.css'

/** A memory: text, origin, and a delete button if the key permits deletion. */
export function MemoryRow({ memory, onDelete }: { memory: Memory; onDelete?: (() => void) | undefined }) {
  const { content, kind, origin, source, created_at: createdAt } = memory
  return (
    <article className={styles.row}>
      <div className={styles.texts}>
        <p className={styles.content}>{content}</p>
        <p className={styles.details}>
          <span className={styles.kind} data-kind={kind}>
            {kind}
          </span>
          <Timestamp at={createdAt} />
          {origin === 'tool' && <span>learned from a tool</span>}
          <Link href={`/chat/${encodeURIComponent(source.session_id)}?message=${source.message_index}`} className={styles.source}>
            <CommentIcon size={12} /> Conversation
          </Link>
        </p>
      </div>
      {onDelete && (
        <ActionIcon variant="subtle" color="gray" aria-label={`Delete memory: ${content.slice(0, 80)}`} onClick={onDelete}>
          <TrashIcon />
        </ActionIcon>
      )}
    </article>
  )
}
