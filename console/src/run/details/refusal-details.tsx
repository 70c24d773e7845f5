import { formatAmounts } from '../../parts/budget/amounts.ts'
import { BudgetNotice } from '../../parts/budget/budget-notice.tsx'
import type { Span } from '../queries.ts'
import { Fact } from './fact.tsx'
import styles from './details.module.css'

/** A model call that a budget could not pay: the budget, and what the call needed. Amounts exist where the caller may read the budget. */
export function RefusalDetails({ span: { name, attributes } }: { span: Span }) {
  const { model, needed, spent, reserved, limit, resets_at: resetsAt } = attributes
  return (
    <>
      <p className={styles.note}>
        <BudgetNotice budget={name} resetsAt={resetsAt} spent={spent} limit={limit} />
      </p>
      <dl className={styles.facts}>
        {model && <Fact name="Model">{model}</Fact>}
        {needed && <Fact name="Needed">{formatAmounts(needed)}</Fact>}
        {reserved && <Fact name="Reserved">{formatAmounts(reserved)}</Fact>}
      </dl>
    </>
  )
}
