import type { Message } from '../agent/messages.ts'

/** What a session keeps of a message beside its text. */
export interface MessageData {
  /** ai: its run. human: the run that brought it, where it brought several. */
  requestId?: string
  model?: string
  finishReason?: string
  usage?: UsageEntry[]
  steps?: AnswerStep[]
  reasoning?: string[]
  planning?: string[]
  /** ai: what the model and its tools said, when that is more than the text. */
  transcript?: Message[]
  /** human: system messages that the caller brought with it. */
  system?: string
}

/** What a run used: tokens or USD per model, seconds per tool. */
export interface UsageEntry {
  costAttribute: string
  usage: number
  unit: 'tokens' | 'USD' | 'seconds'
  details?: { input: number; output: number; cached_input: number; reasoning: number }
}

/** One step of an answer, as callers see it. */
export interface AnswerStep {
  tool: string
  tool_input: unknown
  log: string
  type: string
  output: unknown
  status: 'success' | 'error'
  /** Seconds. */
  execution_time: number
  /** ISO 8601, UTC. */
  started_at: string
}
