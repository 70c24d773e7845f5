import type { Decision, PendingCall, Suspension } from '../agent/approval.ts'
import type { AuditEvent } from '../audit/event.ts'
import type { Step } from '../agent/events.ts'
import type { ContainmentPolicy } from '../agent/taint.ts'
import type { Image, Message, Taint, ToolImage } from '../agent/messages.ts'
import type { Owner } from '../access/owner.ts'
import { ServiceError, type ErrorBody } from '../errors.ts'
import type { CompactLog } from './log/compact-log.ts'
import type { ToolUse } from './reports/series.ts'
import type { MessageData } from '../sessions/message.ts'
import type { NewJob } from './jobs.ts'
import type { TraceRecord } from './trace/records.ts'
import type { ChatRequest, EndedStatus, Operation, RunKey, RunStatus, Unstored } from './run.ts'
import type { MessageStore } from './steering/run-messages.ts'
import { reachState } from '../states.ts'
import type { HeldAhead, Reservation, Settlement } from '../budgets/budget.ts'

/**
 * Port: storage of runs and of the messages of sessions. Each function is one transaction, durable when the promise resolves. Direct tool
 * executions share the request ids of runs, but are no runs: only `begin` returns a tool execution, as the known use of a request id.
 */
export interface RunStore extends MessageStore {
  /**
   * Stores a run with its human message, and gives the session to the run. Where another run has the session, the run is stored as
   * `pending` in the session queue, without a message. The run of an event is always stored as `pending` and unclaimed, and gets a job
   * as soon as the run has the session. A used request id or event changes nothing. Throws `session_interrupted` while the run that has the
   * session waits for approval, and `SessionMoved` where the session is busy or has not `afterMessages` messages.
   * While the committed transaction is on its way to the disk, `onCommitted` is called at most once, with the turn of a running run. The
   * promise may still reject afterwards. Never called before `begin` has returned its promise, nor by a store that cannot tell the moment.
   */
  begin(run: NewRun, onCommitted?: (turn: Turn) => void): Promise<Begun>
  /** The ids under which an event was accepted. */
  findEvent(owner: Owner, event: string): Promise<Accepted | undefined>
  /**
   * Starts a pending run whose turn has come, and stores the human message; undefined before the turn. Throws `session_interrupted` while
   * the run that has the session waits for approval, and `FenceLost` after another process has taken the run over.
   */
  takeTurn(run: HeldRun, messages: readonly NewMessage[], now: number): Promise<Turn | undefined>
  /**
   * Removes a pending run from the session queue: with an end, or by deletion where `end` is undefined. Resolves to the run whose turn has
   * come by the removal.
   */
  leaveQueue(run: HeldRun, now: number, end?: QueueEnd): Promise<NextRun | undefined>
  /** Gives an unclaimed run that has its session to a process; undefined where the run is not (or no longer) unclaimed. */
  claim(run: HeldRun, toTakeOver: (run: ResumableRun) => TakeOver): Promise<ClaimedRun | undefined>
  /**
   * Makes an unended async run unclaimed, at its position in the session queue, with a job that resumes the run from the checkpoints. False
   * where the run has changed since `expected` was read.
   */
  release(key: RunKey, expected: RunVersion, now: number): Promise<boolean>
  /** Adds missing jobs of unclaimed runs that have their session; only for the oldest runs where there are many. */
  addMissingJobs(now: number): Promise<void>
  /** Number of unclaimed runs in the whole store. */
  countUnclaimed(): Promise<number>
  /** At most `limit` messages of a session, starting with index `firstIndex`. */
  history(tenant: string, session: string, firstIndex: number, limit?: number): Promise<HistoryMessage[]>
  /**
   * Like `history`, for the run that has the session. The begin of the run may still be on its way to the disk, and the messages may be lost
   * with the begin: no caller may see anything that follows from the messages before `begin` has resolved. The messages may be shared with
   * later runs, and must not be changed.
   */
  historyOfRun(run: HeldRun, turn: Pick<Turn, 'session' | 'messageIndex'>, firstIndex: number, limit?: number): Promise<HistoryMessage[]>
  /** Images of human messages in a session, in order, by the request id of the run. */
  images(tenant: string, session: string, requestIds: readonly string[]): Promise<Map<string, Image[]>>
  /** Bytes of pictures from tool results and of files of questions, as base64, by `imageKey`. */
  mediaBytes(tenant: string, session: string, places: readonly MediaPlace[]): Promise<Map<string, string>>
  /** Stores the bytes of pictures from tool results of a running run. Throws `FenceLost` as `checkpoint` does. */
  keepResultImages(key: RunKey, fence: number, session: string, images: readonly ToolImage[]): Promise<void>
  /** Stores a checkpoint of a running run. Throws `FenceLost` after another process has taken the run over. */
  checkpoint(key: RunKey, fence: number, step: number, data: Checkpoint, also?: CheckpointParts): Promise<void>
  checkpoints(key: RunKey): Promise<Checkpoint[]>
  /**
   * Makes a running run interrupted, and stores the last checkpoint and the calls that wait for a decision. The run keeps the session, and no
   * process holds the run until a takeover.
   */
  interrupt(key: RunKey, fence: number, interruption: Interruption): Promise<void>
  /** Decisions on the calls of a run, by call id. */
  decisions(key: RunKey): Promise<Map<string, Decision>>
  /** Records the start of an approved call. Throws `FenceLost` as `checkpoint` does. */
  startApproved(key: RunKey, fence: number, callId: string, now: number, acts?: RunActs): Promise<void>
  /** Ends a run: stores the end and the ai message, counts the run in the metrics, and returns the next run, which gets the session. */
  finish(key: RunKey, fence: number, ended: EndedRun): Promise<NextRun | undefined>
  /** Throws `gone` where the session was deleted, or retention has removed the run. */
  find(key: RunKey): Promise<StoredRun | undefined>
  /** Like `find`, but also finds the direct tool execution that has used the request id. */
  findRequest(key: RunKey): Promise<StoredRun | undefined>
  /**
   * Owners of runs with the request id in the tenant, tombstones included: two at most, the owner in the key first. `filter` restricts the
   * owners to an issuer and a `sub`.
   */
  ownersOf(key: RunKey, filter: { issuer: string | undefined; sub: string | undefined }): Promise<string[]>
  /**
   * Gives an orphaned, continuable or interrupted run to a process. Open calls of an interrupted run lapse. Undefined where the run has
   * changed since `expected` was read.
   */
  takeOver(key: RunKey, expected: RunVersion, takeOver: TakeOver): Promise<TakenOver | undefined>
  /** Unended runs of lost processes, in order of arrival; only the oldest runs where there are many. Unclaimed runs are left out. */
  orphans(holder: string, graceMs: number): Promise<Orphans>
  /** Pending and running runs of a session that living processes hold. */
  unendedIn(owner: Owner, sessionId: string): Promise<RunKey[]>
  /** Unended runs of a process. */
  ownUnended(holder: string): Promise<RunKey[]>
}

