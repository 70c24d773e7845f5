import type { Step } from '../../agent/events.ts'
import { addUsage, type ModelUsage } from '../../agent/model.ts'
import type { Agent } from '../../configuration/agent.ts'
import { costOf, type FindPrices } from '../../configuration/model-schema.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { maxDurations, type ToolUse } from '../reports/series.ts'
import type { UsageEntry } from '../../sessions/message.ts'

/** Usage of a run: tokens per model, seconds per tool, and USD where prices are known. */
export function toUsage(calls: readonly ModelUsage[], steps: readonly Step[], { config, findPrices }: Priced): UsageEntry[] {
  return [...modelUsage(calls, findPrices), ...toolUsage(steps), ...toolCosts(steps, config.tools)]
}

interface Priced extends Pick<Agent, 'findPrices'> {
  config: Pick<AgentConfig, 'tools'>
}

function modelUsage(calls: readonly ModelUsage[], findPrices: FindPrices): UsageEntry[] {
  return [...Map.groupBy(calls, ({ model }) => model)].flatMap(([model, ofModel]) => {
    const { input, output, cachedInput, cacheWrite, reasoning } = ofModel.reduce(addUsage)
    const details = { input, output, cached_input: cachedInput, ...(cacheWrite && { cache_write: cacheWrite }), reasoning }
    const tokens: UsageEntry = { costAttribute: model, usage: input + output, unit: 'tokens', details }
    const prices = findPrices(model)
    if (!prices) return [tokens]
    // A call has a price of its own: a long call may cost more for each token.
    const cost = ofModel.reduce((sum, call) => sum + costOf(call, prices), 0)
    return [tokens, { costAttribute: model, usage: cost, unit: 'USD' } satisfies UsageEntry]
  })
}

/** The sum of a run's costs in USD; undefined where no model of the run has a price. */
export function costOfRun(usage: readonly UsageEntry[]): number | undefined {
  const costs = usage.filter(({ unit }) => unit === 'USD')
  return costs.length === 0 ? undefined : costs.reduce((sum, entry) => sum + entry.usage, 0)
}

/** The tools that the steps have called, each once. */
export function toolsOf(steps: readonly Step[]): ToolUse[] {
  if (steps.length === 0) return []
  return [...Map.groupBy(callsOf(steps), ({ tool }) => tool)].map(([tool, calls]) => ({
    tool,
    calls: calls.length,
    errors: calls.filter(({ status }) => status === 'error').length,
    durationsMs: calls.slice(0, maxDurations).map(({ durationMs }) => Math.round(durationMs)),
  }))
}

function callsOf(steps: readonly Step[]): Step[] {
  return steps.filter((step) => step.type === 'tool_call' || step.type === 'sub_agent_call')
}

function toolUsage(steps: readonly Step[]): UsageEntry[] {
  const perTool = new Map<string, number>()
  for (const step of callsOf(steps)) perTool.set(step.tool, (perTool.get(step.tool) ?? 0) + step.durationMs)
  return [...perTool].map(([tool, ms]) => ({ costAttribute: `tool:${tool}`, usage: ms / 1000, unit: 'seconds' }))
}

/** USD of the calls that the provider ran, for tools with a price. Providers do not bill failed calls. */
function toolCosts(steps: readonly Step[], tools: AgentConfig['tools']): UsageEntry[] {
  const calls = steps.filter(({ isOfProvider, status }) => isOfProvider && status === 'success')
  if (calls.length === 0) return []
  return tools.flatMap(({ name, config }): UsageEntry[] => {
    const price = config?.['price']
    const count = calls.filter(({ tool }) => tool === name).length
    return typeof price === 'number' && count > 0 ? [{ costAttribute: `tool:${name}`, usage: price * count, unit: 'USD' }] : []
  })
}

export function totalsOf(calls: readonly ModelUsage[]): { promptTokens: number; completionTokens: number } {
  return {
    promptTokens: calls.reduce((sum, call) => sum + call.input, 0),
    completionTokens: calls.reduce((sum, call) => sum + call.output, 0),
  }
}
