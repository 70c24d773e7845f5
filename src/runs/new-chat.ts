import type { Agent } from '../configuration/agent.ts'
import type { Fault } from '../errors.ts'
import type { RequestedAttachments } from './attachments/attachments.ts'
import type { ChatRequest, Operation, RunKey } from './run.ts'
import type { NewEvent } from './run-store.ts'

/** A chat request, parsed by an HTTP route. */
export interface NewChat {
  requestId: string
  /** Undefined where the caller named no session: the run gets a new session, or that of the first request with this id. */
  sessionId: string | undefined
  /** Id of the session when the caller named none and the request id is new. */
  newSessionId: string
  operation: Operation
  bodyHash: string
  request: ChatRequest
  /** Checked before anything is stored; references to the checked attachments are added to `request`. */
  attachments?: RequestedAttachments
  onDisconnect: 'cancel' | 'continue'
  /** Position of the chat in the HTTP request, for the `loc` of validation errors. */
  at: Fault['loc']
}

/** Destination of a new chat: the key and session of the run, and the agent's snapshot to which the run is pinned. */
export interface OpenTarget {
  key: RunKey
  sessionId: string
  agent: Agent
  /** Present for an async chat. */
  event?: NewEvent
}
