import { Button } from '@mantine/core'
import { useMay } from '../api/me.ts'
import { amountParts, formatAmounts } from '../parts/budget/amounts.ts'
import { ResetTime } from '../parts/budget/reset-time.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { AmountBar } from './amount-bar.tsx'
import type { Budget } from './queries.ts'
import { scopeLabels, subjectOf } from './scopes.ts'
import styles from './budgets.module.css'

interface BudgetRowProps {
  budget: Budget
  onChange: () => void
  onRestore: () => void
}

/** A window of a budget: subject, bars, end, override, and the buttons to change the limit. */
export function BudgetRow({ budget, onChange, onRestore }: BudgetRowProps) {
  const mayWrite = useMay()('budgets.write')
  const { name, scope, window, limit, override, resets_at: resetsAt, on_exceeded: onExceeded, timezone } = budget
  const { text, title } = subjectOf(budget)
  return (
    <article className={styles.budget} aria-label={`${name}, ${text}`.slice(0, 200)}>
      <header className={styles.head}>
        <h2 className={styles.name}>{name}</h2>
        <span className={styles.subject} title={title}>
          {text}
        </span>
        <span className={styles.facts}>
          {scopeLabels[scope]}
          {window && `, each ${window}`} · {onExceeded === 'pause' ? 'pauses' : 'stops'} when it is used up
        </span>
      </header>
      {amountParts.map((part) => limit[part] !== undefined && <AmountBar key={part} budget={budget} part={part} />)}
      <footer className={styles.foot}>
        <span className={styles.facts}>
          {resetsAt ? (
            <>
              Whole again <ResetTime at={resetsAt} timezone={timezone} />
            </>
          ) : (
            `Lasts as long as the ${scope}`
          )}
          {override && (
            <>
              {' '}
              · <b>limit changed</b> to {formatAmounts(override.limit)} by {override.by.slice(0, 100)}, until{' '}
              <Timestamp at={override.until} isExact />
            </>
          )}
        </span>
        {mayWrite && override && (
          <Button size="compact-sm" variant="default" onClick={onRestore} aria-label={`Restore limit of ${name}, ${text}`.slice(0, 200)}>
            Restore
          </Button>
        )}
        {mayWrite && (
          <Button size="compact-sm" variant="default" onClick={onChange} aria-label={`Change limit of ${name}, ${text}`.slice(0, 200)}>
            Change limit
          </Button>
        )}
      </footer>
    </article>
  )
}
