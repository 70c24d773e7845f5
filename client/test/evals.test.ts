import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRefunding } from '../../test/fixtures/refund-shop.ts'
import { AgentCoreError, createClient } from '../src/index.ts'

type Test = Parameters<typeof startRefunding>[0]

async function start(t: Test) {
  const service = await startRefunding(t)
  const { key } = await service.key({ roles: ['admin'] })
  const client = createClient({ baseUrl: service.url, accessKey: key, retryDelayMs: 1 })
  for (const order of [1, 2])
    await client.chat({ messages: [{ role: 'user', content: `Refund order ${order}.` }] }, { requestId: `r${order}` })
  return { service, client, evals: client.evals, key }
}

async function collect<T>(elements: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const element of elements) collected.push(element)
  return collected
}

async function typeOf(call: Promise<unknown>): Promise<string> {
  const error = await call.catch((error: unknown) => error)
  assert.ok(error instanceof AgentCoreError, String(error))
  return `${error.status} ${error.errorType}`
}

test('evals.datasets: a dataset gets runs and examples by hand, which are listed, changed and removed', async (t) => {
  const { evals } = await start(t)
  const { id } = await evals.datasets.create({ name: 'core', scorers: [{ name: 'says so', kind: 'contains', texts: ['Refunded'] }] })
  await evals.datasets.create({ name: 'other' })
  const datasets = await collect(evals.datasets.all({ limit: 1 }))
  assert.deepEqual(
    datasets.map(({ name }) => name),
    ['other', 'core'],
  )
  const run = await evals.datasets.examples.addRun('core', 'r1', { name: 'First', tags: ['refunds'] })
  assert.deepEqual([run.name, run.tags, run.source?.request_id], ['First', ['refunds'], 'r1'])
  const hand = await evals.datasets.examples.create(id, { input: { messages: [{ role: 'user', content: 'Hello' }] } })
  const changed = await evals.datasets.examples.update(id, hand.id, { expected: { output: 'Hi' } })
  assert.deepEqual([changed.expected, (await evals.datasets.examples.get(id, hand.id)).expected], [{ output: 'Hi' }, { output: 'Hi' }])
  const questions = async (revision?: number) =>
    (await collect(evals.datasets.examples.all(id, { limit: 1, ...(revision !== undefined && { revision }) }))).map(
      ({ question }) => question,
    )
  assert.deepEqual(await questions(), ['Hello', 'Refund order 1.'])
  await evals.datasets.examples.delete(id, hand.id)
  assert.deepEqual([await questions(), await questions(3)], [['Refund order 1.'], ['Hello', 'Refund order 1.']])
  const { scorers, revision } = await evals.datasets.update(id, { scorers: [] })
  assert.deepEqual([scorers, revision, (await evals.datasets.get('core')).id], [[], 5, id])
  assert.equal(await typeOf(evals.datasets.examples.addRun('core', 'none')), '404 NotFound')
  await evals.datasets.delete('core')
  assert.equal(await typeOf(evals.datasets.get('core')), '404 NotFound')
})

test('evals.experiments: one is started once, awaited with its progress, and its results are read', async (t) => {
  const { evals, service } = await start(t)
  await evals.datasets.create({ name: 'core' })
  for (const run of ['r1', 'r2']) await evals.datasets.examples.addRun('core', run)
  const create = () =>
    evals.experiments.create({ dataset_id: 'core', candidate: { patch: { instructions: 'Refund twice.' } } }, { requestId: 'e1' })
  const { id } = await create()
  assert.equal((await create()).id, id)
  const seen: string[] = []
  const ended = await evals.experiments.wait(id, { intervalMs: 5, onProgress: ({ status }) => seen.push(status) })
  assert.deepEqual([ended.status, ended.verdict, ended.effects.added, seen.at(-1)], ['completed', 'failed', 2, 'completed'])
  const results = await collect(evals.experiments.allResults(id, { limit: 1, outcome: 'failed' }))
  assert.deepEqual(
    results.map(({ question, proposed_writes: writes }) => [question, writes.length]),
    [
      ['Refund order 1.', 1],
      ['Refund order 2.', 1],
    ],
  )
  assert.equal((await evals.experiments.results(id, { outcome: 'passed' })).results.length, 0)
  const result = await evals.experiments.result(id, results[0]!.example_id, { repetition: 1 })
  assert.equal(result.candidate?.trace?.filter(({ tool }) => tool === 'shop__refund').length, 2)
  assert.deepEqual(
    (await collect(evals.experiments.all())).map((experiment) => experiment.id),
    [id],
  )
  assert.equal((await evals.experiments.list({ limit: 1 })).has_more, false)
  assert.equal(await evals.experiments.delete(id), undefined)
  assert.equal(await typeOf(evals.experiments.get(id)), '404 NotFound')
  assert.deepEqual(service.refunds(), [1, 2])
})

test('evals.experiments.wait: a busy service is asked again, and a signal ends the wait', async (t) => {
  const { evals, service, key } = await start(t)
  await evals.datasets.create({ name: 'core' })
  await evals.datasets.examples.addRun('core', 'r1')
  const { id } = await evals.experiments.create({ dataset_id: 'core', baseline: { recorded: true } })
  let requests = 0
  const busy = new Response('{"body":"busy","status_code":503}', { status: 503, headers: { 'retry-after': '0' } })
  const flaky: typeof fetch = (input, init) => (++requests === 1 ? Promise.resolve(busy) : fetch(input, init))
  const other = createClient({ baseUrl: service.url, accessKey: key, fetch: flaky, retryDelayMs: 1 })
  assert.equal((await other.evals.experiments.wait(id, { intervalMs: 5 })).verdict, 'passed')
  assert.ok(requests >= 2)
  const pending = async () => Response.json({ ...(await evals.experiments.get(id)), status: 'running' })
  const slow = createClient({ baseUrl: service.url, accessKey: key, fetch: pending })
  const reason = new Error('enough')
  const stop = new AbortController()
  const waiting = slow.evals.experiments.wait(id, { intervalMs: 60_000, signal: stop.signal, onProgress: () => stop.abort(reason) })
  await assert.rejects(waiting, reason)
})
