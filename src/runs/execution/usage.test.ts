import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Step } from '../../agent/events.ts'
import type { ModelUsage } from '../../agent/model.ts'
import { type Prices, costOf, type ModelPrices } from '../../configuration/model-schema.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { toUsage, totalsOf } from './finish.ts'

const used = (model: string, input: number, output: number, cachedInput = 0, reasoning = 0): ModelUsage => ({
  model,
  input,
  output,
  cachedInput,
  reasoning,
})

function step(tool: string, durationMs: number): Step {
  const ended = { log: '', output: null, status: 'success' } as const
  return { id: 'c1', type: 'tool_call', tool, input: {}, startedAt: 0, durationMs, ...ended }
}

const free = { config: { tools: [] }, findPrices: () => undefined }

const priced = (rates: Record<string, Prices>, tools: AgentConfig['tools'] = []) => ({
  config: { tools },
  findPrices: (model: string): ModelPrices | undefined => rates[model] && { rates: rates[model] },
})

test('tokens are summed per model, in the order of first use', () => {
  assert.deepEqual(toUsage([used('a', 10, 5, 4, 2), used('b', 1, 1), used('a', 20, 5, 6, 1)], [], free), [
    { costAttribute: 'a', usage: 40, unit: 'tokens', details: { input: 30, output: 10, cached_input: 10, reasoning: 3 } },
    { costAttribute: 'b', usage: 2, unit: 'tokens', details: { input: 1, output: 1, cached_input: 0, reasoning: 0 } },
  ])
})

test('a model with prices has its cost behind its tokens, also one that only stood in', () => {
  const prices = { input: 2, output: 8, cached_input: 0.5 }
  const usage = toUsage(
    [used('a', 1_000_000, 500_000, 400_000), used('b', 1_000_000, 0, 500_000)],
    [],
    priced({ a: prices, b: { input: 1, output: 1 } }),
  )
  assert.deepEqual(
    usage.filter((entry) => entry.unit === 'USD'),
    [
      // 0.6 million at 2, 0.4 at 0.5, 0.5 at 8.
      { costAttribute: 'a', usage: 5.4, unit: 'USD' },
      // Cached input without a price of its own costs what input costs.
      { costAttribute: 'b', usage: 1, unit: 'USD' },
    ],
  )
  assert.deepEqual(
    usage.map((entry) => `${entry.costAttribute} ${entry.unit}`),
    ['a tokens', 'a USD', 'b tokens', 'b USD'],
  )
})

test('input that was written to a prompt cache is kept, and has a price of its own', () => {
  const prices = { input: 2, output: 8, cached_input: 0.5, cache_write: 2.5 }
  const first = { ...used('a', 1_000_000, 0), cacheWrite: 800_000 }
  const second = { ...used('a', 1_000_000, 100_000, 800_000), cacheWrite: 200_000 }
  const details = { input: 2_000_000, output: 100_000, cached_input: 800_000, cache_write: 1_000_000, reasoning: 0 }
  assert.deepEqual(toUsage([first, second], [], priced({ a: prices })), [
    { costAttribute: 'a', usage: 2_100_000, unit: 'tokens', details },
    // 0.2 million at 2, 0.8 at 0.5, 1 at 2.5, 0.1 at 8.
    { costAttribute: 'a', usage: 4.1, unit: 'USD' },
  ])
})

test('written input without a price of its own costs what input costs', () => {
  assert.equal(costOf({ ...used('a', 1_000_000, 0), cacheWrite: 500_000 }, { rates: { input: 2, output: 8 } }), 2)
})

test('each call has the price of its own length', () => {
  const rates = { input: 1, output: 0 }
  const long = { above: 200_000, rates: { input: 2, output: 0 } }
  const agent = { config: { tools: [] }, findPrices: (): ModelPrices => ({ rates, long }) }
  const usage = toUsage([used('a', 200_000, 0), used('a', 200_001, 0)], [], agent)
  assert.deepEqual(usage.at(-1), { costAttribute: 'a', usage: 0.2 + 0.400002, unit: 'USD' })
})

test('tools are summed by their seconds', () => {
  assert.deepEqual(toUsage([], [step('add', 250), step('look', 0), step('add', 1000)], free), [
    { costAttribute: 'tool:add', usage: 1.25, unit: 'seconds' },
    { costAttribute: 'tool:look', usage: 0, unit: 'seconds' },
  ])
})

test('the totals are over all models', () => {
  assert.deepEqual(totalsOf([used('a', 10, 5), used('b', 1, 2)]), { promptTokens: 11, completionTokens: 7 })
  assert.deepEqual(totalsOf([]), { promptTokens: 0, completionTokens: 0 })
})

test('calls that the provider ran have the price of their tool, without failed calls', () => {
  const call = (status: Step['status'] = 'success'): Step => ({ ...step('web_search', 500), isOfProvider: true, status })
  const tools = [
    { name: 'web_search', type: 'provider', config: { tool: 'web_search', price: 0.25 } },
    { name: 'code', type: 'provider', config: { tool: 'code', price: 1 } },
  ]
  assert.deepEqual(toUsage([], [call(), call('error'), call(), step('add', 1000)], priced({}, tools)), [
    { costAttribute: 'tool:web_search', usage: 1.5, unit: 'seconds' },
    { costAttribute: 'tool:add', usage: 1, unit: 'seconds' },
    { costAttribute: 'tool:web_search', usage: 0.5, unit: 'USD' },
  ])
})

test('two models of one name are one line of tokens, and each call has the price of its own model', () => {
  const rates = (input: number) => ({ rates: { input, output: 0 } })
  const findPrices = (_: string, place?: string) => (place === 'llms.fallback[0]' ? rates(5) : rates(1))
  const [tokens, usd] = toUsage([used('a', 1_000_000, 0), { ...used('a', 1_000_000, 0), place: 'llms.fallback[0]' }], [], {
    ...free,
    findPrices,
  })
  assert.deepEqual([tokens?.usage, usd?.usage], [2_000_000, 6])
})
