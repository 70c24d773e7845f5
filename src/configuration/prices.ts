import type { ModelUsage } from '../agent/model.ts'
import type { Prices } from './model-schema.ts'

/** Prices of a model, in USD per million tokens. */
export interface ModelPrices {
  /** The date of the service's own price list, for example `2026-09-23`; absent for prices from agent.yaml. */
  date?: string
  rates: Prices
  /** Prices of a call with more than `above` input tokens, where a provider charges more for these. */
  long?: { above: number; rates: Prices }
}

/** Prices of the configured models, by the name of the model; undefined where no price is known. */
export type FindPrices = (model: string) => ModelPrices | undefined

const tokensPerPrice = 1_000_000

/** USD of a model call. */
export function costOf({ input, output, cachedInput, cacheWrite = 0 }: ModelUsage, { rates, long }: ModelPrices): number {
  const prices = long && input > long.above ? long.rates : rates
  const cached = cachedInput * (prices.cached_input ?? prices.input)
  const written = cacheWrite * (prices.cache_write ?? prices.input)
  const plain = Math.max(input - cachedInput - cacheWrite, 0) * prices.input
  return (plain + cached + written + output * prices.output) / tokensPerPrice
}
