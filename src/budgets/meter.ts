import type { BudgetSpent } from '../agent/meter.ts'
import type {
  Model,
  ModelError,
  ModelMeter,
  ModelReply,
  ModelRequest,
  ModelUsage,
  PaidAmount,
  PaidAttempt,
  PaidTexts,
} from '../agent/model.ts'
import type { Budget } from '../configuration/budget-schema.ts'
import type { FindPrices } from '../configuration/model-schema.ts'
import { accountsOf, nanoPerUsd } from './accounts.ts'
import type { Account, AccountState, Amount, BudgetStore, Limit, Payer, Reservation, Settlement } from './budget.ts'
import { amountOf, inputTokens, keepCount, mostOf, outputWithin, textTokens } from './estimate.ts'
import { type BudgetReader, canPay, leftIn, mayRead, refuse, toDecimal } from './refusal.ts'
import { reachState } from '../states.ts'

/** A shorter answer is not worth its input. */
export const leastOutput = 256

/** The longest answer that a caller may wish for, unless agent.yaml has a longer answer: a single call must not hold the whole budget. */
const mostOutput = 131_072

/** Attempts to hold an amount while other calls take what was left. */
const maxTries = 4

/** What calls are paid by: the budgets and prices of the configuration in force when the run began. */
export interface MeterPlan {
  budgets: readonly Budget[]
  findPrices: FindPrices
  /** The length of an answer where neither the request nor the model states one. */
  reserveOutputTokens: number
}

export interface MeterDeps {
  store: Pick<BudgetStore, 'reserve' | 'settle'>
  clock: StoreClock
  /** The id of the process. */
  holder: string
  newId(): string
  /** Receives the states of windows, as each reservation shows them. */
  keep(accounts: readonly Account[], states: readonly AccountState[]): void
  /** Replaces the held amount of an attempt by the cost, in the stored states. */
  keepCost(held: Held, cost: Amount): void
  /** The newest state of a window that was kept. */
  find(account: Account): AccountState | undefined
  /** The tenant of administrators, who may read what the service spends. */
  adminTenant: string
  /** Called when a budget cannot pay for a call. */
  onRefused(budget: string): void
  /** Receives the most that the first model call of a new run may cost. */
  learn(amount: Amount): void
  /** Settles an attempt that no commit of a run settles. Must not throw. */
  settle(settlement: Settlement): void
}

/** What is held for an attempt. */
export type Held = Pick<Reservation, 'id' | 'accounts' | 'amount'>

const noAmount: Amount = { nanoUsd: 0, tokens: 0 }

/** The clock of the database, as far as its answers have shown. */
export class StoreClock {
  private offset = 0
  private readonly local: () => number

  constructor(local: () => number) {
    this.local = local
  }

  now(): number {
    return this.local() + this.offset
  }

  set(now: number): void {
    this.offset = now - this.local()
  }
}

/** Pays for the model calls of a run, or of a job. */
export class Meter implements ModelMeter {
  /** Costs of attempts that no commit has settled; the commit of the turn settles these. */
  unsettled: readonly Settlement[] = []
  /** Set after a person has refused to raise a limit: the run ends as with `stop`, and no further call offers tools. */
  rejected: BudgetSpent | undefined
  private readonly payer: Payer & { fence: number }
  private readonly plan: MeterPlan
  private readonly deps: MeterDeps
  /** What the begin of the run has held for the first model call. */
  private ahead: Held | undefined
  private isNew: boolean

  constructor(payer: Payer & { fence: number }, plan: MeterPlan, deps: MeterDeps, ahead?: Held) {
    this.payer = payer
    this.plan = plan
    this.deps = deps
    this.ahead = ahead
    this.isNew = payer.fence === 1
  }

