import { nanoPerUsd } from './accounts.ts'
import type { Account, AccountState, Amount, Limit } from './budget.ts'
import type { Held } from './meter.ts'
import { canPay, leftIn } from './refusal.ts'

/** Milliseconds for which a state from an answer of the database serves to admit a run. */
const freshMs = 1000
/** States of windows that are kept in memory. */
const maxKnown = 10_000
/** A window with so much of its limit left admits a run without a question to the database: the run's first call asks anyhow. */
const ampleShare = 0.1
/** The largest part of the rest of a limit that the begin of a run holds, so that runs that begin together leave enough to each run. */
const aheadShare = 0.05

const units = ['nanoUsd', 'tokens'] as const

/** Spent and reserved amounts in the current windows of a budget, in one unit. */
export interface BudgetFigures extends Record<'spent' | 'reserved', number> {
  budget: string
  unit: 'USD' | 'tokens'
}

interface KnownWindow {
  account: Account
  /** An answer of the database, by which runs are admitted. */
  state: AccountState
  /** The answer with the costs of later attempts. */
  latest: AccountState
  /** Epoch milliseconds of the answer of the database. */
  at: number
}

/** The newest states of windows, as answers of the database have shown them to this process. */
export class KnownWindows {
  private readonly windows = new Map<string, KnownWindow>()
  private readonly now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  keep(tenant: string, accounts: readonly Account[], states: readonly AccountState[]): void {
    const at = this.now()
    for (const [index, state] of states.entries()) {
      const account = accounts[index]!
      this.windows.set(nameOf(tenant, account), { account, state, latest: state, at })
    }
    for (const name of this.windows.keys()) {
      if (this.windows.size <= maxKnown) break
      this.windows.delete(name)
    }
  }

  /** Replaces what is held for an attempt by its cost. */
  keepCost(tenant: string, { accounts, amount }: Pick<Held, 'accounts' | 'amount'>, cost: Amount): void {
    for (const account of accounts) {
      const entry = this.windows.get(nameOf(tenant, account))
      if (!entry) continue
      const { spent, reserved } = entry.latest
      entry.latest = {
        ...entry.latest,
        spent: { nanoUsd: spent.nanoUsd + cost.nanoUsd, tokens: spent.tokens + cost.tokens },
        reserved: { nanoUsd: reserved.nanoUsd - amount.nanoUsd, tokens: reserved.tokens - amount.tokens },
      }
    }
  }

  find(tenant: string, account: Account): AccountState | undefined {
    return this.windows.get(nameOf(tenant, account))?.latest
  }

  /** True where a new run is admitted without a question to the database. Nobody has entered the window of a new run. */
  isAmple(tenant: string, account: Account, least: Amount): boolean {
    const entry = this.windows.get(nameOf(tenant, account))
    if (!entry || entry.at < this.now() - freshMs) return false
    const { state } = entry
    const left = leftIn(state)
    return canPay(state, least) && units.every((unit) => (left[unit] ?? Infinity) > (state.limit[unit] ?? 0) * ampleShare)
  }

  /** True where an amount is a small part of what is left. The window of a new run is whole. */
  hasManyTimes(tenant: string, account: Account, amount: Amount): boolean {
    const entry = this.windows.get(nameOf(tenant, account))
    const left: Limit | undefined = entry ? leftIn(entry.state) : account.scope === 'run' ? account.limit : undefined
    return left !== undefined && units.every((unit) => amount[unit] <= (left[unit] ?? Infinity) * aheadShare)
  }

  /** The windows of the time `at`, summed over callers, sessions and runs. */
  figures(names: readonly string[], at: number): BudgetFigures[] {
    const current = [...this.windows.values()].filter(
      ({ account: { budget, resetsAt = Infinity } }) => at < resetsAt && names.includes(budget),
    )
    return [...Map.groupBy(current, ({ account }) => account.budget)].flatMap(([budget, windows]) => toFigures(budget, windows))
  }
}

function toFigures(budget: string, windows: readonly KnownWindow[]): BudgetFigures[] {
  const sum = (part: 'spent' | 'reserved', unit: keyof Amount) => windows.reduce((total, { latest }) => total + latest[part][unit], 0)
  const has = (unit: keyof Amount) => windows.some(({ state }) => state.limit[unit] !== undefined)
  const usd = {
    budget,
    unit: 'USD' as const,
    spent: sum('spent', 'nanoUsd') / nanoPerUsd,
    reserved: sum('reserved', 'nanoUsd') / nanoPerUsd,
  }
  const tokens = { budget, unit: 'tokens' as const, spent: sum('spent', 'tokens'), reserved: sum('reserved', 'tokens') }
  return [...(has('nanoUsd') ? [usd] : []), ...(has('tokens') ? [tokens] : [])]
}

/** Budgets have names without spaces, and the length tells where the name of the tenant ends. */
function nameOf(tenant: string, { budget, subject, windowStart }: Pick<Account, 'budget' | 'subject' | 'windowStart'>): string {
  return `${budget} ${windowStart} ${tenant.length} ${tenant} ${subject}`
}
