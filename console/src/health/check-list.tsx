import { StatusBadge } from '../parts/status-badge.tsx'
import type { Check } from './queries.ts'
import { groupChecks, titleOf, withoutName } from './summary.ts'
import styles from './health.module.css'

/** More good checks of one part than these are folded. */
const maxGoodChecks = 3

/** Checks with finding and remedy, worst first. */
export function CheckList({ checks }: { checks: readonly Check[] }) {
  return (
    <ul className={styles.checks}>
      {groupChecks(checks).map(({ name, status, checks: members }) => (
        <li key={`${name} ${status}`} className={styles.check}>
          <StatusBadge status={status} />
          <span className={styles.name}>{titleOf(name)}</span>
          {status === 'ok' && members.length > maxGoodChecks ? (
            <details className={styles.finding}>
              <summary>{members.length} in order</summary>
              <Findings checks={members} />
            </details>
          ) : (
            <div className={styles.finding}>
              <Findings checks={members} />
            </div>
          )}
        </li>
      ))}
    </ul>
  )
}

function Findings({ checks }: { checks: readonly Check[] }) {
  return checks.map(({ name, message, remedy }, index) => (
    <div key={`${index} ${message}`} className={styles.message}>
      <p>{withoutName(message, name)}</p>
      {remedy !== undefined && <p className={styles.remedy}>{remedy}</p>}
    </div>
  ))
}
