import { CloseButton } from '@mantine/core'
import { Link } from 'wouter'
import { useMe } from '../api/me.ts'
import { statusOf } from '../api/errors.ts'
import type { Decision } from '../parts/approval/queries.ts'
import { Markdown } from '../parts/markdown/markdown.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { useRun } from '../run/queries.ts'
import { runAddress } from '../runs/run-address.ts'
import type { Approval } from './queries.ts'
import styles from './approvals.module.css'

/** A decision that was made on this page. */
export interface Decided {
  approval: Approval
  decision: Decision['decision']
}

const maxCharacters = 300

/** The outcome of a decided call: the state of the run, and a link to the run. */
export function Outcome({ decided: { approval, decision }, onClose }: { decided: Decided; onClose: () => void }) {
  const me = useMe().data
  const { tool, request_id: id, issuer, sub } = approval
  const isOwn = sub === me?.sub && issuer === me.issuer
  const run = useRun(isOwn ? { id } : { id, issuer, sub })
  const answer = run.data?.outcome?.output?.trim()
  const error = run.data?.error?.body
  return (
    <section className={styles.outcome} aria-label={`Outcome of ${tool.slice(0, 100)}`} role="status">
      <div className={styles.outcomeText}>
        <p className={styles.outcomeHead}>
          <b>
            {tool} was {verbs[decision] ?? 'decided'}.
          </b>
          {run.data && <StatusBadge status={run.data.status} label={labels[run.data.status] ?? run.data.status} />}
          {!isForeign(run.error) && <Link href={runAddress({ request_id: id, issuer, sub }, me)}>Open the run</Link>}
        </p>
        {error && <p className={styles.outcomeAnswer}>{beginningOf(error)}</p>}
        {answer && !error && (
          <div className={styles.outcomeAnswer}>
            <Markdown text={beginningOf(answer)} />
          </div>
        )}
        {isForeign(run.error) && <p className={styles.facts}>Its caller sees how the run goes on.</p>}
      </div>
      <CloseButton size="sm" aria-label="Dismiss" onClick={onClose} />
    </section>
  )
}

function beginningOf(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text
}

const verbs: Partial<Record<Decided['decision'], string>> = { approve: 'approved', reject: 'rejected', extend: 'extended' }

const labels: Record<string, string> = {
  pending: 'goes on',
  running: 'goes on',
  interrupted: 'waits for another decision',
  success: 'answered',
}

/** A key that decides calls of other callers may lack the permission to read the runs. */
function isForeign(error: unknown): boolean {
  return statusOf(error) === 404 || statusOf(error) === 403
}
