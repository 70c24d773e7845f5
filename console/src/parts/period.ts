/** Periods of lists and charts, by their name in the address. */
export const periods = {
  '1h': { label: 'Last hour', ms: 3_600_000 },
  '24h': { label: 'Last 24 hours', ms: 86_400_000 },
  '7d': { label: 'Last 7 days', ms: 7 * 86_400_000 },
  '30d': { label: 'Last 30 days', ms: 30 * 86_400_000 },
} as const

export type Period = keyof typeof periods

/** Periods start at a whole minute, so that a list keeps the cache key from one render to the next. */
const roundMs = 60_000

/** Start of a period that ends now, in epoch milliseconds; undefined for an unknown name, which means no bound. */
export function startOf(period: string | undefined, now = Date.now()): number | undefined {
  if (!period || !Object.hasOwn(periods, period)) return undefined
  return Math.floor((now - periods[period as Period].ms) / roundMs) * roundMs
}