/** The part of the storage that the execution of a run needs. */
export type ExecutionStore = Pick<
  RunStore,
  | 'checkpoint'
  | 'checkpoints'
  | 'decisions'
  | 'finish'
  | 'historyOfRun'
  | 'images'
  | 'interrupt'
  | 'keepResultImages'
  | 'mediaBytes'
  | 'openMessages'
  | 'startApproved'
>

/** Names the bytes of a picture or file in a session: the run that stores the bytes, and the number within the run. */
export type MediaPlace = Pick<ToolImage, 'requestId' | 'n'>

/** Expected state of a run: a change applies only if the stored run still has this state. */
export interface RunVersion {
  fence: number
  status: RunStatus
  /** Present: the run may be taken only where the process has been lost for more than `graceMs`. */
  graceMs?: number
  /** Present: stored with the run on a takeover. */
  losses?: Losses | undefined
}

/** Number of lost processes in a row without a new checkpoint in between. */
export interface Losses {
  count: number
  /** Number of checkpoints at the last loss. */
  checkpoints: number
  /** The lost process; absent where the process turned out to be alive. */
  holder?: string
}

/** An unended run of a lost process. `losses` includes the current loss. */
export type OrphanedRun = StoredRun & { losses?: Losses | undefined }

export interface Orphans {
  runs: OrphanedRun[]
  /** Number of processes that may take the runs over, including the caller; at least 1. */
  takers: number
}