  async hold(model: Model, request: ModelRequest): Promise<PaidAttempt> {
    if (this.rejected && request.tools.length > 0) throw this.rejected
    const prices = this.plan.findPrices(model.name, model.place)
    const input = inputTokens(request)
    const { maxOutputTokens, reasoningTokens: askedTokens = model.reasoningTokens ?? 0 } = request.options ?? {}
    const configured = model.maxOutputTokens ?? this.plan.reserveOutputTokens
    const longest = Math.max(mostOutput, configured)
    const reasoningTokens = Math.min(longest, model.reasoningBeside?.(request.options) ?? askedTokens)
    const wantedOutput = Math.min(longest, maxOutputTokens ?? configured)
    const least = Math.min(wantedOutput, leastOutput)
    let output = wantedOutput
    const most = () => mostOf(input, output + reasoningTokens, prices)
    let held = this.takeAhead(most)
    if (!held) {
      if (this.ahead) await this.settleNow()
      held = await this.holdAmount({
        most,
        least: mostOf(input, least + reasoningTokens, prices),
        shrink: (left) => {
          output = Math.min(output, outputWithin(left, input, prices) - reasoningTokens)
          return output >= least
        },
      })
    }
    return {
      request: { ...request, options: { ...request.options, maxOutputTokens: output } },
      held: toPaid(held.amount),
      end: ({ reply, error }, received) => {
        if (reply && reply.usage.input > 0) keepCount(request, reply.usage)
        const usage = usageOf({ reply, error, input, output: output + reasoningTokens, received })
        const settlement = { id: held.id, cost: amountOf(usage, prices), held }
        this.deps.keepCost(held, settlement.cost)
        if (this.payer.fence > 0) this.unsettled = [...this.unsettled, settlement]
        else this.deps.settle(settlement)
        return toPaid(settlement.cost)
      },
    }
  }

  /** The reservation of the begin, where the amount is enough for the first call. */
  private takeAhead(most: () => Amount): Held | undefined {
    if (!this.isNew) return undefined
    this.isNew = false
    const amount = most()
    this.deps.learn(amount)
    const { ahead } = this
    if (!ahead || ahead.amount.nanoUsd < amount.nanoUsd || ahead.amount.tokens < amount.tokens) return undefined
    this.ahead = undefined
    return ahead
  }

  /** What the next commit settles. Nothing is held ahead from then on. */
  due(): readonly Settlement[] {
    if (this.ahead) {
      this.deps.keepCost(this.ahead, noAmount)
      this.unsettled = [...this.unsettled, { id: this.ahead.id, cost: noAmount }]
      this.ahead = undefined
    }
    return this.unsettled
  }

  /** Forgets what is settled now. */
  settled(settlements: readonly Settlement[]): void {
    this.unsettled = this.unsettled.filter((settlement) => !settlements.includes(settlement))
  }

  /** Vectors may arrive after the end of their run, so attempts for vectors are settled alone. */
  async holdTexts({ name, place }: Pick<Model, 'name' | 'place'>, texts: readonly string[]): Promise<PaidTexts> {
    const prices = this.plan.findPrices(name, place)
    const amount = amountOf({ input: textTokens(texts), output: 0 }, prices)
    const held = await this.holdAmount({ most: () => amount, least: amount, shrink: () => false })
    return {
      end: (tokens, isFree = false) => {
        const cost = tokens === undefined ? (isFree ? noAmount : amount) : amountOf({ input: tokens, output: 0 }, prices)
        this.deps.keepCost(held, cost)
        this.deps.settle({ id: held.id, cost })
      },
    }
  }

  /** Settles what no commit will settle: the run has gone to another process, or could not be stored. */
  settleRest(): void {
    for (const settlement of this.due()) this.deps.settle(settlement)
    this.unsettled = []
  }

  /** Holds an amount, or a smaller one. */
  private async holdAmount({ most, least, shrink }: Wish): Promise<Held> {
    const { store, clock, holder, newId } = this.deps
    const { tenant, owner = '', requestId = '', fence } = this.payer
    for (let tries = 1; ; tries++) {
      const createdAt = clock.now()
      const accounts = accountsOf(this.plan.budgets, this.payer, createdAt)
      const id = newId()
      const amount = most()
      const reservation = { id, tenant, owner, requestId, fence, holder, accounts, amount, createdAt }
      const reserved = await store.reserve(reservation).catch((error: unknown) => {
        // The answer of the database may be lost after the commit, and the call is not made.
        this.deps.settle({ id, cost: noAmount })
        throw error
      })
      if ('now' in reserved) {
        if (tries >= maxTries) throw new Error('The clock of the database runs away from that of the process.')
        reachState('budget-window-ended')
        clock.set(reserved.now)
        continue
      }
      this.deps.keep(accounts, reserved.states)
      if (reserved.isHeld) return { id, accounts, amount }
      if (this.due().length > 0) {
        reachState('budget-settled-first')
        await this.settleNow()
        continue
      }
      const left = tightest(reserved.states)
      if (tries >= maxTries || !shrink(left)) throw this.refusal(accounts, reserved.states, least)
      reachState('budget-shortened')
    }
  }

