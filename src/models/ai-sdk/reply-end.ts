import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { ModelReply, ModelUsage } from '../../agent/model.ts'
import { toTokenCount } from '../reply-limits.ts'

/** Ends of a model that has failed at its own call: another attempt may succeed. */
const brokenEnds = new Set([
  'UNEXPECTED_TOOL_CALL',
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'malformed_tool_use',
  'malformed_model_output',
])

/** How a reply ended; undefined for a reply that is not whole. */
export function toFinish({ unified, raw }: LanguageModelV4FinishReason, hasCalls: boolean): ModelReply['finish'] | undefined {
  if (raw !== undefined && brokenEnds.has(raw)) return undefined
  if (unified === 'length') return 'length'
  // The package (google 4.0) does not know this filter.
  if (unified === 'content-filter' || raw === 'MODEL_ARMOR') return 'content_filter'
  if (unified === 'stop' || unified === 'tool-calls') return hasCalls ? 'tool_calls' : 'stop'
  // A finish reason unknown to the SDK is a regular end. A stream without a finish reason broke off.
  return unified === 'other' && raw !== undefined ? (hasCalls ? 'tool_calls' : 'stop') : undefined
}

export function toUsage(model: string, { inputTokens, outputTokens }: LanguageModelV4Usage): ModelUsage {
  return {
    model,
    input: toTokenCount(inputTokens.total),
    output: toTokenCount(outputTokens.total),
    cachedInput: toTokenCount(inputTokens.cacheRead),
    ...(inputTokens.cacheWrite ? { cacheWrite: toTokenCount(inputTokens.cacheWrite) } : {}),
    reasoning: toTokenCount(outputTokens.reasoning),
  }
}
