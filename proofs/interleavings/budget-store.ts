import type { Account, AccountState, Amount, BudgetStore, Reservation, Reserved, Settlement } from '../../src/budgets/budget.ts'
import type { OverrideChange, OverrideStore } from '../../src/budgets/overrides.ts'
import { canPay } from '../../src/budgets/refusal.ts'
import type { RunKey } from '../../src/runs/run.ts'

/** The clock of the database runs ahead of that of the processes, and shows the end of an hour soon after the start. */
export const clockAheadMs = 2_599_000

/** What of the database decides whether reservations are lost. */
interface Surroundings {
  readonly alive: ReadonlySet<string>
  allRows(): readonly { requestId: string; fence: number; endedAt?: number | undefined }[]
}

/** `BudgetStore` in memory, with sums of its own of what was settled. */
export class SimulatedBudgets implements BudgetStore {
  readonly held = new Map<string, Reservation>()
  /** What is settled: with the cost of the call, and without. */
  readonly settled = { known: 0, estimated: 0 }
  readonly faults: string[] = []
  /** The clock of the database. */
  now: () => number = () => 0
  private readonly windows = new Map<string, AccountState>()
  private readonly store: Surroundings

  constructor(store: Surroundings) {
    this.store = store
  }

  reserve = async (reservation: Reservation): Promise<Reserved> => this.hold(reservation)

  /** Holds an amount, as a part of any transaction. */
  hold(reservation: Reservation): Reserved {
    const { accounts, amount, id } = reservation
    const now = this.now()
    if (accounts.some(({ windowStart, resetsAt = Infinity }) => windowStart > now || now >= resetsAt)) return { isHeld: false, now }
    const windows = accounts.map((account) => this.windowOf(account))
    if (!this.pays(windows, amount)) return { isHeld: false, states: structuredClone(windows) }
    if (this.held.has(id)) this.faults.push(`Reservation ${id} was held twice.`)
    this.held.set(id, reservation)
    for (const window of windows) {
      add(window.reserved, amount)
      this.checkLimit(window)
    }
    return { isHeld: true, states: structuredClone(windows) }
  }

  settle = async (_tenant: string, settlements: readonly Settlement[]): Promise<void> => {
    for (const { id, cost } of settlements) this.close(id, cost)
  }

  look = async (_tenant: string, accounts: readonly Account[]): Promise<AccountState[]> =>
    structuredClone(accounts.map((account) => this.windowOf(account)))

  settleLost = async (): Promise<number> => {
    const lost = [...this.held.values()].filter((reservation) => this.isLost(reservation))
    for (const { id } of lost) this.close(id, undefined)
    return lost.length
  }

  /** No run of the simulation is unstored. */
  forget = async (): Promise<void> => undefined

  warn = async (): Promise<boolean> => false

  /** Changes the limit of a window, as a part of any transaction. */
  override = async (_tenant: string, account: Account, change: OverrideChange): Promise<AccountState> => {
    const window = this.windowOf(account)
    window.override = change(structuredClone(window), this.now())
    return structuredClone(this.windowOf(account))
  }

  /** The port of overrides. */
  readonly overrides: OverrideStore = { look: this.look, override: this.override, now: async () => this.now() }

  /** A process takes the run over. */
  settleEarlier({ requestId }: RunKey, fence: number): void {
    for (const reservation of this.held.values())
      if (reservation.requestId === requestId && reservation.fence < fence) this.close(reservation.id, undefined)
  }

  /** True where every window can pay; tests of the invariants change the answer. */
  protected pays(windows: readonly AccountState[], amount: Amount): boolean {
    return windows.every((window) => canPay(window, amount))
  }

  private isLost({ requestId, fence, holder }: Reservation): boolean {
    const run = this.store.allRows().find((row) => row.requestId === requestId)
    if (run && (run.endedAt !== undefined || run.fence > fence)) return true
    return !run && !this.store.alive.has(holder)
  }

  /** `cost` is undefined where the cost of the call is unknown. */
  private close(id: string, cost: Amount | undefined): void {
    const reservation = this.held.get(id)
    if (!reservation) return
    const { accounts, amount } = reservation
    this.held.delete(id)
    this.settled[cost ? 'known' : 'estimated'] += (cost ?? amount).nanoUsd
    if (cost && (cost.nanoUsd > amount.nanoUsd || cost.tokens > amount.tokens))
      this.faults.push(`A call cost ${JSON.stringify(cost)}, and ${JSON.stringify(amount)} was reserved.`)
    for (const account of accounts) {
      const window = this.windowOf(account)
      add(window.reserved, { nanoUsd: -amount.nanoUsd, tokens: -amount.tokens })
      add(window.spent, cost ?? amount)
      if (!cost) add(window.estimated, amount)
      if (window.reserved.nanoUsd < 0 || window.reserved.tokens < 0)
        this.faults.push(`Budget ${window.key.budget} has ${JSON.stringify(window.reserved)} reserved.`)
    }
  }

  private windowOf({ budget, scope, subject, windowStart, limit }: Account): AccountState {
    const name = JSON.stringify([budget, subject, windowStart])
    const none = () => ({ nanoUsd: 0, tokens: 0 })
    const amounts = { spent: none(), reserved: none(), overrun: none(), estimated: none() }
    const empty = { key: { budget, scope, subject, windowStart }, ...amounts, limit, override: undefined, isWarned: false }
    const window = this.windows.get(name) ?? empty
    this.windows.set(name, window)
    const { override } = window
    window.limit = { ...limit, ...(override && override.until > this.now() && override.limit) }
    return window
  }

  /** A limit may be lowered below what is spent, but then nothing more is held. */
  private checkLimit({ key, spent, reserved, limit }: AccountState): void {
    for (const part of ['nanoUsd', 'tokens'] as const) {
      const committed = spent[part] + reserved[part]
      const most = limit[part] ?? Infinity
      if (committed > most) this.faults.push(`Budget ${key.budget} is committed to ${committed}, with a limit of ${most}.`)
    }
  }
}

function add(sum: Amount, amount: Amount): void {
  sum.nanoUsd += amount.nanoUsd
  sum.tokens += amount.tokens
}
