import { JsonView } from '../../parts/json/json-view.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import type { Span } from '../queries.ts'
import { Fact, Section } from './fact.tsx'
import styles from './details.module.css'

const decisions = { approve: 'approved', reject: 'rejected', extend: 'the limit was raised', lapsed: 'expired without a decision' } as const

const deciders = { caller: 'the caller', role: 'another person with runs.approve', budget: 'a person with budgets.write' } as const

/** A call that needed an approval: the call, the decision, the deciding caller and the reason. */
export function ApprovalDetails({ span: { attributes } }: { span: Span }) {
  const { tool, by, decision, decided_by: decider, reason, expires_at: expiry, tool_input: input, new_input: newInput } = attributes
  return (
    <>
      <dl className={styles.facts}>
        {tool && <Fact name={by === 'budget' ? 'Budget' : 'Tool'}>{tool}</Fact>}
        <Fact name="Decision">{decision ? decisions[decision] : 'waiting'}</Fact>
        <Fact name="May decide">{deciders[by ?? 'caller']}</Fact>
        {decider && <Fact name="Decided by">{`${decider.sub} (${decider.issuer})`}</Fact>}
        {reason && <Fact name="Reason">{reason}</Fact>}
        {expiry && !decision && (
          <Fact name="Expires">
            <Timestamp at={expiry} />
          </Fact>
        )}
      </dl>
      {input !== undefined && (
        <Section title="Input">
          <JsonView value={input} label="Input" />
        </Section>
      )}
      {newInput !== undefined && (
        <Section title="Changed input">
          <JsonView value={newInput} label="Changed input" />
        </Section>
      )}
    </>
  )
}

const causes = {
  lost: 'The process before was lost; this one went on from the last checkpoint.',
  handed_over: 'The process before was stopped and handed the run over.',
  approval: 'The run went on after an approval.',
  repeat: 'The request was sent again and went on with what there was.',
} as const

/** A time of waiting, or a change of the process. */
export function WaitDetails({ span: { kind, attributes } }: { span: Span }) {
  const { for: waitedFor, from, to, cause } = attributes
  if (kind === 'wait') {
    const reasons = {
      queue: 'Another run of the session was working.',
      approval: 'A call needed an approval.',
      budget: 'A budget was used up.',
      client_tool: 'Calls waited for the client, which runs their tools.',
      reader: 'No reader was there.',
    }
    return <p className={styles.note}>{waitedFor ? reasons[waitedFor] : ''}</p>
  }
  return (
    <>
      {cause && <p className={styles.note}>{causes[cause]}</p>}
      <dl className={styles.facts}>
        {from && <Fact name="From">{from}</Fact>}
        {to && <Fact name="To">{to}</Fact>}
      </dl>
    </>
  )
}
