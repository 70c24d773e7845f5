import { type BudgetSpent, metered, meteredEmbedder } from '../agent/meter.ts'
import type { AgentParts } from '../configuration/agent.ts'
import { accountsOf, nanoPerUsd } from './accounts.ts'
import type { Account, AccountState, Amount, BudgetStore, Payer, Settlement } from './budget.ts'
import { inputTokens, mostOf } from './estimate.ts'
import { type Held, leastOutput, Meter, type MeterDeps, StoreClock } from './meter.ts'
import { canPay, leftIn, refuse } from './refusal.ts'
import { reachState } from '../states.ts'

/** The agent whose budgets and prices apply. */
type Priced = Pick<AgentParts, 'config' | 'findPrices' | 'model'>

/** The models of work beside runs. */
type Helpers = Pick<AgentParts, 'small' | 'embedder'>

/** The budgets of the service. Call none of these for an agent without `budgets`. */
export interface Budgets {
  /** The meter of a run under a fence; of work outside of runs with the fence 0, whose attempts are settled one by one. */
  open(payer: Payer & { fence: number }, agent: Priced): Meter
  /** Why a new run may not begin: a budget cannot pay a short answer to `question`. */
  refusalOf(payer: Payer, agent: Priced, question: string): Promise<BudgetSpent | undefined>
  /** The models of an agent for work outside of runs, whose calls `payer` pays for. May be called for an agent without `budgets`. */
  modelsFor(payer: Payer, agent: Priced & Helpers): Helpers
}

/** Budgets with figures for metrics. */
export interface MeasuredBudgets extends Budgets {
  /** The known windows of the process, summed over callers, sessions and runs. */
  figures(names: readonly string[]): BudgetFigures[]
  /** Refused model calls and runs of the process, by budget. */
  readonly refusals: ReadonlyMap<string, number>
}

export interface BudgetsOptions extends Omit<MeterDeps, 'clock' | 'store' | 'keep' | 'keepCost' | 'find' | 'settle' | 'onRefused'> {
  store: BudgetStore
  now(): number
  /** Called when a warning could not be stored; the next call of the window tries again. */
  onFault(error: unknown): void
}

/** Spent and reserved amounts in the current windows of a budget, in one unit. */
export interface BudgetFigures extends Record<'spent' | 'reserved', number> {
  budget: string
  unit: 'USD' | 'tokens'
}

/** Milliseconds for which a state from an answer of the database serves to admit a run. */
const freshMs = 1000
/** States of windows that are kept in memory. */
const maxKnown = 10_000

/** Most names in the counts: a configuration has at most 20, and may change without end. */
const maxNames = 200

/** A window with so much of its limit left admits a run without a question to the database: the run's first call asks anyhow. */
const ampleShare = 0.1

