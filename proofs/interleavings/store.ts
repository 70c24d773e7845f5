import type { PendingCall } from '../../src/agent/approval.ts'
import type { DecisionResult, Raise } from '../../src/runs/approvals/approval-store.ts'
import type { Job, JobKind, NewJob } from '../../src/runs/jobs.ts'
import { MemoryRunStore } from '../../src/runs/memory-run-store-fixture.ts'
import type { Row, SessionRow } from '../../src/runs/memory-run-rows-fixture.ts'
import type { TailBatch } from '../../src/runs/ownership/remote/tail.ts'
import type { RunKey } from '../../src/runs/run.ts'
import type { TakenOver, TakeOver, Turn } from '../../src/runs/run-store.ts'
import type { HeldAhead } from '../../src/budgets/budget.ts'
import { reachState } from '../../src/states.ts'
import { SimulatedBudgets } from './budget-store.ts'
import { runKeyText } from '../../src/runs/ownership/run-registry.ts'

/** The one database of a schedule: the run store in memory, with the calls that wait for approval, the job queue and the tails of readers. */
export class SimulatedStore extends MemoryRunStore {
  budgets = new SimulatedBudgets(this)
  private readonly calls = new Map<string, readonly PendingCall[]>()
  private readonly finishedJobs = new Set<string>()
  /** The process that executes a job, by the id of the job. */
  private readonly workers = new Map<string, string>()
  private tails: TailBatch[] = []

  constructor() {
    super()
    const { interrupt, begin, checkpoint, finish } = this
    let begins = 0
    // SQLite tells of a commit before it is durable, Postgres does not: every second begin is of one kind.
    this.begin = async (run, onCommitted) => {
      const { reservation } = run
      const isNew = !this.rows.has(runKeyText(run))
      let held: HeldAhead | undefined
      const withHeld = (turn: Turn): Turn => ({ ...turn, ...(held && { held }) })
      const beginning = begin(run, ++begins % 2 === 0 && onCommitted ? (turn) => onCommitted(withHeld(turn)) : undefined)
      // The run has begun by now, if at all, and nothing else was executed meanwhile: its first model call is held in the same transaction.
      const isActive = this.allSessions().some(({ activeRun }) => activeRun === run.requestId)
      const reserved = reservation && isNew && isActive ? this.budgets.hold(reservation) : undefined
      if (reserved && 'states' in reserved && reserved.isHeld) held = { reservation: reservation!, states: reserved.states }
      if (held) reachState('budget-held-ahead')
      const begun = await beginning
      return begun.kind === 'running' ? { ...begun, turn: withHeld(begun.turn) } : begun
    }
    // What calls did cost is settled in the same transaction.
    this.checkpoint = async (key, fence, n, data, also) => {
      await checkpoint(key, fence, n, data, also)
      await this.budgets.settle(key.tenant, also?.settlements ?? [])
    }
    this.finish = async (key, fence, ended) => {
      const next = await finish(key, fence, ended)
      await this.budgets.settle(key.tenant, ended.settlements ?? [])
      return next
    }
    this.interrupt = async (key, fence, interruption) => {
      await interrupt(key, fence, interruption)
      await this.budgets.settle(key.tenant, interruption.settlements ?? [])
      this.calls.set(runKeyText(key), interruption.calls)
    }
  }

  /** The approval of a call, as in the store of approvals: the last decision gives the run to the process, or to a job. */
  decide = async (
    key: RunKey,
    callId: string,
    decision: 'approve' | 'reject' | 'extend',
    takeOver: TakeOver,
    raise?: Raise,
  ): Promise<DecisionResult | undefined> => {
    const row = this.rows.get(runKeyText(key))
    if (row?.status !== 'interrupted' || !this.openCallsOf(key).some((call) => call.callId === callId)) return undefined
    const decided = this.decided.get(runKeyText(key)) ?? new Map()
    this.decided.set(runKeyText(key), decided)
    decided.set(callId, decision === 'approve' ? { decision, isStarted: false } : { decision })
    if (raise) await this.budgets.override(key.tenant, raise.account, raise.change)
    if (this.openCallsOf(key).length > 0) return {}
    if (row.operation !== 'chain_async') return { takenOver: this.take(row, takeOver) }
    const { fence } = row
    const isReleased = await this.release(key, { fence, status: 'interrupted' })
    const job = this.jobs.at(-1) as NewJob<'run'> | undefined
    if (isReleased && job?.kind === 'run') job.data = { ...job.data, isResumed: true }
    return { isReleased }
  }

  protected override take(row: Row, takeOver: TakeOver): TakenOver {
    const taken = super.take(row, takeOver)
    if (takeOver.settles) this.budgets.settleEarlier(row, taken.fence)
    return taken
  }

  openCallsOf(key: RunKey): PendingCall[] {
    const decided = this.decided.get(runKeyText(key))
    return (this.calls.get(runKeyText(key)) ?? []).filter(({ callId }) => !decided?.has(callId))
  }

  /** Gives the first due job of these kinds to a process. A job whose process is lost is given to another. */
  takeJob = async (kinds: readonly JobKind[], holder: string, now: number): Promise<Job | undefined> => {
    const job = this.dueJob(kinds, now)
    if (job) this.workers.set(job.id, holder)
    return job && { ...job, attempt: 1 }
  }

  hasJob(kinds: readonly JobKind[], now: number): boolean {
    return this.dueJob(kinds, now) !== undefined
  }

  private dueJob(kinds: readonly JobKind[], now: number): NewJob | undefined {
    const isFree = ({ id }: NewJob) => !this.finishedJobs.has(id) && !this.alive.has(this.workers.get(id) ?? '')
    return this.jobs.find((job) => kinds.includes(job.kind) && job.dueAt <= now && isFree(job))
  }

  finishJob = async (id: string): Promise<void> => void this.finishedJobs.add(id)

  /** Gives a job back that was not done. */
  returnJob = async (id: string): Promise<void> => void this.workers.delete(id)

  /** The port for readers on other processes. */
  readonly tailStore = {
    append: async (_tenant: string, batches: readonly TailBatch[]): Promise<void> => {
      const isNew = (batch: TailBatch) =>
        !this.tails.some((tail) => tail.requestId === batch.requestId && tail.fence === batch.fence && tail.first === batch.first)
      this.tails.push(...structuredClone(batches.filter(isNew)))
    },
    read: async (key: RunKey, fence: number, after: number): Promise<TailBatch[]> => {
      const found = this.tails.filter((tail) => tail.requestId === key.requestId && tail.fence === fence && tail.last > after)
      return structuredClone(found.sort((a, b) => a.first - b.first))
    },
    remove: async (key: RunKey): Promise<void> => {
      this.tails = this.tails.filter(({ requestId }) => requestId !== key.requestId)
    },
    sweep: async (): Promise<void> => undefined,
  }

  allRows(): Row[] {
    return [...this.rows.values()]
  }

  rowOf(requestId: string): Row | undefined {
    return this.allRows().find((row) => row.requestId === requestId)
  }

  allSessions(): SessionRow[] {
    return [...this.sessions.values()]
  }
}
