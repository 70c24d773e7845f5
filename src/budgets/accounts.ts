import type { Budget } from '../configuration/budget-schema.ts'
import { type Account, type Limit, type Payer, serviceSubject, serviceTenant } from './budget.ts'
import { windowAt } from './windows.ts'

/** Units of 10^-9 USD in a USD. */
export const nanoPerUsd = 1_000_000_000

/**
 * The windows that pay for a call at the time `at` (epoch milliseconds), in the order in which the store locks them. A budget whose subject the
 * payer does not have, such as `session` for a call outside of sessions, does not count the call.
 */
export function accountsOf(budgets: readonly Budget[], payer: Payer, at: number): Account[] {
  const accounts = budgets.flatMap((budget): Account[] => {
    const subject = subjectOf(budget, payer)
    return subject === undefined || !matches(budget, payer) ? [] : [toAccount(budget, subject, at)]
  })
  return accounts.length > 1 ? accounts.sort(byKey) : accounts
}

/** The window of a subject at the time `at`. */
export function toAccount(budget: Budget, subject: string, at: number): Account {
  const window = budget.window && windowAt(budget.window, budget.timezone, at)
  return {
    budget: budget.name,
    scope: budget.scope,
    window: budget.window,
    subject,
    windowStart: window?.start ?? 0,
    resetsAt: window?.end,
    timezone: budget.timezone,
    limit: toLimit(budget.limit),
    warnAt: budget.warn_at,
    onExceeded: budget.on_exceeded,
  }
}

/** All transactions lock windows in this order, so none waits for another that waits for the first. */
export function byKey(a: Account, b: Account): number {
  return compare(a.budget, b.budget) || compare(a.subject, b.subject) || a.windowStart - b.windowStart
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function subjectOf({ scope }: Budget, { tenant, owner, requestId, session }: Payer): string | undefined {
  switch (scope) {
    case 'run':
      return requestId !== undefined && owner !== undefined ? runSubjectOf({ requestId, owner }) : undefined
    case 'session':
      return session
    case 'caller':
      return owner
    case 'tenant':
      return tenant === serviceTenant ? undefined : tenant
    case 'service':
      return serviceSubject
  }
}

/** Request ids are unique among those of their owner. */
export function runSubjectOf({ requestId, owner }: { requestId: string; owner: string }): string {
  return `${requestId} ${owner}`
}

function matches(budget: Budget, payer: Payer): boolean {
  return isFor(budget, payer) && (budget.match?.operations?.includes(payer.operation) ?? true)
}

/**
 * True for a budget that counts calls of these callers, for some operation at least. A call with unknown roles counts, so that
 * missing roles are no way around a limit.
 */
export function isFor({ match = {} }: Budget, { tenant, roles }: Pick<Payer, 'tenant' | 'roles'>): boolean {
  const { tenants, roles: wanted } = match
  return (tenants?.includes(tenant) ?? true) && (wanted === undefined || roles === undefined || roles.some((role) => wanted.includes(role)))
}

/** Limits by the configured ones: each call asks for the same. */
const limits = new WeakMap<object, Limit>()

/** Parts of 10^-9 USD are cut off: a limit is never above what is configured. */
export function toLimit(configured: { usd?: number; tokens?: number }): Limit {
  let limit = limits.get(configured)
  if (!limit) {
    const { usd, tokens } = configured
    limit = {
      ...(usd !== undefined && { nanoUsd: Math.floor(Number((usd * nanoPerUsd).toPrecision(15))) }),
      ...(tokens !== undefined && { tokens }),
    }
    limits.set(configured, limit)
  }
  return limit
}
