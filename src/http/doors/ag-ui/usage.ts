import type { TokenUsage } from '@ag-ui/core'
import type { UsageEntry } from '../../../sessions/message.ts'

/** The tokens of each model since `before`: a run that resumes another reports its own model calls alone. */
export function toTokenUsage(usage: readonly UsageEntry[], before: readonly UsageEntry[]): TokenUsage[] {
  return usage.flatMap(({ unit, costAttribute: model, details }) => {
    if (unit !== 'tokens' || !details) return []
    const earlier = before.find((entry) => entry.unit === 'tokens' && entry.costAttribute === model)?.details
    const inputTokens = details.input - (earlier?.input ?? 0)
    const outputTokens = details.output - (earlier?.output ?? 0)
    if (inputTokens + outputTokens === 0) return []
    const cacheWriteInputTokens = (details.cache_write ?? 0) - (earlier?.cache_write ?? 0)
    return [
      {
        model,
        inputTokens,
        outputTokens,
        totalTokens: inputTokens + outputTokens,
        cachedInputTokens: details.cached_input - (earlier?.cached_input ?? 0),
        ...(cacheWriteInputTokens > 0 && { cacheWriteInputTokens }),
        reasoningTokens: details.reasoning - (earlier?.reasoning ?? 0),
      },
    ]
  })
}
