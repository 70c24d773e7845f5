import { formatCost } from './format-cost.ts'
import { formatDuration } from './time-format.ts'

const whole = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** A duration in milliseconds, or a dash where there is none. */
export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span>–</span>
  return <span title={`${whole.format(Math.round(ms))} ms`}>{formatDuration(ms)}</span>
}

/** A number of tokens: "12.4K", with the exact number as its title. */
export function Tokens({ count }: { count: number | null | undefined }) {
  if (count === null || count === undefined) return <span>–</span>
  return <span title={`${whole.format(count)} tokens`}>{compact.format(count)}</span>
}

/** Input that a provider read from its prompt cache: "1,200 cached (86 %)"; nothing where there is none. */
export function CachedInput({ cached, input }: { cached: number | null | undefined; input: number | null | undefined }) {
  if (!cached || !input) return null
  return (
    <span title="Read from the prompt cache of the provider">
      <Tokens count={cached} /> cached ({Math.round((cached / input) * 100)} %)
    </span>
  )
}

/** A cost in USD, or a dash where no prices are configured. */
export function Cost({ usd }: { usd: number | null | undefined }) {
  if (usd === null || usd === undefined) return <span>–</span>
  return <span title={`${usd} USD`}>{formatCost(usd)}</span>
}
