import type { Principal } from '../access/permissions.ts'
import { BudgetSpent } from '../agent/meter.ts'
import { nanoPerUsd } from './accounts.ts'
import type { Account, AccountState, Amount, Limit } from './budget.ts'

/** An amount as clients see it; parts that the limit does not have are left out. */
export function toAmountView({ nanoUsd, tokens }: Amount, limit: Limit): { usd?: number; tokens?: number } {
  return { ...(limit.nanoUsd !== undefined && { usd: nanoUsd / nanoPerUsd }), ...(limit.tokens !== undefined && { tokens }) }
}

export function toLimitView({ nanoUsd, tokens }: Limit): { usd?: number; tokens?: number } {
  return { ...(nanoUsd !== undefined && { usd: nanoUsd / nanoPerUsd }), ...(tokens !== undefined && { tokens }) }
}

/** What is left of a window: the limit without what is spent or reserved; a part without a limit is absent. */
export function leftIn({ limit, spent, reserved }: Pick<AccountState, 'limit' | 'spent' | 'reserved'>): Limit {
  return {
    ...(limit.nanoUsd !== undefined && { nanoUsd: limit.nanoUsd - spent.nanoUsd - reserved.nanoUsd }),
    ...(limit.tokens !== undefined && { tokens: limit.tokens - spent.tokens - reserved.tokens }),
  }
}

/** True where a window can pay an amount. */
export function canPay(state: AccountState, { nanoUsd, tokens }: Amount): boolean {
  const left = leftIn(state)
  return (left.nanoUsd ?? Infinity) >= nanoUsd && (left.tokens ?? Infinity) >= tokens
}

/** Amounts of these scopes are the caller's own; what a whole tenant spends is no business of each caller. */
const ownScopes: ReadonlySet<Account['scope']> = new Set(['run', 'session', 'caller'])

/** A caller who asks what is spent. */
export type BudgetReader = Pick<Principal, 'tenant' | 'permissions'>

/** Sums of the tenant are for callers with `observability.read`, sums of the service for those of the administrators' tenant. */
export function mayRead({ tenant, permissions }: BudgetReader, scope: Account['scope'], adminTenant: string): boolean {
  if (ownScopes.has(scope)) return true
  return permissions.has('observability.read') && (scope === 'tenant' || tenant === adminTenant)
}

const decimal = new Intl.NumberFormat('en', { maximumFractionDigits: 9, useGrouping: false })

/** USD without an exponent; nothing is left of a window that is overspent. */
export function toDecimal(nanoUsd: number): string {
  return decimal.format(Math.max(0, nanoUsd) / nanoPerUsd)
}

/** The error where a window cannot pay `needed`. */
export function refuse(account: Account, state: AccountState, needed: Amount, now: number): BudgetSpent {
  const { budget, scope, resetsAt, onExceeded } = account
  const { limit } = state
  const isNever = isAbove(needed, limit) && isAbove(needed, account.limit)
  const resets = resetsAt === undefined || isNever ? undefined : new Date(resetsAt).toISOString()
  const amounts = ownScopes.has(scope) && {
    limit: toLimitView(limit),
    spent: toAmountView(state.spent, limit),
    reserved: toAmountView(state.reserved, limit),
  }
  const details = { budget, scope, ...(account.window && { window: account.window }), ...amounts, ...(resets && { resets_at: resets }) }
  const message = isNever
    ? `Budget ${budget} can never pay for this call, whose shortest answer costs more than the limit.`
    : `Budget ${budget} is used up${resets === undefined ? '' : ` until ${resets}`}.`
  const retryAfter = resetsAt === undefined || isNever ? undefined : Math.max(1, Math.ceil((resetsAt - now) / 1000))
  return new BudgetSpent(message, { budget, onExceeded, needed: toAmountView(needed, limit), resetsAt, details }, retryAfter)
}

/** True where no window of the limit pays the amount, however little is spent. */
function isAbove({ nanoUsd, tokens }: Amount, limit: Limit): boolean {
  return nanoUsd > (limit.nanoUsd ?? Infinity) || tokens > (limit.tokens ?? Infinity)
}
