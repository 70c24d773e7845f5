const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
/** A hundred years. Much later times exceed the range of `Date`. */
const maxSeconds = 36_500 * 86_400

/** Lifetime of keys for which none is chosen. */
export const defaultLifetime = '30d'

/** The rule for a lifetime, after "must be". */
export const lifetimeRule = 'a number and a unit (s, m, h or d), such as 30d, up to 36500d'

/** Parses a lifetime such as `30d` to seconds; undefined for a text that breaks the rule. */
export function parseLifetime(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,12})([smhd])$/.exec(text) ?? []
  const seconds = Number(digits) * (secondsPer[unit ?? ''] ?? Number.NaN)
  return seconds >= 1 && seconds <= maxSeconds ? seconds : undefined
}
