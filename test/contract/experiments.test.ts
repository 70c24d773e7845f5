import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { answerRefund, endOf, recordRefunds, startRefunding } from '../fixtures/refund-shop.ts'
import type { ServiceOptions } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const path = '/core/v1/experiments'
const unknownId = '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11'
const orders = [1, 2, 3]
const twice = { patch: { instructions: 'Refund twice.' } }

const access = { roles: { tester: ['chat', 'runs.read', 'evals.read', 'evals.write'] } }

/** A service whose administrator has the dataset `core` of three runs, each with one refund. */
async function start(t: TestContext, options: ServiceOptions = {}) {
  const service = await startRefunding(t, { ...options, config: { access, ...options.config } })
  const client = await service.as({ roles: ['admin'] })
  const dataset = await recordRefunds(client, orders.length)
  const create = (body: object, headers?: Record<string, string>) =>
    client.request('POST', path, { body: { dataset_id: 'core', ...body }, ...(headers && { headers }) })
  const get = async (at: string) => (await client.request('GET', `${path}/${at}`)).body
  const ended = (id: string) => endOf(client, id)
  /** The ended experiment. */
  const run = async (body: object) => {
    const reply = await create(body)
    assert.equal(reply.status, 202, reply.text)
    return ended(reply.body.id)
  }
  const asked = service.model.requests.length
  return { ...service, client, dataset, create, get, run, ended, asked: () => service.model.requests.length - asked }
}

const recorded = { baseline: { recorded: true } }

test('Experiments: recorded replies pass without a request to the model, and nothing is written', async (t) => {
  const { run, get, refunds, asked } = await start(t)
  const { id, variants, ...experiment } = await run(recorded)
  const { status, verdict, error, total, done, effects, scorers, tools, repetitions, revision } = experiment
  assert.deepEqual([status, verdict, error, total, done, repetitions, revision], ['completed', 'passed', null, 3, 3, 1, 3])
  assert.deepEqual(effects, { same: 3, added: 0, removed: 0, changed: 0 })
  assert.deepEqual(scorers, [{ name: 'effects', kind: 'effects' }])
  assert.deepEqual(tools, { on_miss: 'fail', live: [] })
  const [{ name, kind, diverged, passed, pass_rate: rate, config_hash: hash }] = variants
  assert.deepEqual([name, kind, diverged, passed, rate, hash], ['baseline', 'recorded', 0, 3, 1, null])
  const { results } = await get(`${id}/results`)
  assert.ok(results.every(({ baseline }: any) => baseline.is_equal && baseline.outcome === 'passed'))
  assert.deepEqual([asked(), refunds()], [0, orders])
})

test('Experiments: a candidate that refunds twice is shown by its writes, of which none is made', async (t) => {
  const { run, get, refunds, asked, dataset } = await start(t)
  const { id, verdict, effects, variants, datasets, created_by: by } = await run({ candidate: twice })
  assert.deepEqual([verdict, effects], ['failed', { same: 3, added: 3, removed: 0, changed: 0 }])
  assert.deepEqual(datasets, [{ id: dataset, name: 'core', revision: 3, examples: 3 }])
  assert.equal(by.sub, 'ann')
  const [baseline, candidate] = variants
  assert.deepEqual(
    [baseline.kind, baseline.passed, baseline.effects.added, candidate.kind, candidate.failed],
    ['version', 3, 0, 'patch', 3],
  )
  assert.ok(/^[0-9a-f]{64}$/.test(candidate.config_hash) && candidate.config_hash !== baseline.config_hash)
  assert.deepEqual(
    candidate.scores.map(({ name, mean, failed }: any) => [name, mean, failed]),
    [['effects', 0.5, 3]],
  )
  const { results, has_more: more } = await get(`${id}/results?limit=2`)
  assert.deepEqual([results.length, more], [2, true])
  const [first] = results
  assert.deepEqual(first.proposed_writes, [{ tool: 'shop__refund', tool_input: { order: 1 }, recorded: false }])
  assert.deepEqual(
    [first.question, first.recorded, first.baseline.outcome, first.candidate.outcome, first.baseline.proposed_writes],
    ['Refund order 1.', { output: 'Refunded order 1.', request_id: 'core-1' }, 'passed', 'failed', []],
  )
  assert.deepEqual(first.candidate.effects, {
    same: 1,
    added: [{ tool: 'shop__refund', tool_input: { order: 1 } }],
    removed: [],
    changed: [],
  })
  assert.equal(first.candidate.trace, undefined)
  assert.equal(asked(), 3 * 3 + 3 * 4)
  assert.deepEqual(refunds(), orders)
})

