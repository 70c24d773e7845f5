import { Link } from 'wouter'
import { CachedInput, Cost, Duration, Tokens } from '../parts/figures.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { operationLabels } from '../runs/labels.ts'
import type { RunSummary } from '../runs/queries.ts'
import { RunningDuration } from '../runs/running-duration.tsx'
import { useTrace, type Run, type RunKey } from './queries.ts'
import styles from './run.module.css'

/** The line below the title: state, caller, times, cost. */
export function Facts({ runKey, run, summary }: { runKey: RunKey; run: Run; summary: RunSummary | undefined }) {
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
      {ended && <CachedFact runKey={runKey} />}
      {summary?.cost !== null && summary?.cost !== undefined && <Cost usd={summary.cost} />}
      <Link href={`/chat/${encodeURIComponent(session)}`} className={styles.link}>
        Conversation
      </Link>
      {summary?.schedule_id !== undefined && (
        <Link href={`/schedules/${encodeURIComponent(summary.schedule_id)}`} className={styles.link}>
          Schedule
        </Link>
      )}
      {summary?.config_version && (
        <Link href={`/runs?version=${encodeURIComponent(summary.config_version)}`} className={styles.link}>
          Version {summary.config_version.slice(0, 8)}
        </Link>
      )}
    </div>
  )
}

/** How much of the run's input came from prompt caches: from the trace, which the timeline loads too. */
function CachedFact({ runKey }: { runKey: RunKey }) {
  const root = useTrace(runKey, false).data?.spans.find(({ kind }) => kind === 'run')
  return root && <CachedInput cached={root.attributes.cached_input_tokens} input={root.attributes.input_tokens} />
}
