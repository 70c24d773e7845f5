import type { PhaseSums } from '../../concurrency/phase-times.ts'
import type { Instruction } from '../../agent/messages.ts'
import type { ModelErrorCode, ModelReply, ModelUsage } from '../../agent/model.ts'

/**
 * Parts of a run's trace that the numbered events do not hold. The records of a run are stored with its checkpoints and its log, in order;
 * times are epoch milliseconds.
 */
export type TraceRecord = HeldRecord | ModelRecord | InstructionRecord | WaitRecord | CutOffRecord | TimesRecord

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
 * Why a process continues a run. `lost`: the process before died. `handed_over`: the process before stopped. `approval`: the calls were
 * decided. `repeat`: the caller repeated a failed request.
 */
export type MoveCause = 'lost' | 'handed_over' | 'approval' | 'repeat'

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
}

export interface AttemptRecord {
  model: string
  startedAt: number
  endedAt?: number
  error?: { type: ModelErrorCode; message: string }
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
export interface CutOffRecord {
  type: 'cut_off'
  callId: string
}

/** Milliseconds in each phase of the run, with those of earlier attempts; the last record counts. */
export interface TimesRecord extends PhaseSums {
  type: 'times'
}
