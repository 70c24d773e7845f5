import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import type { Replica } from './queries.ts'
import styles from './health.module.css'

/** The processes of the service. A version other than the version of the answering process is marked. */
export function ReplicaTable({ replicas, version }: { replicas: readonly Replica[]; version: string }) {
  if (replicas.length === 0) return <p className={styles.quiet}>The processes could not be read. The check of the store says why.</p>
  return (
    <div className={styles.box} role="region" aria-label="Table of processes" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col">State</th>
            <th scope="col">Version</th>
            <th scope="col">Started</th>
            <th scope="col">Last seen</th>
            <th scope="col" data-align="end">
              Runs
            </th>
            <th scope="col">Id</th>
          </tr>
        </thead>
        <tbody>
          {replicas.map((replica) => (
            <ReplicaRow key={replica.id} replica={replica} version={version} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function ReplicaRow({ replica, version }: { replica: Replica; version: string }) {
  const { id, host, version: own, started_at: startedAt, last_seen_at: seenAt, is_alive: isAlive, runs } = replica
  const isOther = own !== null && own !== version
  return (
    <tr>
      <td>{host ?? '–'}</td>
      <td>
        {isAlive ? (
          <StatusBadge status="ok" label="alive" />
        ) : (
          <StatusBadge status="gone" label="lost" title="It ended without stopping." />
        )}
      </td>
      <td>{isOther ? <StatusBadge status="warning" label={own} title={`This process has version ${version}.`} /> : (own ?? '–')}</td>
      <td>{startedAt === null ? '–' : <Timestamp at={startedAt} />}</td>
      <td>
        <Timestamp at={seenAt} />
      </td>
      <td data-align="end">{runs}</td>
      <td>
        <code className={styles.id}>{id}</code>
      </td>
    </tr>
  )
}
