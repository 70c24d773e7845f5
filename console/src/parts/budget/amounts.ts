import { formatCost } from '../format-cost.ts'

/** USD, tokens, or both. */
export interface Amounts {
  usd?: number | undefined
  tokens?: number | undefined
}

export const amountParts = ['usd', 'tokens'] as const

export type AmountPart = (typeof amountParts)[number]

const whole = new Intl.NumberFormat('en')

/** An amount of one part: "$0.0042", "1,200 tokens". */
export function formatPart(part: AmountPart, value: number): string {
  if (part === 'usd') return value < 0 ? `-${formatCost(-value)}` : formatCost(value)
  return value === 1 ? '1 token' : `${whole.format(value)} tokens`
}

/** All parts of an amount: "$0.0042 and 1,200 tokens". */
export function formatAmounts(amounts: Amounts): string {
  return amountParts.flatMap((part) => (amounts[part] === undefined ? [] : [formatPart(part, amounts[part])])).join(' and ')
}

/** Shares of a limit in percent, at most 100 together: `reserved` stands behind `spent`. A limit of 0 is full. */
export function sharesOf(limit: number, spent: number, reserved: number): { spent: number; reserved: number } {
  const share = (value: number) => (limit > 0 ? Math.min(100, (value / limit) * 100) : 100)
  const spentShare = share(spent)
  return { spent: spentShare, reserved: Math.min(limit > 0 ? share(reserved) : 0, 100 - spentShare) }
}