test('Experiments: a single result has the traces of the run and of both replays, for each repetition', async (t) => {
  const { run, get, client } = await start(t)
  const { id, total, variants } = await run({ candidate: twice, repetitions: 2 })
  assert.deepEqual([total, variants[1].done, variants[1].flaky], [12, 6, 0])
  const { results } = await get(`${id}/results`)
  assert.deepEqual(
    results.map(({ question, repetition }: any) => `${question} ${repetition}`),
    orders.flatMap((order) => [`Refund order ${order}. 1`, `Refund order ${order}. 2`]),
  )
  const at = `${id}/results/${results[0].example_id}`
  const result = await get(`${at}?repetition=2`)
  assert.deepEqual([result.repetition, result.example_id], [2, results[0].example_id])
  const toolsIn = (trace: any[]) => trace.flatMap(({ tool, recorded: isRecorded }) => (tool === undefined ? [] : [[tool, isRecorded]]))
  const calls = [
    ['shop__order', true],
    ['shop__refund', true],
  ]
  assert.deepEqual(toolsIn(result.baseline.trace), calls)
  assert.deepEqual(toolsIn(result.candidate.trace), [...calls, ['shop__refund', false]])
  assert.deepEqual(
    toolsIn(result.recorded.trace).map(([tool]) => tool),
    ['shop__order', 'shop__refund'],
  )
  for (const place of [`${at}?repetition=3`, `${id}/results/${unknownId}`, `${unknownId}/results`, unknownId])
    assert.equal((await client.request('GET', `${path}/${place}`)).status, 404, place)
  assert.equal((await client.request('GET', `${path}/${at}?repetition=11`)).status, 422)
})

test('Experiments: a patch and a text need config.write, a version and the recording do not', async (t) => {
  const { as, create, asked } = await start(t)
  const tester = await as({ roles: ['tester'] })
  const send = (body: object) => tester.request('POST', path, { body: { dataset_id: 'core', ...body } })
  for (const body of [{ candidate: twice }, { baseline: twice }, { candidate: { text: 'name: x' } }]) {
    const reply = await send(body)
    assert.equal(reply.status, 403)
    assert.match(reply.body.body, /lacks the permission config\.write/)
  }
  assert.deepEqual((await tester.request('GET', path)).body.experiments, [])
  assert.equal(asked(), 0)
  assert.equal((await send(recorded)).status, 202)
  assert.equal((await create({ candidate: twice })).status, 202)
})

test('Experiments: the same request id starts one experiment, and another body is refused', async (t) => {
  const { create, client, as, ended } = await start(t)
  const headers = { 'request-id': 'e1' }
  const first = await create({ ...recorded, repetitions: 1 }, headers)
  const again = await client.request('POST', path, { body: { repetitions: 1, ...recorded, dataset_id: 'core' }, headers })
  assert.deepEqual([first.status, again.status, again.body.id], [202, 202, first.body.id])
  const other = await create({ ...recorded, repetitions: 2 }, headers)
  assert.deepEqual([other.status, other.body.details.error_type], [409, 'RequestIdReused'])
  await ended(first.body.id)
  assert.equal((await create({ ...recorded, repetitions: 1 }, headers)).body.id, first.body.id)
  const bob = await as({ sub: 'bob', roles: ['admin'] })
  const own = await bob.request('POST', path, { body: { dataset_id: 'core', ...recorded }, headers })
  assert.deepEqual([own.status, own.body.id === first.body.id], [202, false])
})

