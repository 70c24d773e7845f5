import { formatAmounts, type Amounts } from './amounts.ts'
import { ResetTime } from './reset-time.tsx'

interface BudgetNoticeProps {
  budget: string
  resetsAt?: string | undefined
  /** Only where the caller may see the amounts. */
  spent?: Amounts | undefined
  limit?: Amounts | undefined
}

/** Which budget is used up, and when it is whole again. */
export function BudgetNotice({ budget, resetsAt, spent, limit }: BudgetNoticeProps) {
  return (
    <>
      The budget <b>{budget.slice(0, 64)}</b> is used up
      {spent && limit && `: ${formatAmounts(spent)} of ${formatAmounts(limit)} are spent`}.{' '}
      {resetsAt === undefined ? (
        'It does not become whole again: its limit must be raised.'
      ) : (
        <>
          It is whole again <ResetTime at={resetsAt} />.
        </>
      )}
    </>
  )
}
