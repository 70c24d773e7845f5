import type { BudgetSpent } from '../agent/meter.ts'
import type { AgentParts } from '../configuration/agent.ts'
import { accountsOf } from './accounts.ts'
import type { Account, AccountState, BudgetStore, Payer } from './budget.ts'
import { mostOf } from './estimate.ts'
import { leastOutput, Meter, type MeterDeps, StoreClock } from './meter.ts'
import { canPay, leftIn, refuse } from './refusal.ts'

/** The agent whose budgets and prices apply. */
type Priced = Pick<AgentParts, 'config' | 'findPrices' | 'model'>

/** The budgets of the service. Call none of these for an agent without `budgets`. */
export interface Budgets {
  /** The meter of a run under a fence, or of a job, which has the fence 0. */
  open(payer: Payer & { fence: number }, agent: Priced): Meter
  /** Why a new run may not begin: a budget cannot pay a short answer to `question`. */
  refusalOf(payer: Payer, agent: Priced, question: string): Promise<BudgetSpent | undefined>
  /** Settles what a job did cost. */
  settle(payer: Payer, meter: Meter): Promise<void>
}

export interface BudgetsOptions extends Omit<MeterDeps, 'clock' | 'store' | 'keep'> {
  store: BudgetStore
  now(): number
}

/** Milliseconds for which a state from an answer of the database serves to admit a run. */
const freshMs = 1000
/** States of windows that are kept in memory. */
const maxKnown = 10_000

/** A window with so much of its limit left admits a run without a question to the database: the run's first call asks anyhow. */
const ampleShare = 0.1

export function createBudgets({ store, now, ...deps }: BudgetsOptions): Budgets {
  const clock = new StoreClock(now)
  const known = new Map<string, { state: AccountState; at: number }>()

  function keep({ tenant }: Payer, states: readonly AccountState[]): void {
    const at = now()
    for (const state of states) known.set(nameOf(tenant, state.key), { state, at })
    for (const name of known.keys()) {
      if (known.size <= maxKnown) break
      known.delete(name)
    }
  }

  function isAmple(tenant: string, account: Account): boolean {
    const entry = known.get(nameOf(tenant, account))
    if (!entry || entry.at < now() - freshMs) return false
    const { state } = entry
    const left = leftIn(state)
    return (['nanoUsd', 'tokens'] as const).every((part) => (left[part] ?? Infinity) > (state.limit[part] ?? 0) * ampleShare)
  }

  return {
    open: (payer, agent) => new Meter(payer, planOf(agent), { ...deps, store, clock, keep: (states) => keep(payer, states) }),

    async refusalOf(payer, agent, question) {
      const accounts = accountsOf(agent.config.budgets ?? [], payer, clock.now())
      if (accounts.every((account) => isAmple(payer.tenant, account))) return undefined
      const states = await store.look(payer.tenant, accounts)
      keep(payer, states)
      const least = mostOf(Math.ceil(Buffer.byteLength(question) / 2), leastOutput, agent.findPrices(agent.model.name))
      const index = states.findIndex((state) => !canPay(state, least))
      return index === -1 ? undefined : refuse(accounts[index]!, states[index]!, least, clock.now())
    },

    async settle({ tenant }, { unsettled }) {
      if (unsettled.length > 0) await store.settle(tenant, unsettled.splice(0))
    },
  }
}

function nameOf(tenant: string, { budget, subject, windowStart }: Pick<Account, 'budget' | 'subject' | 'windowStart'>): string {
  return JSON.stringify([tenant, budget, subject, windowStart])
}

function planOf({ config, findPrices }: Priced) {
  return { budgets: config.budgets ?? [], findPrices, reserveOutputTokens: config.limits.reserve_output_tokens }
}
