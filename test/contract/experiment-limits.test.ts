import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { answerRefund, endOf, recordRefunds, shopApi, shopTool, startExperiment, startRefundShop } from '../fixtures/refund-shop.ts'
import { startService, type ServiceOptions, type TestService } from '../fixtures/service.ts'

const runs = 4

/** A service whose administrator has the dataset `core` of runs that have refunded an order. */
async function start(t: TestContext, options: ServiceOptions = {}) {
  const shop = await startRefundShop()
  t.after(() => shop.close())
  const service = await startService(t, {
    script: answerRefund,
    files: { 'api.yaml': shopApi },
    ...options,
    config: { instructions: 'You refund orders.', tools: [shopTool(shop, 'files/api.yaml')], ...options.config },
  })
  const client = await service.as({ roles: ['admin'] })
  const dataset = await recordRefunds(client, runs)
  const results = async (id: string) => (await client.request('GET', `/core/v1/experiments/${id}/results`)).body.results
  const put = (configuration: object) => client.request('PUT', '/core/v1/agent/config', { body: { configuration } })
  const version = async () => (await client.request('GET', '/core/v1/agent/config')).body.version
  return { ...service, service, client, shop, dataset, results, put, version }
}

function inDatabase({ settings }: Pick<TestService, 'settings'>, use: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path.join(settings.dataDir, 'agent-core.db'), { timeout: 5000 })
  use(database)
  database.close()
}

test('Experiments: without a budget left, results say so, and the experiment completes as failed', async (t) => {
  const limit = { usd: 0.006 }
  const budgets = [{ name: 'tests', scope: 'service', window: 'day', limit, match: { operations: ['experiment'] } }]
  const { client, dataset, results, shop } = await start(t, {
    // Replays at the same time would share the budget, and none might come to its end.
    config: { budgets, evals: { concurrency: 1 } },
    // A reply costs 0.001 USD, and a replay has three.
    script: (request) => ({ ...answerRefund(request), usage: { input: 100, output: 300 } }),
    modelFields: { prices: { input: 1, output: 3 } },
  })
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset }))
  assert.deepEqual([ended.status, ended.verdict, ended.error, ended.done], ['completed', 'failed', null, runs])
  const { passed, errors } = ended.variants[0]
  assert.deepEqual([passed > 0, errors > 0, passed + errors], [true, true, runs])
  const faults = (await results(ended.id)).map(({ baseline }: any) => baseline.error)
  assert.ok(faults.some((fault: string | null) => /Budget tests|A budget has ended the run/.test(fault ?? '')))
  assert.equal(shop.refunds.length, runs)
})

test('Experiments: an answer that a budget has cut short is an error, not an answer to score', async (t) => {
  const limit = { usd: 0.0015 }
  const budgets = [{ name: 'tests', scope: 'service', window: 'day', limit, match: { operations: ['experiment'] } }]
  const { client, dataset, results } = await start(t, {
    config: { budgets },
    script: (request) => ({ text: 'One moment.', ...answerRefund(request), usage: { input: 100, output: 300 } }),
    modelFields: { prices: { input: 1, output: 3 } },
  })
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset }))
  assert.deepEqual([ended.verdict, ended.variants[0].errors], ['failed', runs])
  const faults = (await results(ended.id)).map(({ baseline }: any) => baseline.error)
  assert.ok(faults.includes('A budget has ended the run before its end.'), faults.join())
})

test('Experiments: an owner who loses the permission ends the experiment, with the reason', async (t) => {
  const access = { roles: { tester: ['evals.read', 'evals.write'] } }
  let isHeld = false
  const { as, client, dataset, put, model } = await start(t, {
    config: { access },
    script: (request) => ({ ...answerRefund(request), ...(isHeld && { silentAfter: 0 }) }),
  })
  const tester = await as({ sub: 'tess', roles: ['tester'] })
  const before = model.requests.length
  isHeld = true
  const id = await startExperiment(tester, { dataset_id: dataset })
  await until(
    async () => model.requests.length,
    (count) => count > before,
  )
  await put({ access: { roles: { tester: ['evals.read'] } } })
  const ended = await endOf(client, id)
  assert.deepEqual([ended.status, ended.verdict, ended.done], ['failed', 'none', 0])
  assert.equal(ended.error, 'The owner of the experiment no longer has the permission evals.write.')
})

