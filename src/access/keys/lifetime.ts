const daySeconds = 86_400
const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: daySeconds }

/** Lifetime of keys for which none is chosen. */
export function defaultLifetime(maxDays: number): string {
  return `${Math.min(30, maxDays)}d`
}

/** The rule for a lifetime, after "must be". */
export function lifetimeRule(maxDays: number): string {
  return `a number and a unit (s, m, h or d), such as 30d, up to ${maxDays}d (KEY_MAX_DAYS)`
}

/** Parses a lifetime such as `30d` to seconds; undefined for a text that breaks the rule. */
export function parseLifetime(text: string, maxDays: number): number | undefined {
  const [, digits, unit] = /^(\d{1,12})([smhd])$/.exec(text) ?? []
  const seconds = Number(digits) * (secondsPer[unit ?? ''] ?? Number.NaN)
  return seconds >= 1 && seconds <= maxDays * daySeconds ? seconds : undefined
}
