import type { Decision, PendingCall } from '../agent/approval.ts'
import type { Step } from '../agent/events.ts'
import type { Image, Message, ToolImage } from '../agent/messages.ts'
import type { Owner } from '../access/owner.ts'
import { ServiceError, type ErrorBody } from '../errors.ts'
import type { CompactLog } from './log/compact-log.ts'
import type { MessageData } from '../sessions/message.ts'
import type { NewJob } from './jobs.ts'
import type { ChatRequest, EndedStatus, Operation, RunKey, RunStatus } from './run.ts'

/**
 * Port: where runs and the messages of their sessions are kept. Each function is one transaction, durable when it resolves. Direct tool
 * executions share the request ids of runs, but are no runs: only `begin` answers with one, as the known owner of a request id.
 */
export interface RunStore {
  /**
   * Stores a run with its human message, and takes the session for it. A session that another run holds: the run is stored as
   * `pending` in its line, without a message; so is the run of an event, which has the session or its place in the line from now on, but
   * belongs to nobody: a job is added with which it goes on when it has its session. A request id or an event that the caller has used:
   * nothing is changed. Throws `session_interrupted` while the run that has the session waits for approval.
   */
  begin(run: NewRun): Promise<Begun>
  /** The run that an event was accepted as. */
  findEvent(who: Owner, event: string): Promise<Accepted | undefined>
  /**
   * Takes the session for a pending run when it is its turn, and stores its human message; undefined when it is not. Throws
   * `session_interrupted` while the run that has the session waits for approval, `FenceLost` when the run belongs to another process by now.
   */
  takeTurn(run: HeldRun, messages: readonly NewMessage[], now: number): Promise<Turn | undefined>
  /**
   * Takes a pending run out of its line: with this end, else as if it had never come. Answers with the run whose turn it
   * is now, if that changed.
   */
  leaveQueue(run: HeldRun, now: number, end?: QueueEnd): Promise<NextRun | undefined>
  /** Takes a pending run that nobody has and that has its session; undefined when it is not so, or not so any more. */
  claim(run: HeldRun, by: (run: ResumableRun) => TakeOver): Promise<ClaimedRun | undefined>
  /**
   * Makes an unended async run nobody's, in its place of the session, with a job in which it goes on from what is stored. False when it has
   * changed meanwhile.
   */
  release(key: RunKey, from: Seen, now: number): Promise<boolean>
  /** Adds the job of each run that has its session and that nobody has, where that is missing: the first of them, when there are many. */
  addMissingJobs(now: number): Promise<void>
  /** Pending runs that nobody has, of all processes. */
  countUnclaimed(): Promise<number>
  /** What is needed to show a session to the model, from message `from` on, `limit` messages at most. */
  history(tenant: string, session: string, from: number, limit?: number): Promise<HistoryMessage[]>
  /** The images of a session's messages, by the run that brought them, in order. */
  images(tenant: string, session: string, requestIds: readonly string[]): Promise<Map<string, Image[]>>
  /** Bytes of pictures that tools returned, as base64, by `imageKey`. */
  resultImages(tenant: string, session: string, images: readonly Pick<ToolImage, 'requestId' | 'n'>[]): Promise<Map<string, string>>
  /** Keeps the bytes of pictures that tools returned in a running run. Throws `FenceLost` as `checkpoint` does. */
  keepResultImages(key: RunKey, fence: number, session: string, images: readonly ToolImage[]): Promise<void>
  /** Keeps a step of a running run. Throws `FenceLost` when it belongs to another process by now. */
  checkpoint(key: RunKey, fence: number, step: number, data: Checkpoint): Promise<void>
  checkpoints(key: RunKey): Promise<Checkpoint[]>
  /**
   * Keeps a running run as interrupted, with its last checkpoint and the calls that wait for approval. It keeps its session, and belongs to
   * nobody until it is taken over.
   */
  interrupt(key: RunKey, fence: number, one: Interruption): Promise<void>
  /** What was decided of the run's calls, by their ids. */
  decisions(key: RunKey): Promise<Map<string, Decision>>
  /** Says that an approved call is about to be made. Throws `FenceLost` as `checkpoint` does. */
  startApproved(key: RunKey, fence: number, callId: string, now: number): Promise<void>
  /** Ends a run: its row, the ai message, the session, the metrics. Answers with the next run in the session's line. */
  finish(key: RunKey, fence: number, ended: EndedRun): Promise<NextRun | undefined>
  /** Throws `gone` for one whose session was deleted, or that was too old. */
  find(key: RunKey): Promise<StoredRun | undefined>
  /**
   * Owners in the tenant of runs with this request id, marks included and direct tool executions left out: two at most, the owner in the
   * key first. `from` narrows the search to owners of this issuer and `sub`.
   */
  ownersOf(key: RunKey, from: { issuer: string | undefined; sub: string | undefined }): Promise<string[]>
  /**
   * Takes over a run that was left, that ended so that it may go on, or that is interrupted and is to end: nothing of it can be decided any
   * more. Undefined when it changed meanwhile.
   */
  takeOver(key: RunKey, from: Seen, by: TakeOver): Promise<TakenOver | undefined>
  /** Unended runs whose process is lost, in order of arrival; a portion of them when there are many. Not those that nobody had. */
  orphans(holder: string, graceMs: number): Promise<Orphans>
  /** Pending and running runs of a session that living processes have. */
  unendedIn(who: Owner, sessionId: string): Promise<RunKey[]>
  /** Unended runs of the local process. */
  ownUnended(holder: string): Promise<RunKey[]>
}