/** A run under the fence of a process. */
export interface HeldRun extends RunKey {
  fence: number
}

/** The run whose turn has come in a session. */
export interface NextRun extends RunKey {
  /** Empty where the run is unclaimed: a job resumes the run. */
  holder: string
}

/** The fence of a write is outdated: another process has taken the run over. The write changed nothing. */
export class FenceLost extends Error {
  constructor(key: RunKey) {
    super(`Run ${key.requestId} belongs to another process.`)
    this.name = 'FenceLost'
    reachState('fence-refused')
  }
}

/** The session has other messages than the new run expects, or another run has the session. Nothing was stored. */
export class SessionMoved extends Error {
  constructor(sessionId: string) {
    super(`Session ${sessionId} has gone on.`)
    this.name = 'SessionMoved'
  }
}

/** The session was deleted, or retention has removed the run. A tombstone with the ids prevents a second run. */
export function runGone({ requestId }: RunKey): ServiceError {
  return new ServiceError('gone', `Request ${requestId} is gone: its session was deleted, or it is older than runs are kept.`)
}

/** The error for a new run while another run of the session, `requestId`, is interrupted. */
export function sessionInterrupted(sessionId: string, requestId: string): ServiceError {
  return new ServiceError(
    'session_interrupted',
    `Request ${requestId} of session ${sessionId} waits for a decision or for the output of a client tool: answer its calls, or cancel it, first.`,
  )
}

/** The error for a chat that does not wait for its session. */
export function sessionBusy(sessionId: string): ServiceError {
  return new ServiceError('session_busy', `Session ${sessionId} is busy with another request.`, { retryAfter: 1 })
}

export interface NewMessage {
  role: 'human' | 'ai'
  content: string
  createdAt: number
  data?: MessageData
}

export interface NewRun extends RunKey {
  sessionId: string
  /** Key of the session, where the session is new. */
  sessionKey: string
  shortName: string
  operation: Operation
  bodyHash: string
  request: ChatRequest
  onDisconnect: 'cancel' | 'continue'
  holder: string
  /** Position in the order of arrival. */
  queueOrder: number
  agent: string
  /** Version of the agent's configuration. */
  configVersion: string
  /** The start of the human message, for lists. */
  input: string
  now: number
  /** The messages of the request, the human message last. A session that has messages gets only the last message. */
  messages: readonly NewMessage[]
  /** Images of the human message, in the order of the references. */
  images?: readonly Image[] | undefined
  /** Files of the human message, in the order of the references. */
  files?: readonly Image[] | undefined
  event?: NewEvent | undefined
  /** Addresses that are notified when the run waits or has ended. */
  notifications?: readonly NotificationConfig[] | undefined
  /** Number of messages, at least 1, that the session must have, without another run. Absent: any. */
  afterMessages?: number | undefined
  /** True where the run is refused while another run has the session. */
  rejectsBusy?: true | undefined
  unstored?: Unstored | undefined
  /** For the first model call. A store may begin the run without the reservation, and does so where an account cannot pay. */
  reservation?: Reservation | undefined
}

/** The event of an async run. */
export interface NewEvent {
  /** Unique among the events of the caller; 64 characters. */
  key: string
  /** The id that the caller gave to the event. */
  id: string
  /** Receives the end of the run. */
  callbackUrl: string | undefined
}

/** The ids under which an event was accepted. */
export interface Accepted {
  requestId: string
  sessionId: string
}

