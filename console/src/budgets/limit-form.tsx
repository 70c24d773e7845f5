import { Button, Group, Select } from '@mantine/core'
import { useState, type FormEvent } from 'react'
import { messageOf } from '../api/errors.ts'
import { AmountFields } from '../parts/budget/amount-fields.tsx'
import type { Amounts } from '../parts/budget/amounts.ts'
import { endsFor, untilOf } from './ends.ts'
import type { Budget, NewLimit } from './queries.ts'
import { subjectKeyOf, subjectOf } from './scopes.ts'
import styles from './budgets.module.css'

interface LimitFormProps {
  budget: Budget
  onSubmit: (limit: NewLimit) => void
  onCancel: () => void
  isPending: boolean
  error: Error | null
}

/** The fields of a limit: amounts, and until when they apply. The input stays after a refusal of the service. */
export function LimitForm({ budget, onSubmit, onCancel, isPending, error }: LimitFormProps) {
  const { limit: before, resets_at: resetsAt } = budget
  const ends = endsFor(resetsAt, Date.now())
  const [limit, setLimit] = useState<Amounts>(before)
  const [end, setEnd] = useState(ends[0]!.value)
  const isComplete = Object.keys(before).every((part) => limit[part as keyof Amounts] !== undefined)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isComplete && !isPending) onSubmit({ subject: subjectKeyOf(budget), limit, until: untilOf(end, resetsAt, Date.now()) })
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      <p className={styles.facts}>For {subjectOf(budget).text.slice(0, 200)}. Afterwards the limit of agent.yaml applies again.</p>
      <AmountFields parts={before} value={limit} onChange={setLimit} labels={{ usd: 'Limit in USD', tokens: 'Limit in tokens' }} />
      <Select label="Until" data={ends} value={end} onChange={(value) => setEnd(value ?? end)} allowDeselect={false} />
      {error && (
        <p role="alert" className={styles.error}>
          {messageOf(error)}
        </p>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isPending} disabled={!isComplete}>
          Change limit
        </Button>
      </Group>
    </form>
  )
}
