import type { Owner } from '../../access/owner.ts'
import type { Decider, PendingCall } from '../../agent/approval.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { RunKey } from '../run.ts'
import type { TakenOver, TakeOver } from '../run-store.ts'

/** Port: calls that wait for approval, and what was decided of them. Each function is one transaction. */
export interface ApprovalStore {
  /** A call of the asker's own run, or one that a role decides; of equal ids its own. */
  find(who: Asker, requestId: string, callId: string): Promise<StoredCall | undefined>
  /**
   * Writes what was decided of an open call. With the last one of its run that is taken over in the same transaction: what is decided goes
   * on. An async run gets a job, in which any process goes on with it. Undefined, and nothing is changed, when it is not open any more.
   */
  decide(key: CallKey, decision: NewDecision, by: TakeOver): Promise<Decided | undefined>
  /** Open calls of the asker's own runs, and those of others that a role decides, newest first; undefined where there is no call `before`. */
  list(who: Asker, page: { limit: number; before: string | undefined; now: number }): Promise<StoredCall[] | undefined>
  /** What was said last in the sessions of these runs of a tenant. A run that is gone has no excerpt. */
  excerpts(tenant: string, runs: readonly RunKey[], most: ExcerptLimits): Promise<Excerpt[]>
  /** Open calls of a run, as they were asked for. */
  openOf(key: RunKey): Promise<PendingCall[]>
}

export interface Asker extends Owner {
  /** Whether it may decide what a role decides, of others. */
  mayApprove: boolean
}

export interface ExcerptLimits {
  messages: number
  /** Of each message; the store may answer with more than these, so that the reader of an excerpt sees that a message goes on. */
  characters: number
}

/** The last messages of the session of a run, oldest first. */
export interface Excerpt extends RunKey {
  messages: { index: number; role: 'human' | 'ai'; content: string }[]
  /** Index of the message that the run answers. */
  questionIndex: number | undefined
}

export interface CallKey extends RunKey {
  callId: string
}

export interface StoredCall extends CallKey {
  sessionId: string
  tool: string
  /** As the model asked for it. */
  input: JsonObject
  by: Decider
  /** Epoch milliseconds. */
  requestedAt: number
  expiresAt: number
  /** Absent: it waits. `lapsed`: its run ended before anybody decided. */
  decision?: 'approve' | 'reject' | 'lapsed'
  /** Approved in place of `input`. */
  newInput?: JsonObject
}

export interface NewDecision {
  decision: 'approve' | 'reject'
  input: JsonObject | undefined
  reason: string | undefined
  /** An owner. */
  decidedBy: string
}

export interface Decided {
  /** Present when it was the last: the run is this process's. */
  taken?: TakenOver
  /** True when it was the last of an async run. */
  isFreed?: boolean
}
