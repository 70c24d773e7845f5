/**
 * Port: work that was promised and is done later: at least once, also when the process dies in between. What does it must bear being
 * done twice.
 */
export interface Jobs {
  /** Durable when it resolves. */
  add(jobs: readonly NewJob[]): Promise<void>
  /** Says that jobs of these kinds may be due now: their workers look at once and not at their next interval, in other processes too. */
  wake(...kinds: JobKind[]): void
  /**
   * Calls `work` for each due job of a kind, as many at a time as `concurrency` says, which may change, until the queue is closed or the
   * returned function is called: then it takes nothing new.
   */
  handle<K extends JobKind>(
    kind: K,
    concurrency: number | (() => number),
    work: (job: Job<K>, signal: AbortSignal) => Promise<JobOutcome>,
  ): () => void
  /** Takes nothing new and waits for what runs, `ms` at most; what runs longer is aborted and done again later. */
  drain(ms: number): Promise<void>
}

/** What each kind of job has to know: names and numbers, never content. `session` is the session's key, `owner` whose it is. */
export interface JobData {
  /** Goes on with an async run that nobody has, and that has had this fence since; `isResumed`: behind an interruption. */
  run: { owner: string; requestId: string; fence: number; isResumed?: true }
  /** Sends the callback of an async run that has ended; `round` is that of the callback. */
  callback: { owner: string; requestId: string; round: number }
  /** Takes what lasts from a run that has ended into its caller's memory. */
  retain: { owner: string; requestId: string; session: string; sessionId: string; messageIndex: number }
  /** Takes what a caller's feedback on a run teaches into its memory. */
  feedback: { owner: string; requestId: string }
  /** Brings the turns of a session before message `upTo` into its running summary. */
  summary: { session: string; upTo: number }
  /** Cancels a run that nobody has decided on; `fence` is that of its interruption. */
  approval_expiry: { owner: string; requestId: string; fence: number }
  /** Deletes what is kept elsewhere under the key of a session that was deleted. */
  session_deleted: { session: string }
  /** Removes the files of what is gone from the place that all processes share, again and again. */
  artifact_sweep: Record<string, never>
  /** Removes what is older than the configuration keeps it, again and again. */
  retention: Record<string, never>
}

export type JobKind = keyof JobData

const kinds = {
  run: true,
  callback: true,
  retain: true,
  feedback: true,
  summary: true,
  approval_expiry: true,
  session_deleted: true,
  artifact_sweep: true,
  retention: true,
} as const satisfies Record<JobKind, true>

export const jobKinds = Object.keys(kinds) as JobKind[]

export interface NewJob<K extends JobKind = JobKind> {
  /** UUIDv7, or a name that only this job can have; one with a known id is not added again until that is done. */
  id: string
  kind: K
  tenant: string
  data: JobData[K]
  /** Epoch milliseconds. */
  dueAt: number
  /** Of those of a kind that are due the lowest go first, then in the order in which they are due. Default: 0. */
  rank?: number
}

export interface Job<K extends JobKind = JobKind> extends NewJob<K> {
  /** Times that it was begun, this time included. */
  attempt: number
}

/** `again`: the job stays, due then (epoch milliseconds). A throw is an `again` with a growing delay, and is given up after a day. */
export type JobOutcome = { kind: 'done' } | { kind: 'again'; at: number }
