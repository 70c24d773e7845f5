import { Answer } from './answer.ts'
import { endInSchema, type AnswerSchema } from './answer-schema.ts'
import { Interrupted } from './approval.ts'
import type { CallOptions } from './call-options.ts'
import type { AgentEvent, EndReason, LoopEnd } from './events.ts'
import type { Message } from './messages.ts'
import type { Model, ModelOptions } from './model.ts'
import type { Tool } from './tool.ts'

/** Everything that a loop needs: the agent, its position, and the outside world as arguments. */
export interface LoopOptions extends CallOptions {
  model: Model
  /** How the caller wants the model calls; default: as configured. */
  modelOptions?: ModelOptions
  system: string
  /**
   * The transcript so far; the loop appends to this array. Ends with a user message, or in the middle of a turn when a
   * run resumes.
   */
  messages: Message[]
  /** Total number of model calls; the last call is made without tools. */
  maxIterations: number
  /** Model calls made before the run resumed. */
  iterations?: number
  /**
   * Selects the tools that the model is offered, in this order; default: all. Calls of other tools run all the same.
   */
  offered?(all: readonly Tool[], messages: readonly Message[]): readonly Tool[]
  /**
   * Token budget for the transcript: beyond it tool output is cut for the model, old output first. Default: no limit.
   */
  windowTokens?: number
  /** The schema of the answer; absent: the answer is any text. */
  answerSchema?: AnswerSchema | undefined
  /** Id of the tool call in which this agent runs; absent for the run's own agent. */
  parentCallId?: string
  /** The reason why `signal` was aborted. */
  stopReason(): 'timeout' | 'cancelled'
}

/** The state of a running loop. */
export interface Loop {
  readonly options: LoopOptions
  readonly answer: Answer
  /** Model calls made, including those before a resume. */
  callsMade: number
}

export function startLoop(options: LoopOptions, earlier = ''): Loop {
  return { options, answer: new Answer(earlier), callsMade: options.iterations ?? 0 }
}

/**
 * Drives `work` to exactly one `end` event, or to an `interrupt` when calls wait for a decision. An aborted loop, and a
 * loop out of model calls, end with the best answer so far; a model that fails for good throws its `ModelError`.
 */
export async function* untilEnd({ options, answer }: Loop, work: AsyncGenerator<AgentEvent, EndReason>): AsyncGenerator<AgentEvent, void> {
  let reason: EndReason
  try {
    reason = yield* work
  } catch (error) {
    if (error instanceof Interrupted && !options.signal.aborted) return yield { type: 'interrupt', calls: error.calls }
    if (!options.signal.aborted) throw error
    reason = options.stopReason()
  }
  const end = await toEnd(options, answer, reason)
  if (end.reason !== 'schema_mismatch' && answer.needsRepeat) yield answer.repeat()
  yield { type: 'end', ...end }
}

async function toEnd({ answerSchema, messages }: LoopOptions, { best }: Answer, reason: EndReason): Promise<LoopEnd> {
  if (!answerSchema) return { reason }
  const lastText = best || messages.findLast((message) => message.role === 'assistant')?.text
  return endInSchema(answerSchema, reason, lastText ?? '')
}
