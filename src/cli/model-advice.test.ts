import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { parseAgentConfig, toAgentConfig } from '../configuration/parse.ts'
import { createConnections } from '../models/connections.ts'
import { createModel } from '../models/create-model.ts'
import { adviseOnModels, findModelOffers } from './model-advice.ts'

async function listen(t: TestContext, handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address where nothing listens. */
async function closedPort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

const keys = {
  OPENAI_API_KEY: 'value-1',
  ANTHROPIC_API_KEY: 'value-2',
  GEMINI_API_KEY: 'value-3',
  GOOGLE_GENERATIVE_AI_API_KEY: 'value-4',
  MISTRAL_API_KEY: 'value-5',
  AZURE_OPENAI_API_KEY: 'value-6',
  XAI_API_KEY: 'value-8',
  AWS_ACCESS_KEY_ID: 'value-7',
}

test('keys are reported by name, never by value, and each line works in agent.yaml unchanged', async () => {
  const offers = await findModelOffers(keys, await closedPort())
  const names = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY and GOOGLE_GENERATIVE_AI_API_KEY', 'MISTRAL_API_KEY']
  assert.deepEqual(
    offers.map(({ source }) => source),
    [...names, 'AZURE_OPENAI_API_KEY', 'XAI_API_KEY', 'AWS_ACCESS_KEY_ID'].map((name) => `${name} in the environment`),
  )
  assert.doesNotMatch(JSON.stringify(offers), /value-/)
  const environment = { ...keys, BEDROCK_KEY_ID: 'a', BEDROCK_SECRET: 'b' }
  for (const { line } of offers) {
    const { llms } = toAgentConfig({ llms: parse(line) as unknown })
    createModel(llms.primary, { environment, connections: createConnections() })
  }
})

test('a key for the artifact bucket is not offered for a model', async () => {
  const environment = { AWS_ACCESS_KEY_ID: 'value', ARTIFACT_STORE: 's3://files' }
  assert.deepEqual(await findModelOffers(environment, await closedPort()), [])
})

test('an empty variable is no key', async () => {
  assert.deepEqual(await findModelOffers({ OPENAI_API_KEY: '' }, await closedPort()), [])
})

test('a reachable Ollama is offered with an installed model', async (t) => {
  const url = await listen(t, (request, response) => {
    response.statusCode = request.url === '/api/tags' ? 200 : 404
    response.end(JSON.stringify({ models: [{ name: 'qwen3:8b' }, { name: 'other' }] }))
  })
  const [offer, ...furtherOffers] = await findModelOffers({}, url)
  assert.equal(offer?.source, `Ollama at ${url}`)
  const { primary } = toAgentConfig({ llms: parse(offer.line) as unknown }).llms
  assert.deepEqual(primary, { provider: 'openai-compatible', model: 'qwen3:8b', base_url: `${url}/v1` })
  assert.deepEqual(furtherOffers, [])
})

test('a server that never answers delays the start by about 0.3 s', async (t) => {
  const url = await listen(t, () => undefined)
  const startedAt = performance.now()
  const lines = await adviseOnModels(parseAgentConfig(''), {}, url)
  assert.ok(performance.now() - startedAt < 5000)
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /works by rules, no language model/)
})

test('no advice is given if another model is in use', async () => {
  const config = parseAgentConfig('llms: { primary: { provider: openai, model: m, api_key: k } }')
  assert.deepEqual(await adviseOnModels(config, keys, await closedPort()), [])
})
