import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { ConfigError } from '../../src/configuration/problems.ts'
import { createFolder, runIn } from '../../src/cli/terminal-fixture.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { scripted, startService } from '../fixtures/service.ts'

const prices = { input: 1, output: 3 }
const budgets = [{ name: 'tenant-month', scope: 'tenant', window: 'month', limit: { usd: 1 } }]
const message = 'has no price, so that budget tenant-month cannot count it'

test('a change to a budget in USD beside a model without a price is refused at the model, also when it is only checked', async (t) => {
  const { as, model } = await startService(t, { script: {}, modelFields: { prices } })
  const admin = await as({ sub: 'root', roles: ['admin'] })
  const put = (configuration: object, validate_only: boolean) =>
    admin.request('PUT', '/core/v1/agent/config', { body: { configuration, validate_only } })
  const unpriced = { llms: { fallback: [{ ...scripted(model), model: 'other', prices: 'none' }] }, budgets }
  for (const validate_only of [true, false]) {
    const refused = await put(unpriced, validate_only)
    assert.equal(refused.status, 422, refused.text)
    const [fault] = refused.body.detail
    assert.deepEqual([fault.loc.slice(-4), fault.msg], [['llms', 'fallback', 0, 'prices'], message])
  }
  const priced = { llms: { fallback: [{ ...scripted(model), model: 'other', prices }] }, budgets }
  assert.equal((await put(priced, true)).status, 200)
})

test('`config check` and doctor name the model without a price', async (t) => {
  const folder = await createFolder(t)
  const own = { provider: 'openai-compatible', model: 'm', base_url: 'http://127.0.0.1:1/v1', api_key: 'k' }
  await writeFile(path.join(folder, 'agent.yaml'), stringify({ llms: { primary: own }, budgets }))
  const checked = await runIn(folder, ['config', 'check'])
  assert.equal(checked.code, 1)
  assert.match(checked.out + checked.err, new RegExp(`llms.primary.prices: ${message}`))
  const { out } = await runIn(folder, ['doctor'])
  assert.match(out, new RegExp(`fail +configuration: llms.primary.prices: ${message}`))
})

test('a service does not start with a budget in USD and a model without a price', async (t) => {
  const model = await startModelServer({})
  t.after(() => model.close())
  const embedding = { ...scripted(model), model: 'e' }
  await assert.rejects(
    startService(t, { script: {}, config: { budgets, llms: { primary: { provider: 'embedded', model: 'rules-1' }, embedding } } }),
    (error) => error instanceof ConfigError && error.message === `llms.embedding.prices: ${message}`,
  )
})

test('a fallback of the same name is paid at its own price, and a run states the same cost', async (t) => {
  const [down, up] = [await startModelServer({ status: 400, body: {} }), await startModelServer({ usage: { input: 1000, output: 0 } })]
  t.after(() => Promise.all([down.close(), up.close()]))
  const llms = { primary: { ...scripted(down), prices }, fallback: [{ ...scripted(up), prices: { input: 7, output: 9 } }] }
  const caller = [{ name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.02 } }]
  const { client } = await startService(t, { script: {}, config: { llms, budgets: caller, limits: { reserve_output_tokens: 300 } } })
  const first = await client.chat('Hello')
  assert.equal(first.status, 200, first.text)
  const usd = first.body.body.usage?.find(({ unit }: { unit: string }) => unit === 'USD')
  assert.equal(usd?.usage, 0.007, first.text)
  await client.chat('Hello')
  const refused = await client.chat('x'.repeat(20_000))
  assert.equal(refused.status, 429)
  assert.deepEqual(refused.body.details.spent, { usd: 0.014 })
})
