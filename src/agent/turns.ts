import { askModel, type Turn, type TurnOptions } from './ask-model.ts'
import type { AgentEvent } from './events.ts'
import { callsWithoutResult } from './history.ts'
import type { Loop } from './loop.ts'
import { runCalls } from './tool-calls.ts'

/**
 * Runs turns until the model answers in text alone, and returns that turn; returns undefined when `upTo` model calls
 * were made first.
 * || One turn:
 * 1. Ask the model; the last model call of the run offers no tools.
 * 2. Yield `text` events as the reply arrives (`relay`).
 * 3. Append the message to the transcript and yield `turn`: a run can resume from here.
 * 4. A message without tool calls is the answer: return.
 * 5. Run the tool calls (`runCalls`): reads in parallel, writes one by one.
 * 6. Yield `result` as each call ends; append the results to the transcript in the order asked.
 * 7. Throw `Interrupted` when calls still wait for a decision (`untilEnd` yields `interrupt`).
 * 8. Start the next turn.
 */
export async function* turns(
  loop: Loop,
  turnOptions: TurnOptions,
  upTo = loop.options.maxIterations,
): AsyncGenerator<AgentEvent, Turn | undefined> {
  const { options, answer } = loop
  while (loop.callsMade < upTo) {
    const isLast = ++loop.callsMade === options.maxIterations
    const turn = yield* askModel(options, answer, { ...turnOptions, mayCall: turnOptions.mayCall && !isLast })
    if (turn.message.toolCalls.length === 0) return turn
    answer.markStale()
    yield* runCalls(turn.message.toolCalls, options)
  }
  return undefined
}

/** Runs the calls of a turn that a dead process left without results, but no `write` that may have started. */
export async function* resumeCalls({ options }: Loop): AsyncGenerator<AgentEvent, void> {
  const open = callsWithoutResult(options.messages)
  if (open.length > 0) yield* runCalls(open, options, { resumed: true })
}
