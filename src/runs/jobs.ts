/**
 * Port: work that was promised and is done later: at least once, also when the process dies in between. What does it must bear being
 * done twice.
 */
export interface Jobs {
  /** Durable when it resolves. */
  add(jobs: readonly NewJob[]): Promise<void>
  /** Says that a job may be due now: workers look at once and not at their next interval. */
  wake(): void
  /** Calls `work` for each due job of a kind, `concurrency` at a time, until the queue is closed. */
  handle<K extends JobKind>(kind: K, concurrency: number, work: (job: Job<K>, signal: AbortSignal) => Promise<JobOutcome>): void
  /** Takes nothing new and waits for what runs, `ms` at most; what runs longer is aborted and done again later. */
  drain(ms: number): Promise<void>
}

/** What each kind of job has to know. `session` is the session's key, `owner` whose it is. */
export interface JobData {
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
}

export type JobKind = keyof JobData

export interface NewJob<K extends JobKind = JobKind> {
  /** UUIDv7, or a name that only this job can have; one with a known id is not added again. */
  id: string
  kind: K
  tenant: string
  data: JobData[K]
  /** Epoch milliseconds. */
  dueAt: number
}

export interface Job<K extends JobKind = JobKind> extends NewJob<K> {
  /** Times that it was begun, this time included. */
  attempt: number
}

/** `again`: the job stays, due then (epoch milliseconds). A throw is an `again` with a growing delay, and is given up after a day. */
export type JobOutcome = { kind: 'done' } | { kind: 'again'; at: number }
