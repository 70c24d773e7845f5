import { Button } from '@mantine/core'
import { Timestamp } from '../../parts/timestamp.tsx'
import type { Version } from '../queries.ts'
import styles from '../agent.module.css'

const kinds: Record<Version['kind'], string> = {
  seed: 'First configuration',
  put: 'Changed',
  memory: 'In memory only',
  edit: 'File edited',
  restore: 'Restored',
  start: 'Started without the changes in memory',
}

const shownPaths = 8

interface VersionRowProps {
  version: Version
  isCurrent: boolean
  onRestore: (() => void) | undefined
}

/** One version of the history. */
export function VersionRow({ version: { version, at, by, kind, diff }, isCurrent, onRestore }: VersionRowProps) {
  const rest = diff.length - shownPaths
  return (
    <article className={styles.version} aria-label={`Version ${version}`}>
      <div className={styles.versionTexts}>
        <p className={styles.versionHead}>
          <b>{kinds[kind]}</b>
          {isCurrent && <span className={styles.current}>in use</span>}
          <Timestamp at={at} />
          <span className={styles.author}>by {by}</span>
          <code className={styles.versionName}>{version}</code>
        </p>
        {diff.length > 0 && (
          <p className={styles.paths} title={diff.slice(0, 100).join('\n')}>
            {diff.slice(0, shownPaths).map((path) => (
              <code key={path}>{path || 'everything'}</code>
            ))}
            {rest > 0 && <span>and {rest} more</span>}
          </p>
        )}
      </div>
      {onRestore && !isCurrent && (
        <Button size="compact-sm" variant="default" onClick={onRestore} aria-label={`Restore version ${version}`}>
          Restore
        </Button>
      )}
    </article>
  )
}
