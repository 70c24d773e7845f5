import type { Scorer } from '../queries.ts'
import { kinds } from './kinds.ts'
import styles from '../evals.module.css'

/** The scorers of a dataset or an experiment, in words. */
export function ScorerList({ scorers }: { scorers: readonly Scorer[] }) {
  if (scorers.length === 0) return <span>Writes are those of the recording</span>
  return (
    <ul className={styles.scorers} aria-label="Scorers">
      {scorers.map(({ name, kind, required = true }) => (
        <li key={name} className={styles.tag} title={required ? undefined : 'A failed score does not fail the example.'}>
          {name}
          {name === kind ? '' : `: ${kinds[kind]?.label ?? kind}`}
          {required ? '' : ' (not required)'}
        </li>
      ))}
    </ul>
  )
}