test('Experiments: bad input names its field and starts nothing', async (t) => {
  const { client, get, asked } = await start(t)
  await client.request('POST', '/core/v1/datasets', { body: { name: 'empty' } })
  const core = { dataset_id: 'core' }
  const faults: [object, (string | number)[]][] = [
    [{}, ['dataset_id']],
    [{ dataset_id: 'core', dataset_ids: ['core'] }, ['dataset_ids']],
    [{ dataset_ids: [] }, ['dataset_ids']],
    [{ dataset_ids: Array.from({ length: 21 }, (_, n) => `d${n}`) }, ['dataset_ids']],
    [{ dataset_id: 'empty' }, ['dataset_id']],
    [{ ...core, more: 1 }, ['more']],
    [{ ...core, repetitions: 0 }, ['repetitions']],
    [{ ...core, repetitions: 11 }, ['repetitions']],
    [{ ...core, baseline: {} }, ['baseline']],
    [{ ...core, candidate: { recorded: true, version: 'x' } }, ['candidate', 'recorded']],
    [{ ...core, candidate: { recorded: false } }, ['candidate', 'recorded']],
    [{ ...core, candidate: { recorded: true, base: 'x' } }, ['candidate', 'base']],
    [{ ...core, candidate: { patch: { max_iterations: 'many' } } }, ['candidate', 'patch', 'max_iterations']],
    [{ ...core, candidate: { patch: { unknown: 1 } } }, ['candidate', 'patch', 'unknown']],
    [{ ...core, candidate: { text: 'max_iterations: many' } }, ['candidate', 'text', 'max_iterations']],
    [{ ...core, scorers: [{ name: 'a', kind: 'regex', pattern: '(?=a)' }] }, ['scorers', 0, 'pattern']],
    [{ ...core, scorers: [{ name: 'a', kind: 'schema', schema: { type: 'no' } }] }, ['scorers', 0, 'schema', 'type']],
    [{ ...core, tools: { on_miss: 'never' } }, ['tools', 'on_miss']],
    [{ ...core, tools: { live: ['shop__order'] } }, ['tools', 'live']],
    [{ ...core, tools: { on_miss: 'live', live: ['nothing'] } }, ['tools', 'live', 0]],
  ]
  for (const [body, loc] of faults) {
    const reply = await client.request('POST', path, { body })
    assert.deepEqual([reply.status, reply.body.detail?.[0].loc], [422, ['body', ...loc]], `${JSON.stringify(body)}: ${reply.text}`)
  }
  for (const body of [
    { dataset_id: 'none' },
    { ...core, candidate: { version: unknownId } },
    { ...core, candidate: { patch: {}, base: unknownId } },
  ])
    assert.equal((await client.request('POST', path, { body })).status, 404, JSON.stringify(body))
  assert.deepEqual((await get('')).experiments, [])
  assert.equal(asked(), 0)
})

test('Experiments: a tool that writes is never live', async (t) => {
  const { create, run, refunds } = await start(t)
  const refused = await create({ tools: { on_miss: 'live', live: ['shop__refund'] } })
  assert.deepEqual([refused.status, refused.body.detail[0].loc], [422, ['body', 'tools', 'live', 0]])
  assert.match(refused.body.detail[0].msg, /has effect write/)
  const { verdict, tools } = await run({ candidate: twice, tools: { on_miss: 'live', live: ['shop__order'] } })
  assert.deepEqual([verdict, tools], ['failed', { on_miss: 'live', live: ['shop__order'] }])
  assert.deepEqual(refunds(), orders)
})

test('Experiments: the scorers are those of the dataset, unless the experiment has its own', async (t) => {
  const { run, client, get } = await start(t)
  const scorers = [
    { name: 'says so', kind: 'contains', texts: ['Refunded'] },
    { name: 'short', kind: 'max_steps', steps: 1, required: false },
  ]
  await client.request('PATCH', '/core/v1/datasets/core', { body: { scorers } })
  const experiment = await run(recorded)
  assert.deepEqual([experiment.scorers, experiment.verdict, experiment.revision], [scorers, 'passed', 4])
  const { results } = await get(`${experiment.id}/results`)
  assert.deepEqual(
    results[0].baseline.scores.map(({ name, score, passed, required }: any) => [name, score, passed, required]),
    [
      ['says so', 1, true, true],
      ['short', 0, false, false],
    ],
  )
  const own = [{ name: 'exact', kind: 'exact', expected: 'Refunded order 2.' }]
  const failed = await run({ ...recorded, scorers: own })
  assert.deepEqual([failed.scorers, failed.verdict, failed.variants[0].pass_rate], [own, 'failed', 1 / 3])
  const outcomes = async (query: string) => (await get(`${failed.id}/results${query}`)).results.map(({ question }: any) => question)
  assert.deepEqual(await outcomes('?outcome=passed'), ['Refund order 2.'])
  assert.deepEqual(await outcomes('?outcome=failed'), ['Refund order 1.', 'Refund order 3.'])
  assert.deepEqual(await outcomes('?outcome=diverged'), [])
})