test('Experiments: a variant has the hash of the change that it tries, whether by patch, text or version', async (t) => {
  const { client, dataset, put, version } = await start(t)
  const first = await version()
  const instructions = 'You refund orders, kindly.'
  const variants = [{ patch: { instructions } }, { version: first }]
  const create = async (candidate: object) => {
    const { body, text } = await client.request('POST', '/core/v1/experiments', { body: { dataset_id: dataset, candidate } })
    assert.ok(body.id, text)
    return body.variants.map((variant: { config_hash: string }) => variant.config_hash)
  }
  const [[original, patched], [, same]] = [await create(variants[0]!), await create(variants[1]!)]
  assert.deepEqual([same, patched === original], [original, false])
  await put({ instructions })
  const { text } = (await client.request('GET', `/core/v1/agent/config/history/${await version()}`)).body
  assert.deepEqual(await create({ text }), [patched, patched])
  assert.deepEqual(await create({ version: first }), [patched, original])
  assert.deepEqual(await create({ patch: { instructions }, base: first }), [patched, patched])
})

test('Experiments: a version that is forgotten in the middle changes nothing', async (t) => {
  let isHeld = false
  const gate = Promise.withResolvers<void>()
  t.after(() => gate.resolve())
  const { client, dataset, put, version, service } = await start(t, {
    script: (request) => ({ ...answerRefund(request), ...(isHeld && { begins: gate.promise }) }),
  })
  const old = await version()
  await put({ instructions: 'Refund twice.' })
  isHeld = true
  const id = await startExperiment(client, { dataset_id: dataset, baseline: { version: old } })
  inDatabase(service, (database) => void database.prepare('delete from configurations where version = ?').run(old))
  isHeld = false
  await service.restart()
  gate.resolve()
  const admin = await service.as({ roles: ['admin'] })
  const ended = await endOf(admin, id)
  assert.deepEqual([ended.status, ended.verdict, ended.effects.same, ended.effects.added], ['completed', 'passed', runs, 0])
  const again = await admin.request('POST', '/core/v1/experiments', { body: { dataset_id: dataset, baseline: { version: old } } })
  assert.equal(again.status, 404)
})

test('Experiments: a tool that the candidate does not have stops the replay at its first call', async (t) => {
  const { client, dataset, results, shop } = await start(t)
  const tools = [{ ...(shopTool(shop, 'files/api.yaml') as any) }]
  tools[0].config = { ...tools[0].config, exclude: ['refund'] }
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset, candidate: { patch: { tools } } }))
  assert.deepEqual([ended.verdict, ended.variants[1].diverged, ended.variants[1].cost], ['failed', runs, null])
  const [{ candidate }] = await results(ended.id)
  assert.deepEqual(
    [candidate.outcome, candidate.divergence.reason, candidate.divergence.call.tool],
    ['diverged', 'tool_missing', 'shop__refund'],
  )
  assert.deepEqual([candidate.scores, candidate.output], [[], ''])
})

test('Experiments: an example replays after its run was removed, and a deleted session takes its results', async (t) => {
  const { client, dataset, service } = await start(t, { config: { instructions: 'You refund orders.', retention: { runs: 7 } } })
  inDatabase(service, (database) => {
    database.exec('update runs set ended_at = 1 where ended_at is not null')
    database.exec("update jobs set due_at = 0 where kind = 'retention'")
  })
  await service.restart()
  const admin = await service.as({ roles: ['admin'] })
  await until(
    async () => (await admin.request('GET', '/core/v1/runs/core-1')).status,
    (status) => status === 410,
  )
  const again = { body: { from_run: { request_id: 'core-1' } } }
  assert.equal((await admin.request('POST', `/core/v1/datasets/${dataset}/examples`, again)).status, 410)
  const recorded = await endOf(
    admin,
    await startExperiment(admin, { dataset_id: dataset, baseline: { recorded: true }, candidate: { recorded: true } }),
  )
  assert.deepEqual([recorded.verdict, recorded.done], ['passed', 2 * runs])
  await admin.request('DELETE', '/core/v1/sessions/core-1')
  const { results } = (await admin.request('GET', `/core/v1/experiments/${recorded.id}/results`)).body
  assert.deepEqual(results.length, runs - 1)
  assert.equal((await admin.request('GET', `/core/v1/experiments/${recorded.id}`)).body.done, 2 * runs)
  assert.ok(client)
})
