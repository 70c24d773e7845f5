import styles from '../agent.module.css'

/** Names of changed fields; the empty path stands for the whole configuration. */
export function ChangedPaths({ diff, limit }: { diff: readonly string[]; limit: number }) {
  if (diff.length === 0) return null
  return (
    <p className={styles.paths}>
      {diff.slice(0, limit).map((path) => (
        <code key={path}>{path || 'everything'}</code>
      ))}
      {diff.length > limit && <span>and {diff.length - limit} more</span>}
    </p>
  )
}