test('Experiments: lists and results are pages, the newest experiment first', async (t) => {
  const { run, get } = await start(t)
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.unshift((await run(recorded)).id)
  const first = await get('?limit=2')
  assert.deepEqual([first.experiments.map(({ id }: any) => id), first.has_more], [ids.slice(0, 2), true])
  const second = await get(`?limit=2&before=${first.offset}`)
  assert.deepEqual([second.experiments.map(({ id }: any) => id), second.has_more], [ids.slice(2), false])
  const questions: string[] = []
  for (let offset = 0, more = true; more;) {
    const page = await get(`${ids[0]}/results?limit=1&offset=${offset}`)
    questions.push(...page.results.map(({ question }: any) => question))
    ;({ offset, has_more: more } = page)
  }
  assert.deepEqual(
    questions,
    orders.map((order) => `Refund order ${order}.`),
  )
  assert.deepEqual(await get(`${ids[0]}/results?offset=3`), { results: [], offset: 3, has_more: false })
})

test('Experiments: one that goes on shows its figures, is cancelled, and is then deleted', async (t) => {
  const gate = Promise.withResolvers<void>()
  const script = (request: any) => {
    const texts = JSON.stringify(request.body.messages)
    const holds = texts.includes('Refund twice.') && texts.includes('order 3')
    return { ...answerRefund(request), ...(holds && { begins: gate.promise }) }
  }
  t.after(() => gate.resolve())
  const { create, client, get } = await start(t, { script })
  const { body: created } = await create({ candidate: twice })
  const { id } = created
  assert.deepEqual([created.verdict, created.started_at, created.ended_at, created.total], ['none', null, null, 6])
  const running = await until(
    () => get(id),
    ({ done }) => done === 5,
  )
  assert.deepEqual([running.status, running.verdict], ['running', 'none'])
  assert.deepEqual(
    running.variants.map(({ done, pass_rate: rate }: any) => [done, rate]),
    [
      [3, 1],
      [2, 0],
    ],
  )
  const remove = () => client.request('DELETE', `${path}/${id}`)
  const cancelled = await remove()
  assert.deepEqual([cancelled.status, cancelled.body.status, cancelled.body.verdict], [202, 'cancelled', 'none'])
  assert.ok(cancelled.body.ended_at)
  gate.resolve()
  const { results } = await get(`${id}/results`)
  assert.deepEqual(
    results.map(({ baseline, candidate }: any) => [baseline?.outcome, candidate?.outcome]),
    [
      ['passed', 'failed'],
      ['passed', 'failed'],
      ['passed', undefined],
    ],
  )
  assert.deepEqual([cancelled.body.done, (await get(id)).done], [5, 5])
  assert.equal((await remove()).status, 204)
  for (const at of ['', '/results']) assert.equal((await client.request('GET', `${path}/${id}${at}`)).status, 404)
  assert.equal((await remove()).status, 404)
  const { events } = (await client.request('GET', `/core/v1/audit?target=experiment:${id}`)).body
  assert.deepEqual(
    events.map(({ action }: any) => action),
    ['experiment.deleted', 'experiment.cancelled', 'experiment.created'],
  )
})

test('Experiments: a change of the dataset or the configuration in the middle changes nothing', async (t) => {
  const gate = Promise.withResolvers<void>()
  let isHeld = false
  t.after(() => gate.resolve())
  const { create, client, ended, refunds } = await start(t, {
    script: (request) => ({ ...answerRefund(request), ...(isHeld && { begins: gate.promise }) }),
  })
  isHeld = true
  const { body } = await create({})
  await client.request('PUT', '/core/v1/agent/config', { body: { configuration: twice.patch } })
  const { examples } = (await client.request('GET', '/core/v1/datasets/core/examples')).body
  await client.request('DELETE', `/core/v1/datasets/core/examples/${examples[0].id}`)
  isHeld = false
  gate.resolve()
  const { verdict, total, done, effects, revision } = await ended(body.id)
  assert.deepEqual([verdict, total, done, effects.added, revision], ['passed', 3, 3, 0, 3])
  assert.deepEqual(refunds(), orders)
})

test('Experiments: another tenant finds none, and an operator only reads', async (t) => {
  const { as, run, get, create } = await start(t)
  const { id } = await run(recorded)
  const { results } = await get(`${id}/results`)
  const other = await as({ tenant: 'beta', roles: ['admin'] })
  const operator = await as({ sub: 'otto', roles: ['operator'] })
  const requests: [string, string, object?][] = [
    ['GET', `/${id}`],
    ['GET', `/${id}/results`],
    ['GET', `/${id}/results/${results[0].example_id}`],
    ['DELETE', `/${id}`],
    ['POST', '', { dataset_id: 'core', ...recorded }],
  ]
  for (const [method, place, body] of requests) {
    assert.equal((await other.request(method, path + place, body && { body })).status, 404, `${method} ${place}`)
    const expected = method === 'GET' ? 200 : 403
    assert.equal((await operator.request(method, path + place, body && { body })).status, expected, `${method} ${place}`)
  }
  assert.deepEqual((await other.request('GET', path)).body.experiments, [])
  const { body } = await create(recorded)
  assert.equal((await other.request('DELETE', `${path}/${body.id}`)).status, 404)
  assert.equal((await get(id)).status, 'completed')
})

