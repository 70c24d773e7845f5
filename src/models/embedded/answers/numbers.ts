/** Formats numbers for people: separated thousands and only significant decimals. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  if (size !== 0 && (size < 0.001 || size >= 1e15)) return String(value)
  const digits = Number.isInteger(value) ? 0 : size < 1 ? 4 : 2
  const isMoneyLike = digits === 2 && Math.round(value * 100) % 10 === 0 && Math.round(value * 100) % 100 !== 0
  return value.toLocaleString('en-US', { minimumFractionDigits: isMoneyLike && size >= 1000 ? 2 : 0, maximumFractionDigits: digits })
}

/** Formats a textual result such as `3.1068559611866697 mile`: the number is shortened, and the unit stays. */
export function formatResult(text: string): { text: string; isRounded: boolean } {
  const [, digits, rest = ''] = /^(-?\d+(?:\.\d+)?)(\s.*)?$/.exec(text.trim()) ?? []
  if (digits === undefined) return { text, isRounded: false }
  const [whole = '', fraction = ''] = digits.split('.')
  if (whole.length > 15) return { text, isRounded: false }
  const isRounded = fraction.length > 6
  const value = Number(digits)
  const shortText = value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) < 0.001 ? 12 : isRounded ? 6 : fraction.length })
  const unit =
    value !== 1 && /^ [a-z]{4,}$/.test(rest) && !rest.endsWith('s') ? pluralOf(rest) : rest.replace(' degC', ' °C').replace(' degF', ' °F')
  return { text: shortText + unit, isRounded }
}

function pluralOf(unit: string): string {
  return unit === ' foot' ? ' feet' : unit === ' inch' ? ' inches' : `${unit}s`
}
