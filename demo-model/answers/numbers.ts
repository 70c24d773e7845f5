/** Formats numbers for people: separated thousands and only significant decimals. */
export function formatNumber(value: number): string {
  const size = Math.abs(value)
  if (!Number.isFinite(value) || (size !== 0 && (size < 0.001 || size >= 1e15))) return String(value)
  const digits = Number.isInteger(value) ? 0 : size < 1 ? 4 : 2
  // 1,234.5 is an amount of money, and has two decimals.
  const isMoneyLike = digits === 2 && size >= 1000 && Math.round(value * 100) % 10 === 0 && Math.round(value * 100) % 100 !== 0
  return value.toLocaleString('en-US', { minimumFractionDigits: isMoneyLike ? 2 : 0, maximumFractionDigits: digits })
}

/** Formats a textual result such as `3.1068559611866697 miles`: the number is shortened, and the unit stays. */
export function formatResult(text: string): { text: string; isRounded: boolean } {
  const [, whole = '', fraction = '', unit = ''] = /^(-?\d+)(?:\.(\d+))?(\s.*)?$/.exec(text.trim()) ?? []
  if (whole === '' || whole.length > 15) return { text, isRounded: false }
  const isRounded = fraction.length > 6
  const value = Number(`${whole}.${fraction}`)
  const digits = Math.abs(value) < 0.001 ? 12 : isRounded ? 6 : fraction.length
  return { text: value.toLocaleString('en-US', { maximumFractionDigits: digits }) + unit, isRounded }
}
