import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { parseAgentConfig } from '../configuration/parse.ts'
import type { ModelConfig } from '../configuration/schema.ts'
import { createFindPrices, findUnpriced, pricesDate, pricesOf } from './find-prices.ts'

const known = (config: ModelConfig) => pricesOf(config, { HOST: 'api.deepseek.com' })

test('well-known models have prices, each at its own provider', () => {
  assert.deepEqual(known({ provider: 'anthropic', model: 'claude-opus-4-8' }), {
    date: pricesDate,
    rates: { input: 5, output: 25, cached_input: 0.5, cache_write: 6.25 },
  })
  const models: ModelConfig[] = [
    { provider: 'openai', model: 'gpt-5.6' },
    { provider: 'azure', model: 'gpt-5-mini', base_url: 'https://mine.openai.azure.com' },
    { provider: 'google', model: 'gemini-2.5-flash' },
    { provider: 'mistral', model: 'mistral-medium-latest' },
    { provider: 'xai', model: 'grok-4.5' },
    { provider: 'amazon-bedrock', model: 'anthropic.claude-opus-4-8-v1:0' },
    { provider: 'openai-compatible', model: 'deepseek-chat', base_url: 'https://${HOST}/v1' },
  ]
  for (const config of models) {
    const prices = known(config)
    assert.ok(prices && prices.rates.input > 0 && prices.rates.output > prices.rates.input, config.model)
  }
})

test('a long call has the prices that the provider has for such calls', () => {
  const prices = known({ provider: 'google', model: 'gemini-2.5-pro' })
  assert.deepEqual(prices?.long?.above, 200_000)
  assert.ok(prices.long.rates.input > prices.rates.input)
})

test('a model without a public price has none: the embedded model, an own server, a gateway, an unknown name or address', () => {
  const models: ModelConfig[] = [
    { provider: 'embedded', model: 'rules-1' },
    { provider: 'openai-compatible', model: 'gpt-5', base_url: 'http://127.0.0.1:11434/v1' },
    { provider: 'openai', model: 'gpt-5', base_url: 'https://gateway.example/v1' },
    { provider: 'openai', model: 'of-tomorrow' },
    { provider: 'openai-compatible', model: 'gpt-5', base_url: 'https://${NOT_SET}/v1' },
  ]
  for (const config of models) assert.equal(known(config), undefined, JSON.stringify(config))
})

test('agent.yaml overrides a known price, and turns it off', () => {
  const { llms } = parseAgentConfig(`llms:
  primary: { provider: openai, model: gpt-5, api_key: k, prices: { input: 7, output: 9 } }
  fallback: [{ provider: openai, model: gpt-5-mini, api_key: k, prices: none }]
  small: { provider: openai, model: gpt-5-nano, api_key: k }`)
  const find = createFindPrices(llms, {})
  assert.deepEqual(find('gpt-5'), { rates: { input: 7, output: 9 } })
  assert.equal(find('gpt-5-mini'), undefined)
  assert.equal(find('gpt-5-nano')?.date, pricesDate)
  assert.equal(find('another'), undefined)
})

test('the date of the price list is that of its version', async () => {
  const { dependencies } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.deepEqual([dependencies['@pydantic/genai-prices'], pricesDate], ['0.1.8', '2026-09-23'])
})

test('of two models with one name, each has the prices of its place', () => {
  const { llms } = parseAgentConfig(`llms:
  primary: { provider: openai, model: gpt-5, api_key: k, prices: { input: 1, output: 2 } }
  fallback: [{ provider: azure, model: gpt-5, api_key: k, base_url: 'https://a.example', prices: { input: 5, output: 6 } }]
  small: { provider: openai, model: gpt-5-mini, api_key: k, prices: none }`)
  const find = createFindPrices(llms, {})
  assert.deepEqual(find('gpt-5'), { rates: { input: 1, output: 2 } })
  assert.deepEqual(find('gpt-5', 'llms.fallback[0]'), { rates: { input: 5, output: 6 } })
  // A place that another model has taken since: the name decides.
  assert.deepEqual(find('gpt-5', 'llms.small'), { rates: { input: 1, output: 2 } })
})

test('a budget in USD needs a price for each model but the embedded one; a budget in tokens needs none', () => {
  const config = (limit: string) =>
    parseAgentConfig(`llms:
  primary: { provider: embedded, model: rules-1 }
  fallback: [{ provider: openai, model: gpt-5, api_key: k }, { provider: openai, model: of-tomorrow, api_key: k }]
  small: { provider: openai, model: gpt-5-mini, api_key: k, prices: none }
  embedding: { provider: openai-compatible, model: e, base_url: 'http://127.0.0.1:1/v1', prices: { input: 0, output: 0 } }
budgets: [{ name: tenant-month, scope: tenant, window: month, limit: ${limit} }]`)
  const message = 'has no price, so that budget tenant-month cannot count it'
  assert.deepEqual(
    findUnpriced(config('{ tokens: 1, usd: 1 }'), {}).map(({ path, message }) => ({ path, message })),
    [
      { path: 'llms.fallback[1].prices', message },
      { path: 'llms.small.prices', message },
    ],
  )
  assert.deepEqual(findUnpriced(config('{ tokens: 1 }'), {}), [])
})
