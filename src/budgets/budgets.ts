import { type BudgetSpent, metered, meteredEmbedder } from '../agent/meter.ts'
import type { AgentParts } from '../configuration/agent.ts'
import { accountsOf, runSubjectOf } from './accounts.ts'
import type { Account, AccountState, Amount, BudgetStore, HeldAhead, Payer, Reservation, Settlement } from './budget.ts'
import { inputTokens, mostOf } from './estimate.ts'
import { type BudgetFigures, KnownWindows } from './known-windows.ts'
import { type Held, leastOutput, Meter, type MeterDeps, StoreClock } from './meter.ts'
import { canPay, refuse } from './refusal.ts'
import { reachState } from '../states.ts'

/** The agent whose budgets and prices apply. */
type Priced = Pick<AgentParts, 'config' | 'findPrices' | 'model'>

/** The models of work beside runs. */
type Helpers = Pick<AgentParts, 'small' | 'embedder'>

/** The budgets of the service. Call none of these for an agent without `budgets`. */
export interface Budgets {
  /**
   * The meter of a run under a fence. Work outside of runs has the fence 0, and each attempt is settled alone. `held`: the amount that
   * the begin of the run has held for the first call.
   */
  open(payer: Payer & { fence: number }, agent: Priced, held?: HeldAhead): Meter
  /** The windows that pay for a run that the process does not execute, as the database has them now, for a reader of the run. */
  look(payer: Payer, agent: Priced): Promise<Pick<Meter, 'remaining'>>
  /** Why a new run may not begin: a budget cannot pay a short answer to `question`. A promise where the database has to be asked. */
  refusalOf(payer: Payer, agent: Priced, question: string): Promise<BudgetSpent | undefined> | undefined
  /**
   * What the begin of a new run may hold for the first model call: as much as the first calls of earlier runs have held. Undefined where that
   * would be a large part of what is left, or is not known: then the call itself holds what is needed.
   */
  reserveAhead(payer: Payer, agent: Priced): Reservation | undefined
  /** Removes what budgets of runs have counted for a run that is not stored. Its cost stays in all other budgets. */
  forget(run: Required<Pick<Payer, 'tenant' | 'owner' | 'requestId'>>): Promise<void>
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

export interface BudgetsOptions extends Pick<MeterDeps, 'holder' | 'newId' | 'adminTenant'> {
  store: BudgetStore
  now(): number
  /** Called when a warning could not be stored; the next call of the window tries again. */
  onFault(error: unknown): void
}

/** Most names in the counts: a configuration has at most 20, and may change without end. */
const maxNames = 200

/** A question that is a little longer than the newest ones is paid for too. */
const margin = 1.25
/** The part of a difference by which the amount of first calls becomes smaller, with each smaller call. */
const forgetting = 1 / 16

export function createBudgets({ store, now, onFault, ...deps }: BudgetsOptions): MeasuredBudgets {
  const clock = new StoreClock(now)
  const known = new KnownWindows(now)
  const refusals = new Map<string, number>()
  const settle = createRetriedSettle(store, onFault)
  /** The most that the first model call of a run may cost, nearly the largest of the newest runs, by configuration. */
  const firstCalls = new WeakMap<Priced['config'], Amount>()

  function keep({ tenant }: Payer, accounts: readonly Account[], states: readonly AccountState[]): void {
    known.keep(tenant, accounts, states)
    for (const [index, state] of states.entries()) {
      const account = accounts[index]!
      // Warnings are stored beside the call, without a wait.
      if (isWarningDue(account, state)) store.warn(tenant, { account, state, at: clock.now() }).catch(onFault)
    }
  }

  function open(payer: Payer & { fence: number }, agent: Priced, held?: HeldAhead): Meter {
    const { tenant } = payer
    if (held) keep(payer, held.reservation.accounts, held.states)
    const kept = {
      keep: (accounts: readonly Account[], states: readonly AccountState[]) => keep(payer, accounts, states),
      keepCost: (one: Held, cost: Amount) => known.keepCost(tenant, one, cost),
      find: (account: Account) => known.find(tenant, account),
      settle: (one: Settlement) => void settle(tenant, one),
      learn: (amount: Amount) => firstCalls.set(agent.config, grow(firstCalls.get(agent.config), amount)),
      onRefused,
    }
    return new Meter(payer, planOf(agent), { ...deps, store, clock, ...kept }, held?.reservation)
  }

  function onRefused(budget: string): void {
    const name = refusals.has(budget) || refusals.size < maxNames ? budget : 'other'
    refusals.set(name, (refusals.get(name) ?? 0) + 1)
  }

  /** The answer of the database to a new run. */
  async function ask(payer: Payer, accounts: readonly Account[], least: Amount): Promise<BudgetSpent | undefined> {
    const states = await store.look(payer.tenant, accounts)
    keep(payer, accounts, states)
    const index = states.findIndex((state) => !canPay(state, least))
    if (index === -1) return undefined
    onRefused(accounts[index]!.budget)
    reachState('budget-refused-run')
    return refuse(accounts[index]!, states[index]!, least, clock.now())
  }

  return {
    open,

    async look(payer, { config, findPrices, model }) {
      const { budgets = [] } = config
      // The roles of a caller are not stored behind the end of a run.
      const certain = payer.roles ? budgets : budgets.filter(({ match }) => !match?.roles)
      const accounts = accountsOf(certain, payer, clock.now())
      if (accounts.length > 0) known.keep(payer.tenant, accounts, await store.look(payer.tenant, accounts))
      return open({ ...payer, fence: 0 }, { config: { ...config, budgets: certain }, findPrices, model })
    },

    forget: (run) => store.forget(run.tenant, runSubjectOf(run)),

    modelsFor(payer, agent) {
      const { small, embedder, config } = agent
      if (!config.budgets) return { small, embedder }
      const meter = open({ ...payer, fence: 0 }, agent)
      return { small: small && metered(small, meter), embedder: embedder && meteredEmbedder(embedder, meter) }
    },

    refusalOf(payer, agent, question) {
      const accounts = accountsOf(agent.config.budgets ?? [], payer, clock.now())
      const { config, model, findPrices } = agent
      // At least the question and the system prompt are sent; tools, memories and earlier turns come on top, and are known to the first call.
      const request = { system: config.instructions, messages: [{ role: 'user' as const, text: question }], tools: [] }
      const least = mostOf(inputTokens(request), leastOutput, findPrices(model.name))
      return accounts.every((account) => known.isAmple(payer.tenant, account, least)) ? undefined : ask(payer, accounts, least)
    },

    reserveAhead(payer, { config }) {
      const { budgets = [] } = config
      const most = firstCalls.get(config)
      // The session of a new run is not known yet.
      if (!most || budgets.some(({ scope }) => scope === 'session')) return undefined
      const amount = { nanoUsd: Math.ceil(most.nanoUsd * margin), tokens: Math.ceil(most.tokens * margin) }
      const createdAt = clock.now()
      const accounts = accountsOf(budgets, payer, createdAt)
      const { tenant, owner = '', requestId = '' } = payer
      const isSmall = accounts.length > 0 && accounts.every((account) => known.hasManyTimes(tenant, account, amount))
      if (!isSmall) return undefined
      return { id: deps.newId(), tenant, owner, requestId, fence: 1, holder: deps.holder, accounts, amount, createdAt }
    },

    figures: (names) => known.figures(names, clock.now()),

    refusals,
  }
}

/** Settles each reservation alone. The next settlement of the tenant repeats a settlement that failed without a database. */
function createRetriedSettle({ settle }: Pick<BudgetStore, 'settle'>, onFault: BudgetsOptions['onFault']) {
  const unpaid = new Map<string, Settlement[]>()
  return async (tenant: string, settlement: Settlement): Promise<void> => {
    const due = [...(unpaid.get(tenant) ?? []), settlement]
    unpaid.delete(tenant)
    try {
      await settle(tenant, due)
    } catch (error) {
      unpaid.set(tenant, [...(unpaid.get(tenant) ?? []), ...due])
      reachState('budget-unpaid')
      onFault(error)
    }
  }
}

/** The larger of both, in each part, or a little less than before. */
function grow(before: Amount | undefined, amount: Amount): Amount {
  if (!before) return amount
  const next = (old: number, newest: number) => (newest >= old ? newest : Math.ceil(old - (old - newest) * forgetting))
  return { nanoUsd: next(before.nanoUsd, amount.nanoUsd), tokens: next(before.tokens, amount.tokens) }
}

function isWarningDue({ warnAt }: Account, { limit, spent, reserved, isWarned }: AccountState): boolean {
  if (warnAt === undefined || isWarned) return false
  const { nanoUsd = Infinity, tokens = Infinity } = limit
  return spent.nanoUsd + reserved.nanoUsd >= nanoUsd * warnAt || spent.tokens + reserved.tokens >= tokens * warnAt
}

function planOf({ config, findPrices }: Priced) {
  return { budgets: config.budgets ?? [], findPrices, reserveOutputTokens: config.limits.reserve_output_tokens }
}