test('Experiments: a call without a recording ends the example as diverged, or is told to the model', async (t) => {
  const { run, get, refunds } = await start(t, {
    script: (request) => {
      const [{ content }] = request.body.messages
      const isOther = content.includes('Look elsewhere.') && request.body.messages.at(-1).role === 'user'
      return isOther ? callOf('shop__order', { order: 99 }) : answerRefund(request)
    },
  })
  const elsewhere = { patch: { instructions: 'Look elsewhere.' } }
  const stopped = await run({ candidate: elsewhere })
  const [, candidate] = stopped.variants
  assert.deepEqual([stopped.verdict, candidate.diverged, candidate.pass_rate, candidate.tokens], ['failed', 3, 0, 0])
  assert.deepEqual(candidate.scores, [])
  const { results } = await get(`${stopped.id}/results?outcome=diverged`)
  const { outcome, divergence } = results[0].candidate
  const call = { tool: 'shop__order', tool_input: { order: 99 }, parent: null }
  assert.deepEqual([results.length, outcome, divergence], [3, 'diverged', { reason: 'no_recording', call }])
  const told = await run({ candidate: elsewhere, tools: { on_miss: 'error' } })
  assert.deepEqual([told.variants[1].diverged, told.variants[1].passed, told.effects.same], [0, 3, 3])
  assert.deepEqual(refunds(), orders)
})

test('Experiments: what a change of the configuration may not do, a candidate may not either', async (t) => {
  const { create, client } = await start(t)
  const code = await create({ candidate: { patch: { tools: [{ name: 'x', type: 'module', config: { path: '/tmp/x.mjs' } }] } } })
  assert.equal(code.status, 403, code.text)
  assert.match(code.body.body, /CONFIG_CODE/)
  const { body } = await create({ candidate: { patch: { llms: { primary: { api_key: 's3cret' } } } } })
  assert.equal(body.variants[1].kind, 'patch')
  for (const at of ['', `/${body.id}`, `/${body.id}/results`]) {
    const { text } = await client.request('GET', path + at)
    assert.ok(!text.includes('s3cret'), text)
  }
})

test('Experiments: a tool that gets the headers of callers is not live', async (t) => {
  const { create, asked } = await start(t)
  const tool = (config: object) => ({ name: 'http_request', config: { methods: ['GET'], ...config } })
  const send = (config: object) =>
    create({ candidate: { patch: { tools: [tool(config)] } }, tools: { on_miss: 'live', live: ['http_request'] } })
  const reply = await send({ context_hosts: ['example.com'] })
  assert.deepEqual([reply.status, reply.body.detail?.[0].loc], [422, ['body', 'tools', 'live', 0]], reply.text)
  assert.match(reply.body.detail[0].msg, /stix/)
  assert.equal(asked(), 0)
  assert.equal((await send({})).status, 202)
})

test('Experiments: an example replays after its run was removed by age, which makes no example any more', async (t) => {
  const service = await start(t, { config: { retention: { runs: 7 } } })
  const database = new DatabaseSync(join(service.settings.dataDir, 'agent-core.db'), { timeout: 5000 })
  database.exec(`update runs set ended_at = ${Date.now() - 8 * 86_400_000}; update jobs set due_at = 0 where kind = 'retention'`)
  database.close()
  await service.restart()
  const client = await service.as({ roles: ['admin'] })
  await until(
    () => client.request('GET', '/core/v1/runs/core-1'),
    ({ status }) => status === 410,
  )
  const body = { from_run: { request_id: 'core-1' } }
  const gone = await client.request('POST', '/core/v1/datasets/core/examples', { body })
  assert.deepEqual([gone.status, gone.body.details.error_type], [410, 'Gone'])
  const { id } = (await client.request('POST', path, { body: { dataset_id: 'core', ...recorded } })).body
  const { verdict, done } = await endOf(client, id)
  assert.deepEqual([verdict, done], ['passed', 3])
})
