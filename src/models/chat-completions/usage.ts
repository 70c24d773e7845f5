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
  const { prompt_tokens_details: details } = usage
  const input = toTokenCount(usage.prompt_tokens)
  const { output, reasoning } = toOutput(usage, input)
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
    output,
    cachedInput: toTokenCount(details?.cached_tokens ?? usage.cached_tokens ?? usage.prompt_cache_hit_tokens),
    ...(cacheWrite > 0 && { cacheWrite }),
    reasoning,
  }
}

/** xAI and Google count the reasoning beside the completion, which only the total shows. Google does not state the reasoning. */
function toOutput({ completion_tokens, total_tokens, completion_tokens_details: details }: WireUsage, input: number) {
  const completion = toTokenCount(completion_tokens)
  const reasoning = toTokenCount(details?.reasoning_tokens)
  const beside = Math.max(0, toTokenCount(total_tokens) - input - completion)
  if (reasoning > 0) return { output: beside === reasoning ? completion + reasoning : completion, reasoning }
  return { output: completion + beside, reasoning: beside }
}
