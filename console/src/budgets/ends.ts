const hourMs = 3_600_000

const spans = [
  { value: '1h', label: 'In 1 hour', ms: hourMs },
  { value: '24h', label: 'In 24 hours', ms: 24 * hourMs },
  { value: '7d', label: 'In 7 days', ms: 7 * 24 * hourMs },
] as const

/** Times at which a changed limit may end: the end of the window, and spans that end before. */
export function endsFor(resetsAt: string | null, now: number): { value: string; label: string }[] {
  const last = resetsAt === null ? Infinity : Date.parse(resetsAt)
  const choices = spans.filter(({ ms }) => now + ms < last).map(({ value, label }) => ({ value, label }))
  return resetsAt === null ? choices : [{ value: '', label: 'The end of the window' }, ...choices]
}

/** The time of a choice of `endsFor`, never behind the end of the window. */
export function untilOf(end: string, resetsAt: string | null, now: number): string {
  const ms = spans.find(({ value }) => value === end)?.ms
  const last = resetsAt === null ? Infinity : Date.parse(resetsAt)
  return new Date(ms === undefined ? last : Math.min(now + ms, last)).toISOString()
}
