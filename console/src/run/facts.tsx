import { Link } from 'wouter'
import { Cost, Duration, Tokens } from '../parts/figures.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { operationLabels } from '../runs/labels.ts'
import type { RunSummary } from '../runs/queries.ts'
import { RunningDuration } from '../runs/running-duration.tsx'
import type { Run } from './queries.ts'
import styles from './run.module.css'

/** The line below the title: state, caller, times, cost. */
export function Facts({ run, summary }: { run: Run; summary: RunSummary | undefined }) {
  const { status, session_id: session, created_at: created, started_at: started, ended_at: ended } = run
  return (
    <div className={styles.facts}>
      <StatusBadge status={status} />
      {summary && <span title={summary.issuer}>{summary.sub}</span>}
      {summary && <span>{operationLabels[summary.operation]}</span>}
      <Timestamp at={created} />
      {started && ended && <Duration ms={Date.parse(ended) - Date.parse(started)} />}
      {started && status === 'running' && <RunningDuration since={started} />}
      {summary && ended && (
        <span>
          <Tokens count={summary.tokens} /> tokens
        </span>
      )}
      {summary?.cost !== null && summary?.cost !== undefined && <Cost usd={summary.cost} />}
      <Link href={`/chat/${encodeURIComponent(session)}`} className={styles.link}>
        Conversation
      </Link>
      {summary?.config_version && (
        <Link href={`/runs?version=${encodeURIComponent(summary.config_version)}`} className={styles.link}>
          Version {summary.config_version.slice(0, 8)}
        </Link>
      )}
    </div>
  )
}
