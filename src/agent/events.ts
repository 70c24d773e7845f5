import type { PendingCall, Suspension } from './approval.ts'
import type { Artifact, AssistantMessage, JsonObject, JsonValue, Steer, TaintSource, ToolMessage, UserMessage } from './messages.ts'
import type { ModelReply, ModelUsage } from './model.ts'

/**
 * Everything observable of a running agent. `VisibleEvent`s go to the readers of the run, each numbered. The other events
 * are for the process that stores the run.
 */
export type AgentEvent = VisibleEvent | KeptEvent | NestedEvent | ApprovedStartEvent | SuspensionEvent | ProgressEvent

/**
 * Takes the events of an agent. A promise is back-pressure, and resolves when the event is stored; undefined: the agent may
 * go on at once. A rejection ends the agent.
 */
export type Emit = (event: AgentEvent) => Promise<void> | undefined

/** Events from which a run, or an agent inside of a run, can resume. */
export type KeptEvent = TurnEvent | ResultEvent | InstructionEvent

export type VisibleEvent =
  // A piece of text as it arrives.
  | { type: 'text'; label: TextLabel; text: string }
  /** The model's stream broke: the answer begins anew. */
  | { type: 'retrying' }
  // The start and the end of a step, published as they happen. The end of a tool call is a part of its `result`.
  | { type: 'step_start'; step: StepStart }
  | { type: 'step_end'; step: Step }
  | UserMessageEvent

/** A message of a person has reached the running agent: the next model call has the message. Emitted between two turns. */
export interface UserMessageEvent extends Steer {
  type: 'user_message'
  text: string
  /** Epoch milliseconds. */
  at: number
}

/** How an agent came to its end, or why the agent waits. */
export type LoopOutcome =
  | ({ type: 'end' } & LoopEnd)
  /** Calls wait for approval or for the client; the run resumes with a decision on each. */
  | { type: 'interrupt'; calls: readonly PendingCall[] }

/** A model call has ended; emitted before any of its tool calls runs, so that a run can resume from here. */
export interface TurnEvent {
  type: 'turn'
  message: AssistantMessage
  usage: ModelUsage
  finish: ModelReply['finish']
  /** Epoch milliseconds. */
  startedAt: number
  endedAt: number
  /** The first `write` call of the turn, unless the call waits for a decision. */
  starts?: StartedWrite
}

/** A `write` call that starts as soon as its event is stored. */
export interface StartedWrite {
  callId: string
  /** The configured name. */
  tool: string
  input: JsonObject
}

/** What became of an executed call. `unknown`: cut off while the tool ran. `refused`: cut off before the tool ran. */
export type CallOutcome = 'success' | 'error' | 'unknown' | 'refused'

/**
 * A tool call has its result; emitted at once, before the next `write` call of the turn starts. The result includes the
 * visible `step_end`, which readers get when the result is stored: no other event can come between the two.
 */
export interface ResultEvent {
  type: 'result'
  message: ToolMessage
  effect: 'read' | 'write'
  /** The step of the `step_end`. */
  step: Step
  /** Absent for a result that no execution has made, such as that of a rejected call. */
  executed?: CallOutcome
  /** The sources for which containment has refused the call; absent for any other call. */
  refusedFor?: readonly TaintSource[]
  /** The next `write` call of the turn; absent where that waits, or stores its start by an event of its own. */
  starts?: StartedWrite
}

/**
 * The loop has appended an instruction to the transcript, such as a step of a plan; emitted before the next model call.
 */
export interface InstructionEvent {
  type: 'instruction'
  message: UserMessage
}

/** An approved `write` call is about to start; emitted before the start, so that the call never runs twice. */
export interface ApprovedStartEvent extends StartedWrite {
  type: 'approved_start'
  salt?: string
}

/** A call waits for answers to its questions, or goes on with them (`isOver`). */
export interface SuspensionEvent {
  type: 'suspension'
  suspension: Suspension
  effect: 'read' | 'write'
}

/** How far a running call is: published to the readers that are live, without a number, and never stored. */
export interface ProgressEvent {
  type: 'progress'
  /** The step of the call. */
  step: Pick<StepStart, 'id' | 'type' | 'tool'>
  report: ToolProgress
}

/** How far a tool is. The tool bounds the number, the rate and the text of its reports. */
export interface ToolProgress {
  progress: number
  total?: number
  message?: string
}

/** An event of an agent inside of a tool call, from which that agent's own transcript can resume. */
export interface NestedEvent {
  type: 'nested'
  /** The tool call in which the agent runs. */
  callId: string
  /** The agent's name. */
  subAgent: string
  event: KeptEvent
}

export type TextLabel = 'answer' | 'reasoning' | 'planning'

export interface StepStart {
  /** The id of the tool call. */
  id: string
  type: 'tool_call' | 'sub_agent_call' | 'planning' | 'reasoning'
  tool: string
  input: JsonValue
  /** Epoch milliseconds. */
  startedAt: number
  /** The sub-agent of the step; absent for the run's own agent. */
  subAgent?: string
  /** Present on calls of tools that change something. */
  effect?: 'write'
  /** Present where containment is configured. */
  containment?: StepContainment
  /** Present on calls that the provider of the model runs, during a model call. Such a call has no `result`. */
  isOfProvider?: true
}

export interface StepContainment {
  trust: 'trusted' | 'untrusted'
  private: boolean
  outbound: boolean
  /** Ids of the calls with text of strangers, on a call with an effect outside. */
  taintedBy?: string[]
  /** The verdict of containment. */
  decision?: 'approve' | 'refuse'
  /** The decision of a person on a held call. */
  decided?: 'approved' | 'rejected'
}

export interface Step extends StepStart {
  log: string
  output: JsonValue
  status: 'success' | 'error'
  durationMs: number
  /** Files of the step; absent for none. */
  artifacts?: Artifact[]
}

/** `schema_mismatch`: the answer does not fit its schema, and the repairs did not help. */
export type EndReason =
  | 'stop'
  | 'length'
  | 'content_filter'
  | 'max_iterations'
  | 'budget_exceeded'
  | 'timeout'
  | 'cancelled'
  | 'error'
  | 'schema_mismatch'

/** The end of a loop. */
export interface LoopEnd {
  reason: EndReason
  /** True for an answer that is JSON and fits its schema. */
  structured?: true
  /** Present with the reason `schema_mismatch`. */
  mismatch?: Mismatch
}

/** An answer that does not fit its schema. */
export interface Mismatch {
  /** The last text of the model. */
  text: string
  /** What does not fit, as a clause. */
  fault: string
  /** What ended the run before the answer could be repaired; absent where all repairs were made. */
  cause?: 'timeout' | 'content_filter'
}