  /** What is left of the tightest budgets that the reader may read, as far as the process knows: `usd=1.23, tokens=40000`. */
  remaining(reader: BudgetReader): string | undefined {
    const accounts = accountsOf(this.plan.budgets, this.payer, this.deps.clock.now())
    const readable = accounts.filter(({ scope }) => mayRead(reader, scope, this.deps.adminTenant))
    const { nanoUsd, tokens } = tightest(readable.flatMap((account) => this.deps.find(account) ?? []))
    const parts = [nanoUsd !== undefined && `usd=${toDecimal(nanoUsd)}`, tokens !== undefined && `tokens=${Math.max(0, tokens)}`]
    return parts.filter((part) => part !== false).join(', ') || undefined
  }

  /** Ended attempts hold more than the cost until the next commit of the run settles the attempts. */
  private async settleNow(): Promise<void> {
    const settlements = this.due()
    await this.deps.store.settle(this.payer.tenant, settlements)
    this.settled(settlements)
  }

  private refusal(accounts: readonly Account[], states: readonly AccountState[], least: Amount): BudgetSpent {
    const poor = states.findIndex((state) => !canPay(state, least))
    // Where other calls took what was left between two attempts, the tightest window refuses.
    const index = poor === -1 ? indexOfTightest(states) : poor
    this.deps.onRefused(accounts[index]!.budget)
    reachState('budget-refused-call')
    const account = this.rejected ? { ...accounts[index]!, onExceeded: 'stop' as const } : accounts[index]!
    return refuse(account, states[index]!, least, this.deps.clock.now())
  }
}

function toPaid({ nanoUsd, tokens }: Amount): PaidAmount {
  return { usd: nanoUsd / nanoPerUsd, tokens }
}

interface EndedAttempt {
  reply: ModelReply | undefined
  error: ModelError | undefined
  /** The tokens that were held. */
  input: number
  output: number
  /** Bytes of text that arrived. */
  received: number
}

/** The tokens of an attempt: as the provider counted, else its input and the text that arrived. No request has an input without a token. */
function usageOf({ reply, error, input, output, received }: EndedAttempt): Pick<ModelUsage, 'input' | 'output'> & Partial<ModelUsage> {
  if (reply && reply.usage.input > 0) return reply.usage
  if (!reply && error?.isFree) return { input: 0, output: 0 }
  const calls = reply?.toolCalls.reduce((sum, { name, arguments: text }) => sum + name.length + Buffer.byteLength(text), 0) ?? 0
  const outputTokens = Math.min(output, Math.ceil((received + calls) / 2))
  return { input, output: Math.max(outputTokens, reply?.usage.output ?? 0) }
}

interface Wish {
  /** The amount to hold. */
  most(): Amount
  /** The smallest amount that is of use. */
  least: Amount
  /** Makes `most` fit into what is left; false where that would be of no use. */
  shrink(left: Limit): boolean
}

/** The smallest rest of each part over all windows. */
function tightest(states: readonly AccountState[]): Limit {
  return states.map(leftIn).reduce<Limit>((least, left) => {
    const nanoUsd = smaller(least.nanoUsd, left.nanoUsd)
    const tokens = smaller(least.tokens, left.tokens)
    return { ...(nanoUsd !== undefined && { nanoUsd }), ...(tokens !== undefined && { tokens }) }
  }, {})
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b)
}

function indexOfTightest(states: readonly AccountState[]): number {
  const rests = states.map((state) => leftIn(state)).map(({ nanoUsd = Infinity, tokens = Infinity }) => Math.min(nanoUsd, tokens))
  return rests.indexOf(Math.min(...rests))
}
