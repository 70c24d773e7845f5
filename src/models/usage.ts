import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import type { ModelUsage } from '../agent/model.ts'

/** No answer uses a billion tokens. The limit keeps sums of token counts exact. */
const maxTokens = 1_000_000_000

/** Sanitizes a token count: an invalid, negative or absurd count becomes 0. A wrong count must not fail a run that has its answer. */
export function toTokenCount(tokens: unknown): number {
  return typeof tokens === 'number' && tokens >= 0 && tokens <= maxTokens ? Math.floor(tokens) : 0
}

/** Token counts of chat completions in the forms of the servers. */
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

/** xAI and Google count the reasoning beside the completion, which only the total shows. Google does not state the reasoning. */
export function fromWireUsage(model: string, usage: WireUsage = {}): ModelUsage {
  const { prompt_tokens_details: details } = usage
  const input = toTokenCount(usage.prompt_tokens)
  const completion = toTokenCount(usage.completion_tokens)
  const reasoning = toTokenCount(usage.completion_tokens_details?.reasoning_tokens)
  const beside = Math.max(0, toTokenCount(usage.total_tokens) - input - completion)
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
    output: reasoning > 0 && beside !== reasoning ? completion : completion + beside,
    cachedInput: toTokenCount(details?.cached_tokens ?? usage.cached_tokens ?? usage.prompt_cache_hit_tokens),
    ...(cacheWrite > 0 && { cacheWrite }),
    reasoning: reasoning > 0 ? reasoning : beside,
  }
}

export function fromSdkUsage(model: string, { inputTokens, outputTokens }: LanguageModelV4Usage): ModelUsage {
  return {
    model,
    input: toTokenCount(inputTokens.total),
    output: toTokenCount(outputTokens.total),
    cachedInput: toTokenCount(inputTokens.cacheRead),
    ...(inputTokens.cacheWrite ? { cacheWrite: toTokenCount(inputTokens.cacheWrite) } : {}),
    reasoning: toTokenCount(outputTokens.reasoning),
  }
}
