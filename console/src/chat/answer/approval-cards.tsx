import { CreditCardIcon, ShieldLockIcon } from '@primer/octicons-react'
import { BudgetDecision } from '../../parts/approval/budget-decision.tsx'
import { CallDecision } from '../../parts/approval/call-decision.tsx'
import type { Answer } from '../live/answer.ts'
import { useOpenCalls } from '../queries.ts'
import styles from './approval-cards.module.css'

/** A budget that is used up, with the buttons to raise its limit or to end the run. */
export function BudgetCard({ pause }: { pause: NonNullable<Answer['budget']> }) {
  return (
    <section className={styles.card} role="status" aria-label={`Budget ${pause.budget}`}>
      <header className={styles.head}>
        <CreditCardIcon />
        <span className={styles.title}>The run waits for its budget</span>
      </header>
      <BudgetDecision requestId={pause.request_id} pause={pause} mayDecide />
    </section>
  )
}

type Approval = NonNullable<Answer['approval']>
type Call = Approval['calls'][number]

/** Calls that wait for approval, each with the buttons to decide it. The answer goes on when all are decided. */
export function ApprovalCards({ approval }: { approval: Approval }) {
  const open = useOpenCalls(approval.request_id, true)
  const calls = new Map(open.data?.map((call) => [call.tool_call_id, call]))
  return (
    <div className={styles.list} role="status" aria-label="Approval required">
      {approval.calls.map((call) => {
        const openCall = calls.get(call.tool_call_id)
        const isDecided = open.data !== undefined && openCall === undefined
        return (
          <ApprovalCard
            key={call.tool_call_id}
            requestId={approval.request_id}
            call={call}
            isDecided={isDecided}
            mayDecide={openCall?.may_decide ?? !open.isSuccess}
          />
        )
      })}
    </div>
  )
}

interface ApprovalCardProps {
  requestId: string
  call: Call
  isDecided: boolean
  mayDecide: boolean
}

function ApprovalCard({ requestId, call, isDecided, mayDecide }: ApprovalCardProps) {
  return (
    <section className={styles.card} aria-label={`Approval of ${call.tool}`}>
      <header className={styles.head}>
        <ShieldLockIcon />
        <span className={styles.title}>
          The agent asks to use <b>{call.tool.slice(0, 200)}</b>
        </span>
      </header>
      <CallDecision requestId={requestId} call={call} isDecided={isDecided} mayDecide={mayDecide} />
    </section>
  )
}
