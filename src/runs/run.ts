import type { PendingCall } from '../agent/approval.ts'
import type { EndReason, Step, VisibleEvent } from '../agent/events.ts'
import type { DataFilter } from '../agent/tool.ts'
import type { ErrorBody } from '../errors.ts'
import { callerKey, type Owner } from '../access/owner.ts'
import type { ImageReference, UsageEntry } from '../sessions/message.ts'

/** The words of a run's life. */

export type RunStatus = 'pending' | 'running' | 'interrupted' | EndedStatus
export type EndedStatus = 'success' | 'error' | 'timeout' | 'cancelled'

export type Operation = 'chain' | 'chain_streaming' | 'chain_async' | 'tool_execute'

/** A request id names one run of its caller. */
export interface RunKey extends Owner {
  requestId: string
}

/** The text that stands for a run in the keys of maps: request ids hold no control characters either. */
export function runKeyText(key: RunKey): string {
  return `${callerKey(key)}\n${key.requestId}`
}

export interface ChatMessage {
  role: 'user' | 'assistant' | 'system'
  content: string
}

/** What a chat asks for; kept with the run while it lasts, so that it can go on elsewhere. */
export interface ChatRequest {
  messages: ChatMessage[]
  filters: DataFilter[]
  /** The caller's `stix*` headers. */
  headers: Record<string, string>
  /** Pictures of the human message, checked; their bytes are in the store. */
  images?: ImageReference[]
  /** Files that stand before the question, relative to the files root, canonical. */
  contextFiles?: string[]
  /** Whether somebody is told of the run's end. */
  hasCallback?: boolean
  /** Whether lasting facts are taken from the run into the caller's memory. */
  retain?: boolean
  /** W3C `traceparent` of the caller. */
  traceparent?: string
}

/** The numbered events of a run: the agent's visible events, where the last one also carries what is known only at the end. */
export type LoggedEvent = Exclude<VisibleEvent, { type: LastEvent['type'] }> | LastEvent

/** Calls wait for approval: the last event until they are decided; the run goes on behind it then. */
export interface InterruptEvent {
  type: 'interrupt'
  calls: readonly PendingCall[]
  /** So far. */
  usage: UsageEntry[]
  thoughts: Step[]
}

/** Behind it nothing comes, as long as it is the last. */
export type LastEvent = EndEvent | InterruptEvent

/** The last event: it has what can only be said at the end. */
export interface EndEvent {
  type: 'end'
  reason: EndReason
  usage: UsageEntry[]
  /** The model's thinking, as steps. */
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
