import type { LastEvent } from '../../../runs/run.ts'
import type { UsageEntry } from '../../../sessions/message.ts'

interface Tokens {
  input: number
  output: number
  total: number
  cached: number
  written: number
  reasoning: number
}

/** The token counts of a run since an earlier point, whose usage is `before`. */
export function tokensSince(before: readonly UsageEntry[], usage: readonly UsageEntry[]): Tokens {
  const all = tokensOf(usage)
  const earlier = tokensOf(before)
  return {
    input: all.input - earlier.input,
    output: all.output - earlier.output,
    total: all.total - earlier.total,
    cached: all.cached - earlier.cached,
    written: all.written - earlier.written,
    reasoning: all.reasoning - earlier.reasoning,
  }
}

/** The token counts of a run, summed over its models. */
export function tokensOf(usage: readonly UsageEntry[]): Tokens {
  const sum: Tokens = { input: 0, output: 0, total: 0, cached: 0, written: 0, reasoning: 0 }
  for (const { unit, details } of usage) {
    if (unit !== 'tokens' || !details) continue
    sum.input += details.input
    sum.output += details.output
    sum.cached += details.cached_input
    sum.written += details.cache_write ?? 0
    sum.reasoning += details.reasoning
  }
  return { ...sum, total: sum.input + sum.output }
}

/** The finish reason in OpenAI's terms. A run out of time or iterations has its best answer so far, which counts as `length`. */
export function finishReasonOf(last: LastEvent): 'stop' | 'length' | 'content_filter' | 'tool_calls' {
  // OpenAI has no finish reason for an approval; with `stop` clients end their turn.
  if (last.type === 'interrupt') return last.calls.some(({ by }) => by === 'client') ? 'tool_calls' : 'stop'
  if (last.reason === 'content_filter') return last.reason
  return last.reason === 'stop' ? 'stop' : 'length'
}