/** The position of a run in its session, reserved until the end of the run. */
export interface Turn {
  session: string
  /** Index of the human message. */
  messageIndex: number
  /** Number of messages in the session, including the human message. */
  messageCount: number
  /** Index of the first message of the window. */
  windowStart: number
  /** Summary of the messages before `windowStart`. */
  summary?: RunningSummary
  /** The reservation of the new run, where the begin has held it. */
  held?: HeldAhead
}

/** Summary of the turns before the window of a session. */
export interface RunningSummary {
  text: string
  /** System messages from the start of the session, which apply to all runs. */
  system?: string
  /** Names of the data filter hints that were in force for all summarized answers. */
  hints?: string[]
  /** Taint of the text; absent: made without containment. */
  taint?: Taint
}

export type Begun =
  | { kind: 'running'; turn: Turn; fence: number }
  | { kind: 'waiting'; fence: number }
  | { kind: 'known'; run: StoredRun }
  /** The event was accepted before. */
  | { kind: 'accepted'; as: Accepted }

/** The end of a run without a turn. */
export interface QueueEnd {
  status: 'cancelled' | 'error'
  continuable: boolean
  error: ErrorBody | undefined
  log: CompactLog
  /** Jobs that are added in the same transaction. */
  jobs: NewJob[]
}

/** The process that takes a run over. */
export interface TakeOver {
  holder: string
  queueOrder: number
  now: number
  /** The messages of the request; stored where the run had no human message yet. */
  messages: readonly NewMessage[]
  /** True where the reservations of the earlier process are settled in the same transaction. */
  settles?: boolean
  /** The events of calls whose decision lapses. Absent: nothing is recorded. */
  toLapsed?: (calls: readonly LapsedCall[]) => readonly AuditEvent[]
}

/** A call that nobody has decided on before the end of the run. */
export type LapsedCall = Pick<PendingCall, 'callId' | 'tool' | 'by'>

export type TakenOver = { kind: 'running'; turn: Turn; fence: number } | { kind: 'waiting'; fence: number }

/** A run whose request is kept, so that the run can be resumed. */
export type ResumableRun = StoredRun & { request: ChatRequest }

export interface ClaimedRun {
  /** The run before the claim. */
  run: ResumableRun
  takenOver: Extract<TakenOver, { kind: 'running' }>
}

export interface HistoryMessage {
  idx: number
  role: 'human' | 'ai'
  content: string
  data: MessageData | undefined
}

/** Progress of a run since the last checkpoint. */
export interface Checkpoint {
  messages: Message[]
  /** Number of model calls so far. */
  iterations: number
  events: CompactLog['events']
  usage: UsageSoFar
  /** Messages of agents inside of tool calls, in order. */
  nested?: NestedMessage[]
  /** Calls that were suspended; absent for none. */
  suspensions?: Suspension[]
  /** Absent for none. */
  trace?: TraceRecord[]
  /** The policy under which the run has worked; absent: containment is not configured. */
  containment?: ContainmentPolicy
  /** `EventLog.restoredAt` of the attempt that stored this; absent for none, and in checkpoints of earlier versions. */
  restoredAt?: number
}

/** A message of an agent inside a tool call. */
export interface NestedMessage {
  callId: string
  message: Message
}

/** Delivers one message to a running run: a part of the transaction that stores the checkpoint with the message. */
export interface Delivery {
  session: string
  rank: number
  /** What the session keeps: the answer so far, if any, and the message. */
  messages: readonly NewMessage[]
  /** Number of messages in the session with these. */
  messageCount: number
  now: number
}

/** What is stored in the transaction of a checkpoint. */
export interface CheckpointParts {
  settlements?: Settlements
  /** The delivery of a message to the run. */
  delivery?: Delivery | undefined
  acts?: RunActs | undefined
  /** True for a turn whose calls are all `read`: a loss of power may undo the checkpoint, and the model is asked again. */
  isRepeatable?: true
}

