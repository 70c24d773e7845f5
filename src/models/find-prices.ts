import { createRequire } from 'node:module'
import type * as GenaiPrices from '@pydantic/genai-prices'
import { listModels } from '../configuration/models/findings.ts'
import type { Prices, FindPrices, ModelPrices } from '../configuration/model-schema.ts'
import { formatPath, problemAt, type ConfigProblem } from '../configuration/problems.ts'
import type { Provider } from '../configuration/providers.ts'
import { resolveReferences, type Environment } from '../configuration/references.ts'
import type { AgentConfig, ModelConfig } from '../configuration/schema.ts'

/** The day on which the version of `@pydantic/genai-prices` in package.json was published. */
export const pricesDate = '2026-09-23'

/** Prices of the models of a configuration: those of agent.yaml, else those of the price list, which is loaded at its first use. */
export function createFindPrices(llms: AgentConfig['llms'], environment: Environment): FindPrices {
  const found = new Map<string, ModelPrices | undefined>()
  return (model, place = '') => {
    const key = `${place} ${model}`
    if (!found.has(key)) {
      const named = listModels(llms).filter(({ config }) => config.model === model)
      const listed = named.find(({ at }) => formatPath(at) === place) ?? named[0]
      found.set(key, listed && pricesOf(listed.config, environment))
    }
    return found.get(key)
  }
}

/** Models without a price beside a budget in USD, which could not count the calls of these models. */
export function findUnpriced({ llms, budgets = [] }: Pick<AgentConfig, 'llms' | 'budgets'>, environment: Environment): ConfigProblem[] {
  const budget = budgets.find(({ limit }) => limit.usd !== undefined)
  const priced = budget ? listModels(llms).filter(({ config }) => config.provider !== 'embedded') : []
  const unpriced = priced.filter(({ config }) => !pricesOf(config, environment))
  return unpriced.map(({ at }) => problemAt([...at, 'prices'], `has no price, so that budget ${budget?.name} cannot count it`))
}

/** Prices of one configured model. */
export function pricesOf(config: ModelConfig, environment: Environment): ModelPrices | undefined {
  if (config.prices === 'none') return undefined
  if (config.prices) return { rates: config.prices }
  const server = toServer(config, environment)
  const listPrices = server && load().calcPrice({ input_tokens: 1 }, config.model, server)?.model_price
  return listPrices && toPrices(listPrices)
}

const nameInList: Partial<Record<Provider, string>> = {
  openai: 'openai',
  azure: 'azure',
  anthropic: 'anthropic',
  google: 'google',
  mistral: 'mistral',
  xai: 'x-ai',
  'amazon-bedrock': 'aws',
}

/** The server in the terms of the price list; undefined for servers without a public price, such as a server of the own network. */
function toServer({ provider, base_url: baseUrl }: ModelConfig, environment: Environment): GenaiPrices.PriceOptions | undefined {
  const name = nameInList[provider]
  // Azure has an address for each customer, with the same prices.
  if (baseUrl === undefined || provider === 'azure') return name === undefined ? undefined : { providerId: name }
  const found = load().findProvider({ providerApiUrl: addressOf(baseUrl, environment) })
  return found && { provider: found }
}

/** An address with a variable that is not set has no price; the fault is reported where the model is made. */
function addressOf(baseUrl: string, environment: Environment): string {
  try {
    return resolveReferences(baseUrl, environment)
  } catch {
    return ''
  }
}

/** A model that is charged by time or by picture has no prices here. */
function toPrices(price: GenaiPrices.ModelPrice): ModelPrices | undefined {
  const rates = toRates(price, (value) => (typeof value === 'object' ? value.base : value))
  if (!rates) return undefined
  const tiers = Object.values(price).flatMap((value) => (typeof value === 'object' ? value.tiers.map(({ start }) => start) : []))
  if (tiers.length === 0) return { date: pricesDate, rates }
  const above = Math.min(...tiers)
  const long = toRates(price, (value) => (typeof value === 'object' ? (value.tiers.at(-1)?.price ?? value.base) : value))
  return { date: pricesDate, rates, ...(long && { long: { above, rates: long } }) }
}

function toRates(price: GenaiPrices.ModelPrice, rateOf: (value: GenaiPrices.ModelPrice[string]) => number | undefined): Prices | undefined {
  const [input, output = 0] = [rateOf(price['input_mtok']), rateOf(price['output_mtok'])]
  if (input === undefined) return undefined
  const [cached, written] = [rateOf(price['cache_read_mtok']), rateOf(price['cache_write_mtok'])]
  return { input, output, ...(cached !== undefined && { cached_input: cached }), ...(written !== undefined && { cache_write: written }) }
}

/** The prices of a model as one line, with the place where they can be set. */
export function describePrices(prices: ModelPrices | undefined): string {
  if (!prices) return 'no cost is stated: the model has no `prices` in agent.yaml, and the service knows none'
  const { rates, long, date } = prices
  const lines = [`${rates.input} USD per million tokens of input, ${rates.output} of output`]
  if (long) lines.push(`${long.rates.input} and ${long.rates.output} above ${long.above} tokens`)
  return `${lines.join('; ')} (${date === undefined ? 'from agent.yaml' : `price list of ${date}; \`prices\` in agent.yaml overrides`})`
}

const require = createRequire(import.meta.url)

/** The list has 480 KB of text: a service whose models have prices, or cost nothing, never reads the list. */
function load(): typeof GenaiPrices {
  return require('@pydantic/genai-prices') as typeof GenaiPrices
}
