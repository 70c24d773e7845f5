import { errorOf } from '../../../../runs/log/outcome.ts'
import type { LastEvent } from '../../../../runs/run.ts'
import type { UsageEntry } from '../../../../sessions/message.ts'
import { tokensOf } from '../tokens.ts'

/** The status of a response, and the fields that follow from the end of its run. */

export type EndStatus = 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** `completed` for an answer that the model finished itself, and for calls of client tools alone. */
export function statusOf(end: LastEvent): 'completed' | 'incomplete' {
  if (end.type === 'interrupt') return end.calls.every(({ by }) => by === 'client') ? 'completed' : 'incomplete'
  return end.reason === 'stop' ? 'completed' : 'incomplete'
}

export function endStatusOf(end: LastEvent): EndStatus {
  if (end.type === 'end' && end.reason === 'cancelled') return 'cancelled'
  return errorOf(end) ? 'failed' : statusOf(end)
}

export function incompleteReason(end: LastEvent): string {
  if (end.type === 'interrupt') return 'approval_required'
  return end.reason === 'content_filter' ? end.reason : 'max_output_tokens'
}

/** The tokens of one part of a run: the usage of the end without the usage of the part before. */
export function usageOf(end: LastEvent, before: readonly UsageEntry[] = []): object {
  const total = tokensOf(end.usage)
  const earlier = tokensOf(before)
  return {
    input_tokens: total.input - earlier.input,
    input_tokens_details: { cached_tokens: total.cached - earlier.cached, cache_write_tokens: total.written - earlier.written },
    output_tokens: total.output - earlier.output,
    output_tokens_details: { reasoning_tokens: total.reasoning - earlier.reasoning },
    total_tokens: total.total - earlier.total,
  }
}
