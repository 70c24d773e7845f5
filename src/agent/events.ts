import type { PendingCall } from './approval.ts'
import type { Artifact } from './artifact.ts'
import type { AssistantMessage, JsonValue, ToolMessage, UserMessage } from './messages.ts'
import type { ModelReply, ModelUsage } from './model.ts'

/**
 * Everything observable of a run. The first group is what a reader of the run sees, each event with a number of its own;
 * the second is for the one who keeps the run.
 */
export type AgentEvent = VisibleEvent | KeptEvent | NestedEvent | ApprovedStartEvent

/** What a run, or an agent inside of it, must be able to go on from. */
export type KeptEvent = TurnEvent | ResultEvent | InstructionEvent

export type VisibleEvent =
  // Text as it arrives.
  | { type: 'text'; label: TextLabel; text: string }
  /** The model's stream broke: the answer begins anew. */
  | { type: 'retrying' }
  // A step's life: told when it starts and when it ends, as it happens.
  | { type: 'step_start'; step: StepStart }
  | { type: 'step_end'; step: Step }
  // Exactly one of the two, the last.
  | { type: 'end'; reason: EndReason }
  /** Calls wait for approval: a run that goes on from here is told what was decided of each. */
  | { type: 'interrupt'; calls: readonly PendingCall[] }

/** A model call has ended; yielded before any of its tool calls is run, so that a run can go on from here. */
export interface TurnEvent {
  type: 'turn'
  message: AssistantMessage
  usage: ModelUsage
  finish: ModelReply['finish']
  /** Epoch milliseconds. */
  startedAt: number
  endedAt: number
}

/** A tool call has its result; yielded as it happens, before the next `write` call of the turn starts. */
export interface ResultEvent {
  type: 'result'
  message: ToolMessage
  effect: 'read' | 'write'
  /** The same end as its visible step. */
  step: Step
}

/** The loop itself has put a message into the transcript: a step of a plan. Yielded before the model is asked. */
export interface InstructionEvent {
  type: 'instruction'
  message: UserMessage
}

/** A `write` call that was approved is about to be made; yielded before it starts, so that it is never made twice. */
export interface ApprovedStartEvent {
  type: 'approved_start'
  callId: string
}

/** What an agent inside of a tool call has gained: its own transcript goes on from here. */
export interface NestedEvent {
  type: 'nested'
  /** The tool call in which it runs. */
  callId: string
  /** Its name. */
  subAgent: string
  /** A `result` stands for its visible `step_end` too: between the two nothing of another agent can come. */
  event: KeptEvent
}

export type TextLabel = 'answer' | 'reasoning' | 'planning'

export interface StepStart {
  /** The tool call's id. */
  id: string
  type: 'tool_call' | 'sub_agent_call' | 'planning' | 'reasoning'
  tool: string
  input: JsonValue
  /** Epoch milliseconds. */
  startedAt: number
  /** The sub-agent that took it; absent where it was the agent itself. */
  subAgent?: string
}

export interface Step extends StepStart {
  log: string
  output: JsonValue
  status: 'success' | 'error'
  durationMs: number
  /** Files that it made; absent for none. */
  artifacts?: Artifact[]
}

export type EndReason = 'stop' | 'length' | 'content_filter' | 'max_iterations' | 'timeout' | 'cancelled' | 'error'