export function createBudgets({ store, now, onFault, ...deps }: BudgetsOptions): MeasuredBudgets {
  const clock = new StoreClock(now)
  const known = new Map<string, KnownWindow>()
  const refusals = new Map<string, number>()
  /** Settlements that failed without a database, by tenant: the next settlement of the tenant repeats these. */
  const unpaid = new Map<string, Settlement[]>()

  function keep({ tenant }: Payer, accounts: readonly Account[], states: readonly AccountState[]): void {
    const at = now()
    for (const [index, state] of states.entries()) {
      const account = accounts[index]!
      known.set(nameOf(tenant, account), { account, state, latest: state, at })
      // Warnings are stored beside the call, without a wait.
      if (isWarningDue(account, state)) store.warn(tenant, { account, state, at: clock.now() }).catch(onFault)
    }
    for (const name of known.keys()) {
      if (known.size <= maxKnown) break
      known.delete(name)
    }
  }

  function keepCost(tenant: string, { accounts, amount }: Held, cost: Amount): void {
    for (const account of accounts) {
      const entry = known.get(nameOf(tenant, account))
      if (!entry) continue
      const { spent, reserved } = entry.latest
      entry.latest = {
        ...entry.latest,
        spent: { nanoUsd: spent.nanoUsd + cost.nanoUsd, tokens: spent.tokens + cost.tokens },
        reserved: { nanoUsd: reserved.nanoUsd - amount.nanoUsd, tokens: reserved.tokens - amount.tokens },
      }
    }
  }

  function open(payer: Payer & { fence: number }, agent: Priced): Meter {
    const { tenant } = payer
    const kept = {
      keep: (accounts: readonly Account[], states: readonly AccountState[]) => keep(payer, accounts, states),
      keepCost: (held: Held, cost: Amount) => keepCost(tenant, held, cost),
      find: (account: Account) => known.get(nameOf(tenant, account))?.latest,
      settle: (one: Settlement) => void settle(tenant, one),
      onRefused,
    }
    return new Meter(payer, planOf(agent), { ...deps, store, clock, ...kept })
  }

  async function settle(tenant: string, settlement: Settlement): Promise<void> {
    const due = [...(unpaid.get(tenant) ?? []), settlement]
    unpaid.delete(tenant)
    try {
      await store.settle(tenant, due)
    } catch (error) {
      unpaid.set(tenant, [...(unpaid.get(tenant) ?? []), ...due])
      reachState('budget-unpaid')
      onFault(error)
    }
  }

  function isAmple(tenant: string, account: Account, least: Amount): boolean {
    const entry = known.get(nameOf(tenant, account))
    if (!entry || entry.at < now() - freshMs) return false
    const { state } = entry
    const left = leftIn(state)
    return (
      canPay(state, least) &&
      (['nanoUsd', 'tokens'] as const).every((part) => (left[part] ?? Infinity) > (state.limit[part] ?? 0) * ampleShare)
    )
  }

  function onRefused(budget: string): void {
    const name = refusals.has(budget) || refusals.size < maxNames ? budget : 'other'
    refusals.set(name, (refusals.get(name) ?? 0) + 1)
  }

  return {
    open,

    modelsFor(payer, agent) {
      const { small, embedder, config } = agent
      if (!config.budgets) return { small, embedder }
      const meter = open({ ...payer, fence: 0 }, agent)
      return { small: small && metered(small, meter), embedder: embedder && meteredEmbedder(embedder, meter) }
    },

    async refusalOf(payer, agent, question) {
      const accounts = accountsOf(agent.config.budgets ?? [], payer, clock.now())
      const { config, model, findPrices } = agent
      // At least the question and the system prompt are sent; tools, memories and earlier turns come on top, and are known to the first call.
      const request = { system: config.instructions, messages: [{ role: 'user' as const, text: question }], tools: [] }
      const least = mostOf(inputTokens(request), leastOutput, findPrices(model.name))
      if (accounts.every((account) => isAmple(payer.tenant, account, least))) return undefined
      const states = await store.look(payer.tenant, accounts)
      keep(payer, accounts, states)
      const index = states.findIndex((state) => !canPay(state, least))
      if (index === -1) return undefined
      onRefused(accounts[index]!.budget)
      reachState('budget-refused-run')
      return refuse(accounts[index]!, states[index]!, least, clock.now())
    },

    figures(names) {
      const at = clock.now()
      const current = [...known.values()].filter(({ account: { budget, resetsAt = Infinity } }) => at < resetsAt && names.includes(budget))
      return [...Map.groupBy(current, ({ account }) => account.budget)].flatMap(([budget, windows]) => toFigures(budget, windows))
    },

    refusals,
  }
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

function isWarningDue({ warnAt }: Account, { limit, spent, reserved, isWarned }: AccountState): boolean {
  if (warnAt === undefined || isWarned) return false
  const { nanoUsd = Infinity, tokens = Infinity } = limit
  return spent.nanoUsd + reserved.nanoUsd >= nanoUsd * warnAt || spent.tokens + reserved.tokens >= tokens * warnAt
}

function nameOf(tenant: string, { budget, subject, windowStart }: Pick<Account, 'budget' | 'subject' | 'windowStart'>): string {
  return JSON.stringify([tenant, budget, subject, windowStart])
}

function planOf({ config, findPrices }: Priced) {
  return { budgets: config.budgets ?? [], findPrices, reserveOutputTokens: config.limits.reserve_output_tokens }
}
