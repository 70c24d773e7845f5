import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import pg from 'pg'
import { stringify } from 'yaml'
import { until } from '../fixtures/async-client.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'
import { answerRefund, endOf, recordRefunds, shopApi, shopTool, startExperiment, startRefundShop } from '../fixtures/refund-shop.ts'
import type { Client } from '../fixtures/service-client.ts'
import { scripted } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const runs = 20
const twice = { patch: { instructions: 'Refund twice.' } }

/** Replicas on one database, with a dataset of recorded refunds. */
async function start(t: TestContext) {
  const shop = await startRefundShop()
  t.after(() => shop.close())
  const model = await startModelServer((request) => ({ delayMs: 20, ...answerRefund(request) }))
  t.after(() => model.close())
  const url = await server.createDatabase()
  const config = { instructions: 'You refund orders.', llms: { primary: scripted(model) }, tools: [shopTool(shop, 'api.yaml')] }

  async function serveReplica(): Promise<RunningService> {
    const folder = await makeFolder(t)
    await writeFile(path.join(folder, 'api.yaml'), shopApi)
    await writeFile(path.join(folder, 'agent.yaml'), stringify(config))
    return serve(t, folder, { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) })
  }

  async function query(text: string): Promise<any[]> {
    const client = new pg.Client(url)
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows
  }

  const replicas = await Promise.all([serveReplica(), serveReplica()])
  const dataset = await recordRefunds(replicas[0].client, runs)
  return { replicas, serveReplica, query, shop, model, dataset }
}

const read = async (client: Client, id: string) => (await client.request('GET', `/core/v1/experiments/${id}`)).body

async function end({ child, ended }: RunningService, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal)
  await ended
}

test('Experiments: killed and stopped processes leave their rest to others, no result is made twice, and the shop gets nothing', async (t) => {
  const { replicas, serveReplica, query, shop, dataset } = await start(t)
  let [a, b] = replicas
  const id = await startExperiment(a.client, { dataset_id: dataset, candidate: twice, repetitions: 3 })
  const total = runs * 3 * 2
  const reaches = (client: Client, share: number) =>
    until(
      () => read(client, id),
      ({ done }) => done >= total * share,
    )
  // Every process that may work on the experiment ends once.
  await reaches(b.client, 0.1)
  await end(a, 'SIGKILL')
  await reaches(b.client, 0.2)
  a = await serveReplica()
  await end(b, 'SIGKILL')
  await reaches(a.client, 0.3)
  b = await serveReplica()
  await end(a, 'SIGTERM')
  const ended = await endOf(b.client, id)
  assert.deepEqual([ended.status, ended.verdict, ended.done, ended.total], ['completed', 'failed', total, total])
  assert.deepEqual(ended.effects, { same: runs * 3, added: runs * 3, removed: 0, changed: 0 })
  assert.equal(shop.refunds.length, runs)
  const [{ results, keys }] = await query(
    `select count(*)::int as results, count(distinct (variant, example, repetition))::int as keys from experiment_results`,
  )
  assert.deepEqual([results, keys], [total, total])
})

test('Experiments: an experiment is cancelled from another replica, its model call too, and its configurations are gone', async (t) => {
  const { replicas, query, model, dataset, shop } = await start(t)
  const before = model.requests.length
  const candidate = { patch: { instructions: 'Think forever.' } }
  const ids = await Promise.all(
    replicas.map(({ client }) => startExperiment(client, { dataset_id: dataset, baseline: candidate, tools: { on_miss: 'error' } })),
  )
  const waiting = await until(
    async () => model.requests.slice(before),
    (requests) => requests.length >= 2,
  )
  const [sealed] = await query(`select configurations from experiments where id = '${ids[0]}'`)
  assert.match(sealed.configurations, /^v1\./)
  const startedAt = Date.now()
  for (const [index, id] of ids.entries()) {
    const cancelled = await replicas[1 - index]!.client.request('DELETE', `/core/v1/experiments/${id}`)
    assert.deepEqual([cancelled.status, cancelled.body.status, cancelled.body.verdict], [202, 'cancelled', 'none'])
  }
  for (const { closedEarly } of waiting) assert.equal(await closedEarly, true)
  assert.ok(Date.now() - startedAt < 10_000, `${Date.now() - startedAt} ms`)
  const rows = await query('select configurations from experiments')
  assert.deepEqual(
    rows.map(({ configurations }) => configurations),
    ['', ''],
  )
  assert.equal((await replicas[0].client.request('DELETE', `/core/v1/experiments/${ids[0]}`)).status, 204)
  assert.equal((await replicas[1].client.request('GET', `/core/v1/experiments/${ids[0]}`)).status, 404)
  assert.equal(shop.refunds.length, runs)
})
