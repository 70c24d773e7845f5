import type { AccountState, Amount } from '../../src/budgets/budget.ts'
import type { RunKey } from '../../src/runs/run.ts'
import type { Row } from '../../src/runs/memory-run-rows-fixture.ts'
import type { Delivery, RunActs } from '../../src/runs/run-store.ts'
import { SimulatedBudgets } from './budget-store.ts'
import { SimulatedStore } from './store.ts'

/** Databases with one fault each, which the exploration must find. */

/** Accepts writes of a process that has lost the run. */
export class WithoutFences extends SimulatedStore {
  protected override requireHeld(key: RunKey): Row {
    return this.rowOf(key.requestId)!
  }
}

/** Gives a session to the run that came last. */
export class WithoutOrder extends SimulatedStore {
  protected override handOver(row: Row): ReturnType<SimulatedStore['handOver']> {
    for (const other of this.allRows()) other.place = -other.place
    const next = super.handOver(row)
    for (const other of this.allRows()) other.place = -other.place
    return next
  }
}

/** Forgets that an approved call was started. */
export class WithoutStarts extends SimulatedStore {
  override startApproved = async (key: RunKey, fence: number): Promise<void> => void this.requireHeld(key, fence)
}

/** Records nothing about calls that were cut off. */
export class WithoutUnknownCalls extends SimulatedStore {
  protected override record(key: RunKey, acts?: RunActs): void {
    if (typeof acts !== 'function') super.record(key, acts)
  }
}

/** Never finds the runs of lost processes. */
export class WithoutOrphans extends SimulatedStore {
  override orphans = async () => ({ runs: [], takers: 1 })
}

/** Ends runs without the message of the answer. */
export class WithoutAnswers extends SimulatedStore {
  constructor() {
    super()
    const { finish } = this
    this.finish = async (key, fence, ended) => finish(key, fence, { ...ended, message: undefined })
  }
}

/** Ends runs without the run that answers their undelivered messages. */
export class WithoutContinuations extends SimulatedStore {
  protected override continueWith(): void {}
}

/** Forgets that a message was delivered. */
export class WithoutDeliveries extends SimulatedStore {
  protected override deliver(row: Row, delivery: Delivery): void {
    super.deliver(row, delivery)
    for (const message of this.messages) if (message.rank > 0) message.deliveredAt = undefined
  }
}

/** Loses the end of a cancelled run: answers without storing it. */
export class WithoutCancellations extends SimulatedStore {
  constructor() {
    super()
    const { finish } = this
    this.finish = async (key, fence, ended) => (ended.status === 'cancelled' ? undefined : finish(key, fence, ended))
  }
}

/** Leaves the reservations of a lost process behind. */
class WithoutSettlement extends SimulatedBudgets {
  override settleEarlier(): void {}
  override settleLost = async () => 0
}

/** Looks whether windows can pay, and does not count what other calls hold. */
class WithoutReservations extends SimulatedBudgets {
  protected override pays(windows: readonly AccountState[], amount: Amount): boolean {
    return super.pays(
      windows.map((window) => ({ ...window, reserved: { nanoUsd: 0, tokens: 0 } })),
      amount,
    )
  }
}

export class WithoutBudgetSettlement extends SimulatedStore {
  override budgets = new WithoutSettlement(this)
}

export class WithoutBudgetReservations extends SimulatedStore {
  override budgets = new WithoutReservations(this)
}
