import type { Account, AccountState } from '../budgets/budget.ts'

/** Port: work that is done later, at least once, also after the death of a process. Workers must be idempotent. */
export interface Jobs {
  /** Durable when the promise resolves. */
  add(jobs: readonly NewJob[]): Promise<void>
  /** Makes the workers of these kinds, in all processes, look for due jobs at once instead of at the next interval. */
  wake(...kinds: JobKind[]): void
  /**
   * Calls `work` for each due job of a kind, at most `concurrency` at a time. Takes no further job once the queue is closed or the returned
   * function was called.
   */
  handle<K extends JobKind>(
    kind: K,
    concurrency: number | (() => number),
    work: (job: Job<K>, signal: AbortSignal) => Promise<JobOutcome>,
  ): () => void
  /** Takes no further job and waits `ms` at most for the running jobs. A job that runs longer is aborted and done again later. */
  drain(ms: number): Promise<void>
}

/** Data of each kind of job: names and numbers, never content. `session` is the key of the session. */
export interface JobData {
  /** Claims and executes an async run that is unclaimed under `fence`. `isResumed`: the run continues after an interruption. */
  run: { owner: string; requestId: string; fence: number; isResumed?: true }
  /** Sends the callback of an ended async run, in a `round` of attempts. */
  callback: { owner: string; requestId: string; round: number }
  /** Notifies the address `id` of a change of a run. */
  notification: { owner: string; requestId: string; id: string; round: number }
  /** Reports interruption number `n` of an async run, from the time `at` (epoch milliseconds); it lasts as long as the fence. */
  interrupt_callback: { owner: string; requestId: string; fence: number; n: number; at: number }
  /** Warns the operator of a nearly used up budget: a window at the time `at` (epoch milliseconds). */
  budget_warning: BudgetWarning
  /** Sends a signed head of the audit ledger to the operator. */
  audit_head: { seq: number; hash: string; at: string; jws: string }
  /** Adds lasting facts of an ended run to the caller's memory. */
  retain: { owner: string; requestId: string; session: string; sessionId: string; messageIndex: number }
  /** Adds the lessons of the caller's feedback on a run to the caller's memory. */
  feedback: { owner: string; requestId: string }
  /** Extends the summary of a session by the turns before message `upTo`. */
  summary: { session: string; upTo: number }
  /** Cancels an interrupted run whose calls were not decided in time; `fence` is the fence of the interruption. */
  approval_expiry: { owner: string; requestId: string; fence: number }
  /** Deletes data outside of the database that belongs to a deleted session, or to a deleted message: then only `files`. */
  session_deleted: { session: string; files?: string[] }
  /** Indexes a document of the tenant for `knowledge_search`, by the id of its upload. */
  knowledge_document: { id: string }
  /** Replays the examples of an experiment. */
  experiment: { id: string }
  /** Deletes the bytes of a removed upload. */
  upload_deleted: { id: string }
  /** Periodically removes files of deleted sessions from the shared storage. */
  artifact_sweep: Record<string, never>
  /** Periodically removes data older than the configured retention. */
  retention: Record<string, never>
}

interface BudgetWarning
  extends
    Pick<Account, 'budget' | 'scope' | 'window' | 'subject' | 'windowStart' | 'resetsAt'>,
    Pick<AccountState, 'limit' | 'spent' | 'reserved'> {
  at: number
}

export type JobKind = keyof JobData

const kinds = {
  run: true,
  callback: true,
  notification: true,
  interrupt_callback: true,
  budget_warning: true,
  audit_head: true,
  retain: true,
  feedback: true,
  summary: true,
  approval_expiry: true,
  session_deleted: true,
  knowledge_document: true,
  experiment: true,
  upload_deleted: true,
  artifact_sweep: true,
  retention: true,
} as const satisfies Record<JobKind, true>

export const jobKinds = Object.keys(kinds) as JobKind[]

export interface NewJob<K extends JobKind = JobKind> {
  /** A UUIDv7 or a unique name. A job whose id is in the queue is not added again. */
  id: string
  kind: K
  tenant: string
  data: JobData[K]
  /** Epoch milliseconds. */
  dueAt: number
  /** Due jobs of a kind are taken in order of rank, lowest first, then of `dueAt`. Default: 0. */
  rank?: number
}

export interface Job<K extends JobKind = JobKind> extends NewJob<K> {
  /** Number of starts, including the current start. */
  attempt: number
}

/** `again`: the job is due again at `at` (epoch milliseconds). A throw is an `again` with a growing delay; after a day the job is dropped. */
export type JobOutcome = { kind: 'done' } | { kind: 'again'; at: number }
