import type { LastEvent } from '../../runs/run.ts'
import type { UsageEntry } from '../../sessions/message.ts'

interface Tokens {
  input: number
  output: number
  total: number
  cached: number
  reasoning: number
}

/** Of all models that a run used. */
export function tokensOf(usage: readonly UsageEntry[]): Tokens {
  const sum: Tokens = { input: 0, output: 0, total: 0, cached: 0, reasoning: 0 }
  for (const { unit, details } of usage) {
    if (unit !== 'tokens' || !details) continue
    sum.input += details.input
    sum.output += details.output
    sum.cached += details.cached_input
    sum.reasoning += details.reasoning
  }
  return { ...sum, total: sum.input + sum.output }
}

/** Why an answer ends: a run that had no more turns or time has the best answer so far, cut like one of too many tokens. */
export function finishReasonOf(last: LastEvent): 'stop' | 'length' | 'content_filter' {
  // There is no word for an approval; clients that do not know one end their turn.
  if (last.type === 'interrupt') return 'stop'
  if (last.reason === 'content_filter') return last.reason
  return last.reason === 'stop' ? 'stop' : 'length'
}
