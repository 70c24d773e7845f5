import { FileIcon, GraphIcon, ImageIcon, TableIcon, type Icon } from '@primer/octicons-react'
import { Link } from 'wouter'
import { formatSize } from '../parts/artifact/preview-kind.ts'
import { Timestamp } from '../parts/timestamp.tsx'
import type { Artifact } from './queries.ts'
import styles from './files.module.css'

/** A file: the name opens the file, followed by the origin. */
export function FileRow({ artifact, onOpen }: { artifact: Artifact; onOpen: () => void }) {
  const { file_name: name, file_type: type, size, tool, created_at: created, session_id: session } = artifact
  const TypeIcon = iconOf(type)
  return (
    <article className={styles.row}>
      <TypeIcon className={styles.icon} />
      <div className={styles.texts}>
        <button type="button" className={styles.open} onClick={onOpen}>
          {name}
        </button>
        <p className={styles.facts}>
          {formatSize(size)} · {tool} · <Timestamp at={created} />
        </p>
      </div>
      {session && (
        <Link href={`/chat/${encodeURIComponent(session)}`} className={styles.link}>
          Conversation
        </Link>
      )}
    </article>
  )
}

function iconOf(mediaType: string): Icon {
  if (mediaType === 'image/svg+xml') return GraphIcon
  if (mediaType.startsWith('image/')) return ImageIcon
  return mediaType.startsWith('text/csv') || mediaType.includes('sheet') ? TableIcon : FileIcon
}
