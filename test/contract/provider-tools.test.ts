import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startModelServer } from '../fixtures/model-server.ts'
import { endOf, startExperiment } from '../fixtures/refund-shop.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const entry = { name: 'web_search', type: 'provider', config: { tool: 'web_search', price: 0.01 } }

test('a tool of the provider is listed, and no request can run it', async (t) => {
  const { client } = await startService(t, { script: [{ text: 'ok' }], config: { tools: [entry] } })
  await client.chat('hello')
  const { body } = await client.request('GET', '/core/v1/tools')
  const listed = body.tools.find(({ name }: { name: string }) => name === 'web_search')
  assert.deepEqual([listed.status, listed.description], ['ready', 'Searches the web. Run by the provider of the model.'])
  const executed = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'web_search', tool_input: {} } })
  assert.equal(executed.status, 400)
  assert.match(executed.body.body, /runs at the provider of the model: only a model can use it/)
})

test('a model without the tool that asks for it anyway reads that it cannot be called', async (t) => {
  const { client, model } = await startService(t, { script: [callOf('web_search', {}), { text: 'Without.' }], config: { tools: [entry] } })
  const { body } = await client.chat('search')
  assert.equal(body.body.output, 'Without.')
  assert.equal(
    body.body.usage.some(({ unit }: { unit: string }) => unit === 'USD'),
    false,
  )
  const [first, second] = model.requests.map((request) => request.body)
  const names = first.tools.map((tool: { function: { name: string } }) => tool.function.name)
  assert.equal(names.includes('web_search'), false, 'the server has no such tool')
  assert.match(second.messages.at(-1).content, /web_search can't be called: only the provider of a model runs it/)
  const [step] = body.body.intermediate_steps
  assert.deepEqual([step.tool, step.status], ['web_search', 'error'])
})

test('a replay offers no tool to the provider, but for a read that the experiment names', async (t) => {
  const provider = await startModelServer({ status: 400, body: { error: { message: 'Not today.' } } })
  t.after(() => provider.close())
  const primary = { provider: 'openai', model: 'gpt-5.1', base_url: provider.url, api_key: 'k' }
  const tools = [entry, { name: 'calculator' }]
  const service = await startService(t, { config: { llms: { primary }, tools } })
  const client = await service.as({ roles: ['admin'] })
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'one' } })
  const input = { messages: [{ role: 'human', content: 'Search.' }] }
  await client.request('POST', `/core/v1/datasets/${dataset.id}/examples`, { body: { input } })
  const offered = async (more: object) => {
    const before = provider.requests.length
    const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset.id, ...more }))
    assert.equal(ended.variants[0].errors, 1)
    return provider.requests.slice(before).flatMap(({ body }) => body.tools.map(({ type }: { type: string }) => type))
  }
  assert.deepEqual(new Set(await offered({})), new Set(['function']))
  assert.deepEqual(new Set(await offered({ tools: { on_miss: 'live', live: ['web_search'] } })), new Set(['function', 'web_search']))
  const remote = { name: 'remote', type: 'provider', config: { tool: 'mcp', server_url: provider.url } }
  const body = { dataset_id: dataset.id, candidate: { patch: { tools: [remote] } } }
  const refused = await client.request('POST', '/core/v1/experiments', { body })
  assert.deepEqual([refused.status, refused.body.detail[0].loc], [422, ['body', 'candidate']], refused.text)
})