/** A run as it was read. */
export interface Seen {
  fence: number
  status: RunStatus
  /** Present: it is taken only where its process is lost, for more than this. */
  graceMs?: number
  /** Present: kept with the run when it moves. */
  losses?: Losses | undefined
}

/** How often in a row a run lost its process without a new checkpoint in between. */
export interface Losses {
  count: number
  /** Checkpoints that the run had at the last loss. */
  checkpoints: number
  /** The process that was lost; absent where that turned out to be wrong. */
  holder?: string
}

/** An unended run whose process is lost; its losses include this one. */
export type OrphanedRun = StoredRun & { losses?: Losses | undefined }

export interface Orphans {
  runs: OrphanedRun[]
  /** Processes that may take them up, the one that asks included; at least 1. */
  takers: number
}

/** A run as the process has it that was given this fence. */
export interface HeldRun extends RunKey {
  fence: number
}

/** The run whose turn it is in a session now. */
export interface NextRun extends RunKey {
  /** Empty: nobody has it, a job goes on with it. */
  holder: string
}

/** A write came from a process that a run no longer belongs to: it changed nothing. */
export class FenceLost extends Error {
  constructor(key: RunKey) {
    super(`Run ${key.requestId} belongs to another process.`)
    this.name = 'FenceLost'
  }
}

/** Of a run whose session was deleted, or that is too old to be kept, its ids are left, so that it is not run again. */
export function gone({ requestId }: RunKey): ServiceError {
  return new ServiceError('gone', `Request ${requestId} is gone: its session was deleted, or it is older than runs are kept.`)
}

/** A new run of a session whose run waits for approval. */
export function sessionInterrupted(sessionId: string): ServiceError {
  return new ServiceError('session_interrupted', `A request of session ${sessionId} waits for approval: decide on it, or cancel it, first.`)
}

export interface NewMessage {
  role: 'human' | 'ai'
  content: string
  createdAt: number
  data?: MessageData
}

export interface NewRun extends RunKey {
  sessionId: string
  /** Of the session, should it be a new one. */
  sessionKey: string
  shortName: string
  operation: Operation
  bodyHash: string
  request: ChatRequest
  onDisconnect: 'cancel' | 'continue'
  holder: string
  /** Order of arrival. */
  queueOrder: number
  agent: string
  now: number
  /** The turns that a client brings along, the human message last. In a session that has messages only the last is stored. */
  messages: readonly NewMessage[]
  /** Of the human message, in the order of its references; stored with the run, also where it waits. */
  images?: readonly Image[]
  event?: NewEvent
}

/** What an async run was accepted as. */
export interface NewEvent {
  /** Names it among the events of its caller, in 64 characters. */
  key: string
  /** As its caller calls it. */
  id: string
  /** Who is told of the run's end. */
  callbackUrl: string | undefined
}

