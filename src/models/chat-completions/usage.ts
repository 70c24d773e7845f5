import type { ModelUsage } from '../../agent/model.ts'
import { toTokenCount } from '../reply-limits.ts'

/** Token counts in the forms of the servers. */
export interface WireUsage {
  prompt_tokens?: number
  completion_tokens?: number
  total_tokens?: number
  prompt_tokens_details?: {
    cached_tokens?: number
    cache_write_tokens?: number
    cache_creation_tokens?: number
    cache_creation_input_tokens?: number
  } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
  /** Moonshot's place for the tokens of the cache. */
  cached_tokens?: number
  /** DeepSeek's place for the tokens of the cache. */
  prompt_cache_hit_tokens?: number
  cache_write_tokens?: number
  cache_creation_input_tokens?: number
}

export function toUsage(model: string, usage: WireUsage = {}): ModelUsage {
  const { prompt_tokens_details: details, total_tokens: total } = usage
  const input = toTokenCount(usage.prompt_tokens)
  const completion = toTokenCount(usage.completion_tokens)
  const reasoning = toTokenCount(usage.completion_tokens_details?.reasoning_tokens)
  // xAI counts the reasoning beside the completion, which the total shows.
  const isBeside = reasoning > 0 && total === input + completion + reasoning
  const cacheWrite = toTokenCount(
    details?.cache_write_tokens ??
      details?.cache_creation_tokens ??
      details?.cache_creation_input_tokens ??
      usage.cache_write_tokens ??
      usage.cache_creation_input_tokens,
  )
  return {
    model,
    input,
    output: isBeside ? completion + reasoning : completion,
    cachedInput: toTokenCount(details?.cached_tokens ?? usage.cached_tokens ?? usage.prompt_cache_hit_tokens),
    ...(cacheWrite > 0 && { cacheWrite }),
    reasoning,
  }
}
