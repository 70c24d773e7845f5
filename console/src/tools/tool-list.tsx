import { Link } from 'wouter'
import type { Tool } from '../api/tools.ts'
import { StatusBadge } from '../parts/status-badge.tsx'
import styles from './tools.module.css'

interface ToolListProps {
  tools: readonly Tool[]
  selected: string | undefined
  search: string | undefined
}

/** Links to the tools; the search stays in their addresses. */
export function ToolList({ tools, selected, search }: ToolListProps) {
  const query = search === undefined ? '' : `?${new URLSearchParams({ q: search }).toString()}`
  if (tools.length === 0) return <p className={styles.quiet}>No tool matches.</p>
  return (
    <ul className={styles.list} aria-label="Tools">
      {tools.map(({ name, description, status }) => (
        <li key={name}>
          <Link
            href={`/tools/${encodeURIComponent(name)}${query}`}
            className={styles.item}
            aria-current={name === selected ? 'true' : undefined}
          >
            <span className={styles.itemHead}>
              <span className={styles.name}>{name}</span>
              {status !== 'ready' && <StatusBadge status={status} />}
            </span>
            <span className={styles.description}>{description.slice(0, 300)}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
