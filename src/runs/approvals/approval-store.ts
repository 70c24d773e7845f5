import type { Owner } from '../../access/owner.ts'
import type { DecisionKind, PendingCall, WaitsFor } from '../../agent/approval.ts'
import type { AuditEvent } from '../../audit/event.ts'
import type { JsonObject, JsonValue, TaintSource } from '../../agent/messages.ts'
import type { Account } from '../../budgets/budget.ts'
import type { OverrideChange } from '../../budgets/overrides.ts'
import type { RunKey } from '../run.ts'
import type { TakenOver, TakeOver } from '../run-store.ts'
import type { DecidedCall } from '../trace/span.ts'

/** Port: tool calls that wait for approval or for the client, and decisions on calls. Each function is one transaction. */
export interface ApprovalStore {
  /**
   * Finds a call of the caller's own run, or a call that the caller may decide. Among equal ids, the caller's own call wins. Without an id: the
   * budget that the run waits for, or else the last one that the run has waited for.
   */
  find(caller: ApprovalCaller, requestId: string, callId: string | undefined): Promise<StoredCall | undefined>
  /**
   * Stores the decision on an open call. The last decision on a run also takes the run over, in the same transaction, so that this process
   * can resume the run; an async run is released with a job instead, so that any process can.
   * Undefined, without a change, when the call is not open any more.
   */
  decide(key: CallKey, decision: NewDecision, takeOver: TakeOver, also?: DecisionParts): Promise<DecisionResult | undefined>
  /**
   * Open calls of the caller's runs and open calls that the caller may decide, newest first; without calls of client tools. `before` is a position,
   * or the id of a call; undefined if no call has the id.
   */
  list(caller: ApprovalCaller, page: CallPage): Promise<ApprovableCall[] | undefined>
  /** The last messages of the sessions of these runs. A deleted run has no excerpt. */
  excerpts(tenant: string, runs: readonly RunKey[], limits: ExcerptLimits): Promise<Excerpt[]>
  /** Calls of client tools in the caller's own runs, by call id. */
  clientCalls(owner: Owner, callIds: readonly string[]): Promise<StoredCall[]>
  /** The caller's runs with open calls of client tools that have not expired at `now`: at most `limit`, those that expire first in front. */
  clientWaits(owner: Owner, now: number, limit: number): Promise<ClientWait[]>
  /** Open calls of a run, with the model's arguments. */
  openOf(key: RunKey): Promise<PendingCall[]>
  /** All calls of a run that wait, or have waited, for a decision, in the order requested. */
  ofRun(key: RunKey): Promise<DecidedCall[]>
}

/** A run that waits for the output of client tools. Times are epoch milliseconds. */
export interface ClientWait {
  requestId: string
  since: number
  expiresAt: number
}

export interface CallPage {
  limit: number
  before: CallPosition | string | undefined
  /** Epoch milliseconds; calls that have expired by then are left out. */
  now: number
}

/** Position of a call in the list. */
export interface CallPosition {
  requestedAt: number
  place: number
  callId: string
  requestId: string
  owner: string
}

/** A caller who lists or decides calls. */
export interface ApprovalCaller extends Owner {
  /** True with the permission `runs.approve`: the caller may decide other callers' calls with `by: role`. */
  mayApprove: boolean
  /** True with the permission `budgets.write`: the caller may let other callers' runs go on that a budget has paused. */
  mayRaise: boolean
}

/** What is stored in the transaction of a decision. */
export interface DecisionParts {
  raise?: Raise | undefined
  /** The decision, for the ledger. */
  act?: (AuditEvent & { salt: string }) | undefined
}

/** A higher limit of a window that was used up. */
export interface Raise {
  account: Account
  change: OverrideChange
}

export interface ExcerptLimits {
  messages: number
  /** Limit per message. The store may return more, so that the view can recognise longer messages. */
  characters: number
}

/** The last messages of a run's session, oldest first. */
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
  /** Position among the calls that were requested together, from 0. */
  place: number
  tool: string
  /** The model's arguments. */
  input: JsonObject
  by: WaitsFor
  /** Present when containment holds the call. */
  sources?: readonly TaintSource[]
  /** Epoch milliseconds. */
  requestedAt: number
  expiresAt: number
  /** Of the hashes of the call in the ledger; absent: not recorded when the call was asked. */
  salt?: string
  /** Absent while the call waits. `lapsed`: the run ended before a decision. */
  decision?: DecisionKind | 'lapsed'
  /** Arguments that the approver set in place of `input`; of a budget, by how much its limit was raised. */
  newInput?: JsonObject
  /** The output that the client sent. */
  output?: JsonValue
  /** The error that the client sent. */
  error?: string
}

/** A call that waits for the approval of a person. */
export type ApprovableCall = StoredCall & { by: Exclude<WaitsFor, 'client'> }

/** A decision; `decidedBy` is the `Owner.owner` of the caller who decided. */
export type NewDecision = { decidedBy: string } & (
  | { decision: 'approve' | 'reject'; input: JsonObject | undefined; reason: string | undefined }
  | { decision: 'extend'; limit: RaisedLimit | undefined }
  | { decision: 'output'; output: JsonValue }
  | { decision: 'error'; error: string }
)

/** By how much a limit is raised. */
export type RaisedLimit = { usd?: number; tokens?: number }

export interface DecisionResult {
  /** Present after the last decision on a run: this process now holds the run. */
  takenOver?: TakenOver
  /** True after the last decision on an async run, which now has a job. */
  isReleased?: boolean
}
