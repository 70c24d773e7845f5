import { isAdmin, type Principal } from '../access/permissions.ts'
import type { Acting } from '../audit/acts.ts'
import { type Budget, type BudgetScope, type BudgetWindow, maxBudgetTokens, maxUsd } from '../configuration/budget-schema.ts'
import { invalid, ServiceError } from '../errors.ts'
import { isFor, nanoPerUsd, toAccount } from './accounts.ts'
import { type Account, type AccountState, type BudgetStore, type Limit, type Override } from './budget.ts'
import { toLimitView } from './refusal.ts'

/** What replaces the override of a window, by its state and the time of the database; undefined: none. Throws where the caller may not. */
export type OverrideChange = (state: AccountState, now: number) => Override | undefined

/** The actor of a change of an override, for the ledger. */
export interface ActedOverride {
  acting: Acting
  /** The subject of the limit, as callers name the subject. */
  subject: string
}

/** Port: the windows of budgets, and their overrides. */
export interface OverrideStore extends Pick<BudgetStore, 'look'> {
  /** Epoch milliseconds of the database. */
  now(): Promise<number>
  /** Changes the override of a window in one transaction, also of a window without a row. */
  override(tenant: string, account: Account, change: OverrideChange, acted?: ActedOverride): Promise<AccountState>
}

export type OverrideCaller = Pick<Principal, 'tenant' | 'sub' | 'roles'>

/** The overrides that a caller may set, for a caller who has `budgets.write`. */
export interface OverrideRules {
  /** Throws `forbidden` where the caller may not change limits of the scope. */
  assertMayChange(caller: OverrideCaller, scope: BudgetScope): void
  /** A limit until a time, in place of that of agent.yaml. Changing throws `above_tenant_budget`, and validation errors of the body. */
  replace(caller: OverrideCaller, account: Account, override: Pick<Override, 'limit' | 'until'>): Promise<OverrideChange>
  /** More than the limit in force, until the window ends. Throws `forbidden`; changing throws `above_tenant_budget`. */
  raise(caller: OverrideCaller, account: Account, more: Limit): Promise<OverrideChange>
}

interface OverrideOptions {
  store: Pick<OverrideStore, 'look' | 'now'>
  /** The budgets of the current configuration. */
  budgets(): readonly Budget[]
  adminTenant: string
}

const parts = ['nanoUsd', 'tokens'] as const
const nameOf = { nanoUsd: 'usd', tokens: 'tokens' } as const

/** The end of an override of a run or session, whose window has none. */
const endOfTime = Date.UTC(9999, 11, 31)

export function createOverrideRules({ store, budgets, adminTenant }: OverrideOptions): OverrideRules {
  function assertMayChange({ tenant, roles }: OverrideCaller, scope: BudgetScope): void {
    const isService = scope === 'tenant' || scope === 'service'
    if (isService ? tenant === adminTenant : isAdmin({ roles })) return
    const who = isService ? `only a key of the tenant ${adminTenant}` : 'only a key with the role admin'
    throw new ServiceError('forbidden', `RBAC: access denied: ${who} may change a limit of the scope ${scope}.`)
  }

  /** The limits of the tenant, in force now, that no caller may exceed in this account. */
  async function ceilingsOf(tenant: string, { budget: name, scope }: Account): Promise<AccountState[]> {
    const budget = budgets().find((candidate) => candidate.name === name)
    if (scope !== 'caller' || !budget) return []
    const above = budgets().filter((other) => other.scope === 'tenant' && isFor(other, { tenant }) && covers(other, budget))
    if (above.length === 0) return []
    const now = await store.now()
    return store.look(
      tenant,
      above.map((other) => toAccount(other, tenant, now)),
    )
  }

  async function checked(caller: OverrideCaller, account: Account, change: OverrideChange): Promise<OverrideChange> {
    assertMayChange(caller, account.scope)
    const ceilings = await ceilingsOf(caller.tenant, account)
    return (state, now) => {
      const override = change(state, now)
      for (const ceiling of ceilings) if (override) assertBelow(override.limit, ceiling)
      return override
    }
  }

  return {
    assertMayChange,
    replace: (caller, account, { limit, until }) =>
      checked(caller, account, (_state, now) => {
        assertParts(account, limit)
        assertTime(account, until, now)
        return { limit, until, by: caller.sub }
      }),
    raise: (caller, account, more) =>
      checked(caller, account, ({ limit, override }) => {
        assertParts(account, more)
        assertRaisable(account, limit, more)
        const raised = parts.flatMap((part) => (more[part] === undefined ? [] : [[part, (limit[part] ?? 0) + more[part]] as const]))
        return { limit: { ...override?.limit, ...Object.fromEntries(raised) }, until: account.resetsAt ?? endOfTime, by: caller.sub }
      }),
  }
}

const lengths: Record<BudgetWindow, number> = { hour: 1, day: 2, week: 3, month: 4 }

/** True where the budget of a tenant counts all that the budget of a caller counts, in windows that are no shorter. */
function covers(tenant: Budget, caller: Budget): boolean {
  const isNoShorter = tenant.window !== undefined && caller.window !== undefined && lengths[tenant.window] >= lengths[caller.window]
  return isNoShorter && includes(tenant.match?.operations, caller.match?.operations) && includes(tenant.match?.roles, caller.match?.roles)
}

function includes(all: readonly string[] | undefined, some: readonly string[] | undefined): boolean {
  return all === undefined || (some?.every((name) => all.includes(name)) ?? false)
}

function assertBelow(limit: Limit, { key, limit: ceiling }: AccountState): void {
  if (parts.every((part) => (limit[part] ?? 0) <= (ceiling[part] ?? Infinity))) return
  const amounts = Object.entries(toLimitView(ceiling)).map(([part, amount]) => `${amount} ${part}`)
  throw new ServiceError(
    'above_tenant_budget',
    `A caller may not have more than budget ${key.budget} of the tenant: ${amounts.join(', ')}.`,
  )
}

/** A budget without prices cannot count USD, so an override has no part that agent.yaml does not have. */
function assertParts({ budget, limit }: Account, override: Limit): void {
  for (const part of parts) {
    if (override[part] === undefined || limit[part] !== undefined) continue
    throw invalid(['body', 'limit', nameOf[part]], `budget ${budget} has no limit of ${nameOf[part]}`)
  }
}

/** The highest limits of agent.yaml. */
const highest = { nanoUsd: maxUsd * nanoPerUsd, tokens: maxBudgetTokens }

function assertRaisable({ budget }: Account, limit: Limit, more: Limit): void {
  for (const part of parts) {
    if ((limit[part] ?? 0) + (more[part] ?? 0) <= highest[part]) continue
    const most = part === 'nanoUsd' ? maxUsd : maxBudgetTokens
    throw invalid(['body', 'limit', nameOf[part]], `raises the limit of budget ${budget} above ${most} ${nameOf[part]}`)
  }
}

function assertTime({ resetsAt = endOfTime }: Account, until: number, now: number): void {
  if (until <= now) throw invalid(['body', 'until'], 'must be in the future')
  if (until > resetsAt) throw invalid(['body', 'until'], `must be at most the end of the window, ${new Date(resetsAt).toISOString()}`)
}
