import { Button } from '@mantine/core'
import { BudgetNotice } from '../../parts/budget/budget-notice.tsx'
import type { Answer } from '../live/answer.ts'
import styles from './answer-item.module.css'

const notes: Record<string, string> = {
  length: 'The answer was cut off: the model reached its limit of tokens.',
  content_filter: 'The provider of the model has filtered this answer.',
  max_iterations: 'The agent used all of its model calls. This is its best answer so far.',
  timeout: 'The time limit was reached. This is the best answer so far.',
  budget_exceeded: 'A budget is used up. This is the best answer that it could pay.',
  cancelled: 'Stopped.',
}

/** Notice about the end of an answer, except for a normal end. */
export function AnswerEnd({ answer, onAskAgain }: { answer: Answer; onAskAgain: (() => void) | undefined }) {
  const { error, finishReason } = answer
  const isFailed = error !== undefined || finishReason === 'error'
  const { error_type: type, budget, resets_at: resetsAt, spent, limit } = error?.details ?? {}
  const isBudget = type === 'BudgetExceeded' && budget !== undefined
  const text = isFailed ? (error?.body ?? 'The run has failed.') : notes[finishReason ?? '']
  if (text === undefined) return null
  return (
    <div className={styles.end} data-failed={isFailed} role={isFailed ? 'alert' : undefined}>
      <div>{isBudget ? <BudgetNotice budget={budget} resetsAt={resetsAt} spent={spent} limit={limit} /> : text.slice(0, 4000)}</div>
      {isFailed && onAskAgain && (
        <Button size="compact-sm" variant="default" mt={8} onClick={onAskAgain}>
          Ask again
        </Button>
      )}
    </div>
  )
}
