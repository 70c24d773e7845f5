import { formatPart, sharesOf, type AmountPart } from '../parts/budget/amounts.ts'
import type { Budget } from './queries.ts'
import styles from './budgets.module.css'

/** One part of a limit, USD or tokens: what is spent (solid) and reserved (hatched), in a bar and in words. */
export function AmountBar({ budget, part }: { budget: Budget; part: AmountPart }) {
  const { name, limit, spent, reserved, remaining, overrun } = budget
  const [most = 0, gone = 0, held = 0, rest = 0, over = 0] = [limit[part], spent[part], reserved[part], remaining[part], overrun[part]]
  const shares = sharesOf(most, gone, held)
  const text = `${formatPart(part, gone)} spent, ${formatPart(part, held)} reserved of ${formatPart(part, most)}`
  return (
    <div className={styles.amount}>
      <div
        className={styles.bar}
        role="meter"
        aria-label={`${name}, ${part === 'usd' ? 'USD' : 'tokens'}`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(shares.spent + shares.reserved)}
        aria-valuetext={text}
        data-full={rest <= 0}
      >
        <span className={styles.spent} style={{ width: `${shares.spent}%` }} />
        <span className={styles.reserved} style={{ width: `${shares.reserved}%` }} />
      </div>
      <span className={styles.words}>
        {text}
        {rest > 0 ? `, ${formatPart(part, rest)} left` : <b className={styles.bad}> · used up</b>}
        {over > 0 && <span className={styles.bad}> · {formatPart(part, over)} overrun</span>}
      </span>
    </div>
  )
}
