import type { Decision } from './approval.ts'
import type { KeepArtifact } from './artifact.ts'
import { scopeOf } from './data-scope.ts'
import type { JsonValue, Message } from './messages.ts'
import type { Model } from './model.ts'
import type { Suspension } from './suspension.ts'
import type { Caller, DataFilter, DataScope, ShowImage, Tool } from './tool.ts'
import type { RunTrace } from './trace.ts'

/** The tools of an agent, and what their calls need from the outside world. */
export interface CallOptions {
  /** The current tools, which may change from turn to turn. */
  tools(): readonly Tool[]
  /** True when a tool of this name exists but cannot be used now. */
  isDown?(name: string): boolean
  /**
   * All tools of the run, when more than offered: a filter also restricts tools that read the files behind a tool which
   * is not offered.
   */
  allTools?: readonly Tool[]
  /** The transcript; results are appended in the order of the calls. */
  messages: Message[]
  /** The caller's `stix*` headers. */
  headers: Readonly<Record<string, string>>
  filters: readonly DataFilter[]
  /** The decision on a call that waits for one; undefined while there is none. Absent: nothing can be decided. */
  decisionFor?(callId: string): Decision | undefined
  /** The state of a call that was suspended before the run resumed; absent: no call can be suspended. */
  suspensionOf?(callId: string): Suspension | undefined
  /** The model of the agent, for servers that may ask it during a call. */
  model?: Model
  caller: Caller
  /** Key of the conversation, unique over all callers. */
  session: string
  /** The caller's id of the conversation. */
  sessionId: string
  contextFiles: readonly string[]
  /** The last output of a tool in the run; default: none. */
  latestOutput?(tool: string): JsonValue | undefined
  signal: AbortSignal
  keepArtifact: KeepArtifact
  /** Absent for a model without vision. */
  showImage?: ShowImage | undefined
  /** Transcript of the agent inside of a call from before another process took the run over; absent for none. */
  earlierMessages?(callId: string): readonly Message[]
  /** Name of the calling sub-agent. */
  subAgent?: string
  /** Absent: the run is not traced. */
  trace?: RunTrace
  /** Epoch milliseconds. */
  now(): number
  /** A UUIDv7. */
  newId(): string
}

/** The data visible to a tool in a run. */
export function scopeIn({ tools, allTools, filters }: CallOptions, tool: Tool): DataScope {
  return scopeOf(tool, allTools ?? tools(), filters)
}