/**
 * Events of a run for the ledger, recorded in the same transaction. A function is given the calls of the run with a start in the ledger and
 * without an end, and may be called again when the transaction is repeated.
 */
export type RunActs = readonly AuditEvent[] | ((open: readonly OpenCall[]) => readonly AuditEvent[])

/** A `write` call with a start in the ledger, and without an end. */
export interface OpenCall {
  callId: string
  /** As in the event of the start. */
  target: string
}

/** What model calls did cost: settled in the same transaction. Absent for an agent without budgets. */
export type Settlements = readonly Settlement[] | undefined

/** Sums for the end event. */
export interface UsageSoFar {
  models: { model: string; input: number; output: number; cachedInput: number; cacheWrite?: number; reasoning: number }[]
  thoughts: Step[]
}

/** The state of a run at an interruption. */
export interface Interruption {
  session: string
  sessionId: string
  /** Number of the checkpoint in `data`. */
  step: number
  data: Checkpoint
  /** The log so far; the last event is the `interrupt`. */
  log: CompactLog
  /** `salt`: of the hashes of the call in the ledger. */
  calls: readonly (PendingCall & { salt?: string })[]
  /** Milliseconds of execution so far; at least 1. */
  ranMs: number
  now: number
  expiresAt: number
  /** Jobs that are added in the same transaction, such as the expiry. */
  jobs: NewJob[]
  settlements?: Settlements
  acts?: RunActs | undefined
}

export interface EndedRun {
  session: string
  status: EndedStatus
  finishReason: string
  continuable: boolean
  /** Kept only where the run is continuable. */
  request: ChatRequest
  model: string
  promptTokens: number
  completionTokens: number
  /** Execution time, without waiting. */
  latencyMs: number
  endedAt: number
  error: ErrorBody | undefined
  log: CompactLog
  /** The ai message, where the run has an answer. */
  message: NewMessage | undefined
  messageCount: number
  checkpointId: string
  hadCheckpoints: boolean
  /** True where pictures from tool results are stored, and no message refers to the pictures. */
  dropsResultImages: boolean
  /** Version of the configuration that has executed the run. */
  configVersion: string
  /** USD; undefined where no model of the run has a price. */
  cost: number | undefined
  /** The called tools, each once. */
  tools: readonly ToolUse[]
  /** Jobs that are added in the same transaction. */
  jobs: NewJob[]
  settlements?: Settlements
  acts?: RunActs | undefined
}

export interface StoredRun extends RunKey {
  session: string | undefined
  sessionId: string
  operation: Operation
  bodyHash: string
  request: ChatRequest | undefined
  status: RunStatus
  onDisconnect: 'cancel' | 'continue'
  /** Id of the process; empty where the run is unclaimed. */
  holder: string
  fence: number
  messageIndex: number | undefined
  /** Milliseconds of execution before the last interruption. */
  ranMs: number
  createdAt: number
  startedAt: number | undefined
  endedAt: number | undefined
  continuable: boolean
  /** True where the run is removed soon after the end; see `Unstored`. */
  isUnstored?: boolean
  /** Number of messages that wait for their delivery; absent for none. */
  openMessages?: number
  /** Request id of the run whose undelivered message this run answers; absent for other runs. */
  continues?: string
  /** Version of the configuration with which the run began, or ended. */
  configVersion?: string
  error: ErrorBody | undefined
  log: CompactLog | undefined
}

/** An address that is notified when a run waits for its caller, and when the run has ended. */
export interface NotificationConfig {
  /** Unique within the run. */
  id: string
  url: string
  /** Sent as `x-a2a-notification-token`. */
  token?: string
  /** Sent as `authorization: <scheme> <credentials>`. */
  authentication?: { scheme: string; credentials: string }
  /** True for a config that was made with an earlier version of the protocol: notifications have its form. */
  isLegacy?: boolean
  /** True where a notification may contain links to files: the key could read files when the config was made. */
  links: boolean
}