/** The ids under which an event was accepted. */
export interface Accepted {
  requestId: string
  sessionId: string
}

/** A run's place in its session, which is its own until it ends. */
export interface Turn {
  session: string
  /** Of the run's human message. */
  messageIndex: number
  /** Messages in the session, the human message included. */
  messageCount: number
  /** Index of the first message that the model is shown, and what came before it. */
  windowStart: number
  summary?: RunningSummary
}

/** What the turns before a session's window were about. */
export interface RunningSummary {
  text: string
  /** System messages that began the session: they hold in all its runs. */
  system?: string
  /** Names of the data filter hints that all its answers were made under. */
  hints?: string[]
}

export type Begun =
  | { kind: 'running'; turn: Turn; fence: number }
  | { kind: 'waiting'; fence: number }
  | { kind: 'known'; run: StoredRun }
  /** Its event was accepted before. */
  | { kind: 'accepted'; as: Accepted }

/** How a run ends that never got its turn. */
export interface QueueEnd {
  status: 'cancelled' | 'error'
  continuable: boolean
  error: ErrorBody | undefined
  log: CompactLog
  /** Added with the end: what is to be done after it. */
  jobs: NewJob[]
}

export interface TakeOver {
  holder: string
  queueOrder: number
  now: number
  /** Of the request; stored if the run had not come that far. */
  messages: readonly NewMessage[]
}

export type TakenOver = { kind: 'running'; turn: Turn; fence: number } | { kind: 'waiting'; fence: number }

/** A run that has not ended for good. */
export type ResumableRun = StoredRun & { request: ChatRequest }

export interface ClaimedRun {
  /** As it was before. */
  run: ResumableRun
  taken: Extract<TakenOver, { kind: 'running' }>
}

export interface HistoryMessage {
  idx: number
  role: 'human' | 'ai'
  content: string
  data: MessageData | undefined
}

/** What a run gained since the last one. */
export interface Checkpoint {
  messages: Message[]
  /** Model calls made so far. */
  iterations: number
  events: CompactLog['events']
  usage: UsageSoFar
  /** What agents inside of tool calls gained, in order. */
  nested?: NestedMessage[]
}

/** A message of an agent inside of a tool call. */
export interface NestedMessage {
  callId: string
  message: Message
}

/** Sums that the end needs. */
export interface UsageSoFar {
  models: { model: string; input: number; output: number; cachedInput: number; reasoning: number }[]
  thoughts: Step[]
}

/** Where a run stands that waits for approval. */
export interface Interruption {
  session: string
  sessionId: string
  /** The checkpoint, and its number. */
  step: number
  data: Checkpoint
  /** So far: its last event is the `interrupt`. */
  log: CompactLog
  calls: readonly PendingCall[]
  /** At least 1: how long it ran. */
  ranMs: number
  now: number
  expiresAt: number
  /** Added with it: the end of its waiting. */
  jobs: NewJob[]
}

export interface EndedRun {
  session: string
  status: EndedStatus
  finishReason: string
  continuable: boolean
  /** Kept when the run may go on. */
  request: ChatRequest
  model: string
  promptTokens: number
  completionTokens: number
  /** Without what it waited. */
  latencyMs: number
  endedAt: number
  error: ErrorBody | undefined
  log: CompactLog
  /** The ai message, if there is one. */
  message: NewMessage | undefined
  messageCount: number
  checkpointId: string
  hadCheckpoints: boolean
  /** Pictures of its tools are kept, and no message names them. */
  dropsResultImages: boolean
  /** Added with the end: what is to be done after it. */
  jobs: NewJob[]
}

export interface StoredRun extends RunKey {
  session: string | undefined
  sessionId: string
  operation: Operation
  bodyHash: string
  request: ChatRequest | undefined
  status: RunStatus
  onDisconnect: 'cancel' | 'continue'
  /** Empty: nobody has it. */
  holder: string
  fence: number
  messageIndex: number | undefined
  /** Before it was interrupted. */
  ranMs: number
  createdAt: number
  startedAt: number | undefined
  endedAt: number | undefined
  continuable: boolean
  error: ErrorBody | undefined
  log: CompactLog | undefined
}
