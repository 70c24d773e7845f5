import type { ClientTool } from '../agent/run-tool.ts'
import type { PhaseTimes } from '../concurrency/phase-times.ts'
import type { Agent } from '../configuration/agent.ts'
import type { Fault } from '../errors.ts'
import type { RequestedAttachments } from './attachments/attachments.ts'
import type { NotificationConfig, NewEvent } from './run-store.ts'
import type { ChatRequest, Operation, RunKey, Unstored } from './run.ts'

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
  /** Addresses that are notified when the run waits or has ended. A repeated request adds none. */
  notifications?: readonly NotificationConfig[] | undefined
  /** Checked before anything is stored; references to the checked attachments are added to `request`. */
  attachments?: RequestedAttachments | undefined
  onDisconnect: 'cancel' | 'continue'
  /** Measures the run, if the chat starts one, from the arrival of the request. */
  times: PhaseTimes
  /** Present where the chat continues a free session with this number of messages; otherwise `SessionMoved` is thrown. */
  afterMessages?: number | undefined
  /** True where the chat is refused while another run has the session. */
  rejectsBusy?: true | undefined
  /** Absent: the run is kept. */
  unstored?: Unstored | undefined
  /** Position of the chat in the HTTP request, for the `loc` of validation errors. */
  at: Fault['loc']
  /** Position of the schema of the answer; default: `response_schema` of the chat. */
  schemaLoc?: Fault['loc'] | undefined
  /** Position of a field of a client tool; default: in `client_tools` of the chat. */
  toolLoc?: ToolLoc | undefined
}

/** The position of a field of a client tool in an HTTP request. */
export type ToolLoc = (index: number, field: keyof ClientTool) => Fault['loc']

/** Destination of a new chat: the key and session of the run, and the agent's snapshot to which the run is pinned. */
export interface OpenTarget {
  key: RunKey
  sessionId: string
  agent: Agent
  /** Present for an async chat. */
  event?: NewEvent
  /** The roles of the caller; undefined where unknown. */
  roles: readonly string[] | undefined
}
