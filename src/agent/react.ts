import type { AgentEvent, EndReason } from './events.ts'
import type { Message } from './messages.ts'
import { inSchema } from './structured-answer.ts'
import { startLoop, untilEnd, type Loop, type LoopOptions } from './loop.ts'
import { resumeCalls, turns } from './turns.ts'

/**
 * Reason, act, observe: asks the model, runs the requested tools and appends the results, until the model answers in
 * text alone. Ends with exactly one `end` event; a final model failure is thrown as `ModelError`.
 */
export function react(options: LoopOptions): AsyncGenerator<AgentEvent, void> {
  const loop = startLoop(options, lastText(options.messages))
  return untilEnd(loop, inSchema(loop, answerTurns(loop)))
}

/** Continues a transcript until the answer. */
export async function* answerTurns(loop: Loop): AsyncGenerator<AgentEvent, EndReason> {
  const { options } = loop
  if (isAnswered(options.messages)) return 'stop'
  yield* resumeCalls(loop)
  const turn = yield* turns(loop, { label: 'answer', mayCall: true })
  // A resumed run had no model calls left.
  if (!turn) return 'max_iterations'
  const isCut = loop.callsMade === options.maxIterations && options.tools().length > 0
  return isCut && turn.finish === 'stop' ? 'max_iterations' : turn.finish
}

/** True when a resumed run already has an answer. */
export function isAnswered(messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  return last?.role === 'assistant' && last.toolCalls.length === 0 && (last.text !== '' || last.artifacts !== undefined)
}

/** The agent's last text since the last user message; empty at the start of a run. */
export function lastText(messages: readonly Message[]): string {
  const since = messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1)
  return since.findLast((message) => message.role === 'assistant' && message.text !== '')?.text ?? ''
}
