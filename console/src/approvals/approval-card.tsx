import { Link } from 'wouter'
import { useMe } from '../api/me.ts'
import { BudgetDecision, toBudgetPause } from '../parts/approval/budget-decision.tsx'
import { CallDecision } from '../parts/approval/call-decision.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { runAddress } from '../runs/run-address.ts'
import { Conversation } from './conversation.tsx'
import type { Decided } from './outcome.tsx'
import type { Approval } from './queries.ts'
import styles from './approvals.module.css'

/** A call that waits for a decision, or a budget that is used up: input, caller, expiry, and the conversation that led to the call. */
export function ApprovalCard({ approval, onDecided }: { approval: Approval; onDecided: (decision: Decided['decision']) => void }) {
  const me = useMe().data
  const { tool, sub, issuer, requested_at: requested, expires_at: expiry, request_id: requestId, may_decide: mayDecide } = approval
  const isOwn = sub === me?.sub && issuer === me.issuer
  return (
    <article className={styles.card} tabIndex={0} aria-label={`${tool.slice(0, 100)}, for ${sub.slice(0, 100)}`}>
      <header className={styles.head}>
        <h2 className={styles.tool}>{approval.by === 'budget' ? `Budget ${tool}` : tool}</h2>
        <span className={styles.facts}>
          for{' '}
          <b className={styles.caller} title={issuer}>
            {isOwn ? 'you' : sub}
          </b>
          , asked <Timestamp at={requested} />, expires <Timestamp at={expiry} />
        </span>
        <Link href={runAddress({ request_id: requestId, issuer, sub }, me)} className={styles.link}>
          Run
        </Link>
      </header>
      {approval.question !== undefined && <Conversation question={approval.question} messages={approval.messages ?? []} />}
      {approval.by === 'budget' ? (
        <BudgetDecision requestId={requestId} pause={toBudgetPause(approval)} mayDecide={mayDecide} onDecided={onDecided} />
      ) : (
        <CallDecision requestId={requestId} call={approval} mayDecide={mayDecide} onDecided={onDecided} />
      )}
    </article>
  )
}
