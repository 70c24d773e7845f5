import { useHistory, type Version } from './queries.ts'
import styles from './agent.module.css'

/** Fields that were changed in memory only since the service started. They are in effect beside the text. Nothing without such fields. */
export function MemoryNotice() {
  const paths = changedInMemory(useHistory().rows)
  if (paths.length === 0) return null
  return (
    <section aria-label="In memory only" className={styles.memory}>
      <h2 className={styles.subtitle}>In memory only</h2>
      <p className={styles.quiet}>
        These fields were changed without being stored. The text does not show it, and it ends with the service.
      </p>
      <p className={styles.paths}>
        {paths.map((path) => (
          <code key={path}>{path || 'everything'}</code>
        ))}
      </p>
    </section>
  )
}

/** A start of the service drops the earlier changes in memory. */
function changedInMemory(versions: readonly Version[]): string[] {
  const start = versions.findIndex(({ kind }) => kind === 'start' || kind === 'seed')
  const recent = start === -1 ? versions : versions.slice(0, start)
  return [...new Set(recent.flatMap(({ kind, diff }) => (kind === 'memory' ? diff : [])))]
}
