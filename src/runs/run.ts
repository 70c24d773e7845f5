import type { PendingCall } from '../agent/approval.ts'
import type { ClientTool } from '../agent/run-tool.ts'
import type { EndReason, Step, VisibleEvent } from '../agent/events.ts'
import type { JsonSchema, JsonObject } from '../agent/messages.ts'
import type { ModelOptions } from '../agent/model.ts'
import type { DataFilter } from '../agent/tool.ts'
import type { KeptFiles } from '../artifacts/answer-files.ts'
import type { ErrorBody } from '../errors.ts'
import type { Owner } from '../access/owner.ts'
import type { Citation, ImageReference, UsageEntry } from '../sessions/message.ts'
import type { QuestionFile, SentDocument } from './attachments/question-files.ts'

/** Basic types of runs. */

export type RunStatus = 'pending' | 'running' | 'interrupted' | EndedStatus

export type EndedStatus = 'success' | 'error' | 'timeout' | 'cancelled'

/** `schedule`: the async run of a schedule's fire. `experiment`: a replay, which is never stored. */
export type Operation = 'chain' | 'chain_streaming' | 'chain_async' | 'schedule' | 'tool_execute' | 'experiment'

/** The operations whose runs start in a job, in any process. Nobody waits for their answers. */
export const asyncOperations = ['chain_async', 'schedule'] as const satisfies Operation[]

export function isAsyncRun({ operation }: { operation: string }): boolean {
  return asyncOperations.some((name) => name === operation)
}

/** Key of a run: a request id is unique per caller. */
export interface RunKey extends Owner {
  requestId: string
}

/**
 * The parts of a chat that are not kept. An unstored run exists for the recovery and for repeats of the request id: lists leave the run
 * out, readers do not find the run after the end, and a job removes the run soon after. `session`: also the session, which the run has
 * alone. A later chat that names the session keeps the session.
 */
export type Unstored = 'run' | 'session'

/** How long an ended unstored run answers repeats of its request id, in milliseconds. */
export const unstoredMs = 600_000

/** Whether readers may find the run by its id. An unended run is followed, cancelled and decided on, stored or not. */
export function isReadable({ isUnstored, endedAt }: { isUnstored?: boolean; endedAt: number | undefined }): boolean {
  return !isUnstored || endedAt === undefined
}

export interface ChatMessage {
  role: 'user' | 'assistant' | 'system'
  content: string
  /** Tool calls of an assistant message that the caller has brought; absent for none. */
  calls?: BroughtCall[]
}

/** A tool call of an earlier turn with its result, as the caller remembers it. */
export interface BroughtCall {
  id: string
  name: string
  /** JSON text; may be malformed. */
  arguments: string
  result: string
}

/** The content of a chat request. Stored with an unended run, so that another process can resume the run. */
export interface ChatRequest {
  messages: ChatMessage[]
  /** Assistant messages with calls behind the question: the run goes on behind them. */
  continuation?: ChatMessage[]
  filters: DataFilter[]
  /** Instructions for this run alone, beside those of the agent; absent for none. */
  instructions?: string
  /** The caller's `stix*` headers. */
  headers: Record<string, string>
  /** Checked images of the human message; the bytes are in the store. */
  images?: ImageReference[]
  /** Canonical paths of context files, relative to the files root. */
  contextFiles?: string[]
  /** Documents that the caller has sent, as text. */
  documents?: SentDocument[]
  /** Files that the model reads itself; the bytes are in the store. */
  files?: QuestionFile[]
  /** Tools that the client runs. */
  clientTools?: ClientTool[]
  /** True where `limits.client_tool_wait` limits the wait for the client, who does not say when it gives up. */
  hasShortWait?: boolean
  /** How the caller wants the model calls of the agent itself. */
  modelOptions?: ModelOptions
  /** True where a callback reports the end of the run. */
  hasCallback?: boolean
  /** True where the callback also reports each interruption. */
  reportsInterruptions?: boolean
  /** True where the callback may contain links to files: the key could read files when the event was accepted. */
  callbackLinks?: boolean
  /** JSON Schema of the answer; null where the caller lifts the default of agent.yaml. */
  responseSchema?: JsonSchema | null
  /** True where lasting facts of the run are added to the caller's memory. */
  retain?: boolean
  /** What the route repeats in later answers about the run; kept with the log after the end. */
  echo?: JsonObject
  /** W3C `traceparent` of the caller. */
  traceparent?: string
  /** The roles of the caller, where the agent has budgets that may depend on them. */
  roles?: readonly string[]
}

/** An event in a run's log: a visible event of the agent. The last event also has data known only at the end. */
export type LoggedEvent = VisibleEvent | LastEvent

/** The last event while calls wait for approval or for the client. The log continues after the event when the run is resumed. */
export interface InterruptEvent {
  type: 'interrupt'
  /** Epoch milliseconds; absent in logs of earlier versions. */
  at?: number
  calls: readonly PendingCall[]
  /** Usage so far. */
  usage: UsageEntry[]
  thoughts: Step[]
  /** Files so far; absent for none. */
  files?: KeptFiles
}

/** The event that ends a log for now (`interrupt`) or for good (`end`). */
export type LastEvent = EndEvent | InterruptEvent

/** The last event of a run, with the values that are known only at the end. */
export interface EndEvent {
  type: 'end'
  /** Epoch milliseconds, in the log of an executed run; absent in logs of earlier versions. */
  at?: number
  reason: EndReason
  usage: UsageEntry[]
  /** The model's reasoning, as steps. */
  thoughts: Step[]
  /** True where the answer is JSON that fits the schema of the request. */
  structured?: true
  /** Files of the answer; absent for none, and for a failed run. */
  files?: KeptFiles
  /** The passages that the answer rests on; absent for none. */
  citations?: Citation[]
  error?: ErrorBody
}
