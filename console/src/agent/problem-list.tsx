import { XCircleIcon } from '@primer/octicons-react'
import type { Fault } from './schema/faults.ts'
import styles from './agent.module.css'

/** The faults of the text; each leads to its place in the editor. */
export function ProblemList({ faults, onOpen }: { faults: readonly Fault[]; onOpen: (fault: Fault) => void }) {
  return (
    <section aria-label="Problems">
      <h2 className={styles.subtitle}>
        {faults.length} {faults.length === 1 ? 'problem' : 'problems'}
      </h2>
      <ul className={styles.plainList}>
        {faults.map((fault, index) => (
          <li key={`${index} ${fault.path}`}>
            <button type="button" className={styles.problem} onClick={() => onOpen(fault)}>
              <XCircleIcon className={styles.badIcon} />
              <span className={styles.problemText}>
                {fault.path !== '' && <b>{fault.path} </b>}
                {fault.message}
              </span>
              <span className={styles.lineNumber}>Line {fault.line}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
