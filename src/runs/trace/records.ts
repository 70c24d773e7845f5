import type { Artifact, Instruction, ModelSource, Taint, ToolCall } from '../../agent/messages.ts'
import type { ModelErrorCode, ModelReply, ModelUsage, PaidAmount } from '../../agent/model.ts'
import type { PhaseSums } from '../../concurrency/phase-times.ts'
import type { RecalledMemories } from '../../memory/recall.ts'
import type { SubAgent } from '../../sub-agents/sub-agent-store.ts'
import type { ChatRequest } from '../run.ts'

/**
 * Parts of a run's trace that the numbered events do not hold. The records of a run are stored with its checkpoints and its log, in order;
 * times are epoch milliseconds.
 */
export type TraceRecord =
  | HeldRecord
  | ShownRecord
  | ModelRecord
  | InstructionRecord
  | WaitRecord
  | CutOffRecord
  | PicturesRecord
  | TimesRecord
  | BudgetRecord

/** A process has begun to execute the run. */
export interface HeldRecord {
  type: 'held'
  at: number
  /** Id of the process. */
  holder: string
  fence: number
  /** True where the run waited for its session or for a worker. */
  isQueued?: true
  /** The process before, where the store knew it, and why the run changed its process; absent for a new run. */
  from?: string
  cause?: MoveCause
  /** Index of the first message of the session that the model was shown; absent: 0. */
  window?: number
}

/**
 * The input of the model beside the session and the log, which change or are dropped at the end of the run. A process writes the record
 * when it begins to execute the run, unless an equal record is there.
 */
export interface ShownRecord extends ShownParts {
  type: 'shown'
  /** Hash of the agent's instructions. */
  system: string
}

/** The parts that most runs do not have. */
export interface ShownParts {
  /** The fields of the request that the session does not hold. */
  request?: Pick<ChatRequest, 'filters'> & Partial<Omit<ChatRequest, 'filters'>>
  /** The question with the texts of its files. */
  question?: string
  /** The summary of the turns before the window. */
  summary?: { text: string; system?: string; hints?: string[]; taint?: Taint }
  memories?: RecalledMemories
  /** The sub-agents of the caller. */
  subAgents?: readonly SubAgent[]
  /** True where a part is left out, because it is too long. */
  isCut?: true
}

/**
 * Why a process continues a run. `lost`: the process before died. `handed_over`: the process before stopped. `approval`: the calls were
 * decided. `repeat`: the caller repeated a failed request.
 */
type MoveCause = 'lost' | 'handed_over' | 'approval' | 'repeat'

/** A model call. */
export interface ModelRecord {
  type: 'model'
  /** Number of the call within the run, from 1. */
  n: number
  /** The tool call in which the agent runs; absent for the run's own agent. */
  callId?: string
  /** Number of events in the log when the call began and when it ended. */
  from: number
  to?: number
  startedAt: number
  /** Absent while the call runs. */
  endedAt?: number
  firstTextAt?: number
  /** Absent where the first attempt was successful. */
  attempts?: AttemptRecord[]
  /** Absent for a call that runs, failed or was cancelled. */
  usage?: ModelUsage
  finish?: ModelReply['finish']
  /** USD, where prices are configured. */
  cost?: number
  /** Ids of the requested tool calls; absent for none. */
  calls?: string[]
  /** Absent where the log holds the whole reply, and beyond the characters that a run may keep. */
  reply?: ReplyRecord
}

/** The parts of a reply that the log does not hold as the model wrote them. */
export interface ReplyRecord {
  /** A text that no reader gets: of a sub-agent, or of a plan. */
  text?: string
  /** The requested tool calls, in the order of `calls`. */
  requested?: Pick<ToolCall, 'name' | 'arguments'>[]
  sources?: ModelSource[]
  /** Files that the model made. */
  artifacts?: Artifact[]
}

export interface AttemptRecord {
  model: string
  startedAt: number
  endedAt?: number
  error?: { type: ModelErrorCode; message: string }
  /** The reservation and the cost of the attempt; absent for an agent without budgets. */
  held?: PaidAmount
  settled?: PaidAmount
}

/** A budget has refused a model call. */
export interface BudgetRecord {
  type: 'budget'
  at: number
  /** The tool call in which the agent runs; absent for the run's own agent. */
  callId?: string
  model: string
  budget: string
  /** The least amount for the call. */
  needed: Record<string, number>
  /** The details of the error: amounts for the caller of the run alone. */
  details: Readonly<Record<string, unknown>>
}

/** The loop has given the model an instruction, such as a step of a plan. */
export interface InstructionRecord {
  type: 'instruction'
  /** Number of the first model call behind the instruction. */
  n: number
  at: number
  callId?: string
  instruction: Instruction
}

/** The run waited for a slow or an absent reader. */
export interface WaitRecord {
  type: 'wait'
  startedAt: number
  /** Absent while the run waits. */
  endedAt?: number
}

/** A tool call was stopped together with its run; the outcome is unknown. */
interface CutOffRecord {
  type: 'cut_off'
  callId: string
}

/** The model was shown pictures of a tool's result. */
interface PicturesRecord {
  type: 'pictures'
  callId: string
  names: string[]
}

/** Milliseconds in each phase of the run, with those of earlier attempts; the last record counts. */
export interface TimesRecord extends PhaseSums {
  type: 'times'
}
