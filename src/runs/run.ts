import type { PendingCall } from '../agent/approval.ts'
import type { EndReason, Step, VisibleEvent } from '../agent/events.ts'
import type { DataFilter } from '../agent/tool.ts'
import type { ErrorBody } from '../errors.ts'
import { callerKey, type Owner } from '../access/owner.ts'
import type { ImageReference, UsageEntry } from '../sessions/message.ts'

/** Basic types of runs. */

export type RunStatus = 'pending' | 'running' | 'interrupted' | EndedStatus
export type EndedStatus = 'success' | 'error' | 'timeout' | 'cancelled'

export type Operation = 'chain' | 'chain_streaming' | 'chain_async' | 'tool_execute'

/** Key of a run: a request id is unique per caller. */
export interface RunKey extends Owner {
  requestId: string
}

/** A text that identifies a run, for the keys of maps. Request ids contain no control characters, so the text is unique. */
export function runKeyText(key: RunKey): string {
  return `${callerKey(key)}\n${key.requestId}`
}

export interface ChatMessage {
  role: 'user' | 'assistant' | 'system'
  content: string
}

/** The content of a chat request. Stored with an unended run, so that another process can resume the run. */
export interface ChatRequest {
  messages: ChatMessage[]
  filters: DataFilter[]
  /** The caller's `stix*` headers. */
  headers: Record<string, string>
  /** Checked images of the human message; the bytes are in the store. */
  images?: ImageReference[]
  /** Canonical paths of context files, relative to the files root. */
  contextFiles?: string[]
  /** True where a callback reports the end of the run. */
  hasCallback?: boolean
  /** True where lasting facts of the run are added to the caller's memory. */
  retain?: boolean
  /** W3C `traceparent` of the caller. */
  traceparent?: string
}

/** An event in a run's log: a visible event of the agent. The last event also has data known only at the end. */
export type LoggedEvent = Exclude<VisibleEvent, { type: LastEvent['type'] }> | LastEvent

/** The last event while calls wait for approval. The log continues after the event when the run is resumed. */
export interface InterruptEvent {
  type: 'interrupt'
  calls: readonly PendingCall[]
  /** Usage so far. */
  usage: UsageEntry[]
  thoughts: Step[]
}

/** The event that ends a log for now (`interrupt`) or for good (`end`). */
export type LastEvent = EndEvent | InterruptEvent

/** The last event of a run, with the values that are known only at the end. */
export interface EndEvent {
  type: 'end'
  reason: EndReason
  usage: UsageEntry[]
  /** The model's reasoning, as steps. */
  thoughts: Step[]
  error?: ErrorBody
}

export function isLastEvent(event: LoggedEvent | undefined): event is LastEvent {
  return event?.type === 'end' || event?.type === 'interrupt'
}

export function statusOfEnd(reason: EndReason): EndedStatus {
  if (reason === 'timeout' || reason === 'cancelled' || reason === 'error') return reason
  return 'success'
}
