import { AlertIcon } from '@primer/octicons-react'
import styles from './agent.module.css'

/** Models and tools of a configuration that do not work, a line each. */
export function Warnings({ warnings }: { warnings: readonly string[] }) {
  if (warnings.length === 0) return null
  return (
    <ul className={styles.plainList} aria-label="Warnings">
      {warnings.map((warning, index) => (
        <li key={index} className={styles.warning}>
          <AlertIcon className={styles.warnIcon} />
          <span>{warning}</span>
        </li>
      ))}
    </ul>
  )
}
