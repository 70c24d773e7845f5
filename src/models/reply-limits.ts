import { toStreamError, type Origin } from './failures.ts'

/** Limits of what a model's server answers, whatever its protocol. */

/** Tool calls of one answer: models ask for a few. Each call is a step of the run, which is stored and sent to readers. */
const maxCalls = 500

/** No answer costs a billion tokens, and sums stay exact. */
const maxTokens = 1_000_000_000

/** Throws `ModelError` where an answer has more tool calls than a run can make. */
export function checkCallCount(count: number, origin: Origin): void {
  if (count > maxCalls) throw toStreamError(origin, `the answer has more than ${maxCalls} tool calls`)
}

/** A count that is no number, negative or absurd is 0: token counts are added up and stored, and must not fail the run that was answered. */
export function toTokenCount(tokens: unknown): number {
  return typeof tokens === 'number' && tokens >= 0 && tokens <= maxTokens ? Math.floor(tokens) : 0
}
