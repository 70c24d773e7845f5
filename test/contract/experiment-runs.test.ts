import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { answerRefund, endOf, recordRefunds, shopApi, shopTool, startExperiment, startRefundShop } from '../fixtures/refund-shop.ts'
import { startService } from '../fixtures/service.ts'

const path = '/core/v1/experiments'
/** Recorded runs. */
const runs = 50

async function start(t: TestContext, count = runs, config: object = {}) {
  const shop = await startRefundShop()
  t.after(() => shop.close())
  const service = await startService(t, {
    script: answerRefund,
    config: { instructions: 'You refund orders.', tools: [shopTool(shop, 'files/api.yaml')], ...config },
    files: { 'api.yaml': shopApi },
  })
  const client = await service.as({ roles: ['admin'] })
  const dataset = await recordRefunds(client, count)
  assert.equal(shop.refunds.length, count)
  const send = (method: string, at: string, body?: object) => client.request(method, `${path}${at}`, body && { body })
  /** Fails where a replay has reached the shop. */
  const assertUntouched = () => assert.equal(shop.refunds.length, count)
  return { ...service, client, send, shop, dataset, assertUntouched }
}

test('Experiments: the same version writes the same, reaches nothing, and passes', async (t) => {
  const { client, dataset, assertUntouched, send } = await start(t)
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset }))
  assert.deepEqual([ended.status, ended.verdict, ended.error, ended.done, ended.total], ['completed', 'passed', null, runs, runs])
  assert.deepEqual(ended.effects, { same: runs, added: 0, removed: 0, changed: 0 })
  const [baseline] = ended.variants
  assert.deepEqual([baseline.pass_rate, baseline.diverged, baseline.errors, baseline.flaky], [1, 0, 0, 0])
  assert.ok(baseline.tokens > 0 && baseline.p50 !== null)
  assertUntouched()
  const { results, has_more: hasMore } = (await send('GET', `/${ended.id}/results?limit=2`)).body
  assert.deepEqual([results.length, hasMore, results[0].baseline.output], [2, true, 'Refunded order 1.'])
  const { body: one } = await send('GET', `/${ended.id}/results/${results[0].example_id}`)
  const kinds = (trace: { kind: string; tool?: string }[]) => trace.map(({ kind, tool = kind }) => tool)
  assert.deepEqual(kinds(one.baseline.trace), ['reply', 'shop__order', 'reply', 'shop__refund', 'reply'])
  assert.deepEqual(kinds(one.recorded.trace), kinds(one.baseline.trace))
  assert.equal(one.baseline.trace[3].recorded, true)
})

test('Experiments: a candidate that refunds twice adds a write to each run, and reaches nothing', async (t) => {
  const { client, dataset, assertUntouched, send } = await start(t)
  const candidate = { patch: { instructions: 'Refund twice.' } }
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset, candidate }))
  assert.deepEqual([ended.status, ended.verdict], ['completed', 'failed'])
  assert.deepEqual(ended.effects, { same: runs, added: runs, removed: 0, changed: 0 })
  assert.deepEqual(ended.variants[0].effects, { same: runs, added: 0, removed: 0, changed: 0 })
  assert.notEqual(ended.variants[0].config_hash, ended.variants[1].config_hash)
  assertUntouched()
  const { results } = (await send('GET', `/${ended.id}/results?outcome=failed&limit=1`)).body
  assert.deepEqual(results[0].proposed_writes, [{ tool: 'shop__refund', tool_input: { order: 1 }, recorded: false }])
  assert.deepEqual([results[0].baseline.outcome, results[0].candidate.outcome], ['passed', 'failed'])
})

test('Experiments: recorded replies are those of the run byte by byte, and reach no model', async (t) => {
  const { client, dataset, assertUntouched, model, send } = await start(t)
  const before = model.requests.length
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset, baseline: { recorded: true } }))
  assert.deepEqual([ended.verdict, ended.variants[0].diverged, ended.variants[0].config_hash], ['passed', 0, null])
  assert.equal(model.requests.length, before)
  assertUntouched()
  const { results } = (await send('GET', `/${ended.id}/results?limit=100`)).body
  assert.deepEqual([results.length, results.every(({ baseline }: any) => baseline.is_equal)], [runs, true])
})
