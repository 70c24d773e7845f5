import { toStreamError, type Origin } from './failures.ts'

/** Limits for replies of model servers, for all protocols. */

/** Limit of tool calls in an answer. Each call is a step of the run, which is stored and sent to readers. */
const maxCalls = 500

/** Limit of the characters of an answer, so that an endless answer cannot fill the memory. */
const maxCharacters = 16 * 1024 * 1024

/** No answer uses a billion tokens. The limit keeps sums of token counts exact. */
const maxTokens = 1_000_000_000

/** Throws `ModelError` if an answer has too many tool calls. */
export function checkCallCount(count: number, origin: Origin): void {
  if (count > maxCalls) throw toStreamError(origin, `the answer has more than ${maxCalls} tool calls`)
}

/** Throws `ModelError` if an answer is too long. */
export function checkLength(characters: number, origin: Origin): void {
  if (characters > maxCharacters) throw toStreamError(origin, 'the answer is too long')
}

/** Sanitizes a token count: an invalid, negative or absurd count becomes 0. A wrong count must not fail a run that has its answer. */
export function toTokenCount(tokens: unknown): number {
  return typeof tokens === 'number' && tokens >= 0 && tokens <= maxTokens ? Math.floor(tokens) : 0
}
