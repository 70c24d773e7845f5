import { Button } from '@mantine/core'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { messageOf } from '../../api/errors.ts'
import { differencesOf } from '../difference.ts'
import { DifferenceList } from '../difference-list.tsx'
import { useVersionText, type Version } from '../queries.ts'
import styles from '../agent.module.css'
import { ChangedPaths } from './changed-paths.tsx'

const kinds: Record<Version['kind'], string> = {
  seed: 'First configuration',
  put: 'Changed',
  memory: 'In memory only',
  edit: 'File edited',
  skills: 'Skills changed',
  restore: 'Restored',
  start: 'Started without the changes in memory',
}

interface VersionRowProps {
  version: Version
  /** The version before, which the row is compared with. */
  before: string | undefined
  isCurrent: boolean
  isOpen: boolean
  onToggle: () => void
  onRestore: (() => void) | undefined
}

/** A version of the history; the changes open with their values. */
export function VersionRow({ version: past, before: former, isCurrent, isOpen, onToggle, onRestore }: VersionRowProps) {
  const { version, at, by, kind, diff } = past
  // Changed files of skills are no change of the text.
  const before = kind === 'skills' ? undefined : former
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
        {isOpen && before !== undefined ? <VersionChanges version={version} before={before} /> : <ChangedPaths diff={diff} limit={8} />}
      </div>
      <div className={styles.buttons}>
        {before !== undefined && (
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            aria-expanded={isOpen}
            aria-label={`Changes of version ${version}`}
            onClick={onToggle}
          >
            Changes
          </Button>
        )}
        {onRestore && !isCurrent && (
          <Button size="compact-sm" variant="default" onClick={onRestore} aria-label={`Restore version ${version}`}>
            Restore
          </Button>
        )}
      </div>
    </article>
  )
}

function VersionChanges({ version, before }: { version: string; before: string }) {
  const [newText, oldText] = [useVersionText(version), useVersionText(before)]
  const error = newText.error ?? oldText.error
  if (error) return <p className={styles.error}>{messageOf(error)}</p>
  if (newText.data === undefined || oldText.data === undefined) return <RowsSkeleton count={2} />
  const differences = differencesOf(oldText.data, newText.data) ?? []
  if (differences.length === 0) return <p className={styles.quiet}>Only comments, formatting or secrets have changed.</p>
  return <DifferenceList differences={differences} label={`Values of version ${version}`} />
}
