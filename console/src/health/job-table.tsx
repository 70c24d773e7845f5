import type { ServiceStatus } from './queries.ts'
import { titleOf } from './summary.ts'
import styles from './health.module.css'

/** The numbers of jobs by kind. Jobs that have failed stand out. */
export function JobTable({ jobs }: { jobs: ServiceStatus['jobs'] }) {
  const kinds = Object.entries(jobs).toSorted(([a], [b]) => a.localeCompare(b))
  if (kinds.length === 0) return <p className={styles.quiet}>No job waits or runs. Asynchronous chats, callbacks and cleanups are jobs.</p>
  return (
    <div className={styles.box} role="region" aria-label="Table of jobs" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col" data-align="end">
              Due
            </th>
            <th scope="col" data-align="end">
              Scheduled
            </th>
            <th scope="col" data-align="end">
              Running
            </th>
            <th scope="col" data-align="end">
              Failed
            </th>
          </tr>
        </thead>
        <tbody>
          {kinds.map(([kind, { due, scheduled, running, failed }]) => (
            <tr key={kind}>
              <th scope="row">{titleOf(kind)}</th>
              <td data-align="end">{due}</td>
              <td data-align="end">{scheduled}</td>
              <td data-align="end">{running}</td>
              <td data-align="end" data-bad={failed > 0}>
                {failed}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
