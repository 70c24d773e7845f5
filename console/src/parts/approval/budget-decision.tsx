import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { useMay } from '../../api/me.ts'
import { AmountFields } from '../budget/amount-fields.tsx'
import { formatAmounts, type Amounts } from '../budget/amounts.ts'
import { BudgetNotice } from '../budget/budget-notice.tsx'
import { useDecide, type Decision } from './queries.ts'
import styles from './call-decision.module.css'

/** A budget that a run waits for. */
export interface BudgetPause {
  /** Names the pause; absent where the run waits for a single budget. */
  tool_call_id?: string
  budget: string
  needed: Amounts
  resets_at?: string | undefined
}

/** The budget in an entry of the list of approvals with `by: budget`. */
export function toBudgetPause({ tool_call_id, tool_input }: { tool_call_id: string; tool_input?: unknown }): BudgetPause {
  return { ...(tool_input as Omit<BudgetPause, 'tool_call_id'>), tool_call_id }
}

interface BudgetDecisionProps {
  requestId: string
  pause: BudgetPause
  isDecided?: boolean
  /** True for the run's caller and for whoever may raise the limit. */
  mayDecide: boolean
  onDecided?: ((decision: Decision['decision']) => void) | undefined
}

/** A run that a budget has paused: which budget, what the run needs, and the buttons to raise the limit or to end the run. */
export function BudgetDecision({ requestId, pause, isDecided = false, mayDecide, onDecided }: BudgetDecisionProps) {
  const mayExtend = useMay()('budgets.write')
  const decide = useDecide(requestId, onDecided)
  const [amount, setAmount] = useState<Amounts>(pause.needed)
  const id = pause.tool_call_id
  const send = (decision: Decision) => decide.mutate({ ...decision, ...(id !== undefined && { tool_call_id: id }) })
  const isComplete = Object.keys(pause.needed).every((part) => amount[part as keyof Amounts] !== undefined)
  return (
    <>
      <Text size="sm">
        <BudgetNotice budget={pause.budget} resetsAt={pause.resets_at} /> The run needs at least {formatAmounts(pause.needed)} to go on.
      </Text>
      {decide.error && (
        <Text size="sm" role="alert" className={styles.error}>
          {messageOf(decide.error)}
        </Text>
      )}
      {isDecided || decide.isSuccess ? (
        <Text size="sm" c="dimmed">
          Decided.
        </Text>
      ) : (
        <>
          {mayExtend && (
            <Group gap="xs" align="end">
              <AmountFields
                parts={pause.needed}
                value={amount}
                onChange={setAmount}
                labels={{ usd: 'Raise by USD', tokens: 'Raise by tokens' }}
              />
            </Group>
          )}
          {!mayExtend && (
            <Text size="sm" c="dimmed">
              A key with the permission budgets.write can raise the limit.
            </Text>
          )}
          <Group gap="xs">
            {mayExtend && (
              <Button
                size="sm"
                disabled={!isComplete}
                loading={decide.isPending}
                onClick={() => send({ decision: 'extend', limit: toLimit(amount) })}
              >
                Extend
              </Button>
            )}
            {mayDecide && (
              <Button size="sm" variant="default" disabled={decide.isPending} onClick={() => send({ decision: 'reject' })}>
                Reject
              </Button>
            )}
          </Group>
        </>
      )}
    </>
  )
}

function toLimit({ usd, tokens }: Amounts): NonNullable<Decision['limit']> {
  return { ...(usd !== undefined && { usd }), ...(tokens !== undefined && { tokens }) }
}
