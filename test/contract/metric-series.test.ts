import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

test('Metric series: runs are summed by hour and day, by tool, version and caller', async (t) => {
  const { as } = await startService(t, {
    tools: [fakeTool('look', async () => 'seen'), fakeTool('fail', () => Promise.reject(new Error('No.')))],
    script: ({ body }) => {
      const last = body.messages.at(-1)
      if (last.role === 'tool' || last.content === 'plain') return { text: 'ok', usage: { input: 3, output: 4 } }
      return { calls: [callOf('look').calls[0]!, callOf('fail').calls[0]!] }
    },
  })
  const [ann, bob, operator] = [await as({ sub: 'ann' }), await as({ sub: 'bob' }), await as({ sub: 'op', roles: ['operator'] })]
  await ann.chat('plain')
  await ann.chat('use tools')
  await bob.chat('plain')
  const series = async (query = '', client = operator) => (await client.request('GET', `/core/v1/metrics/series${query}`)).body
  const all = await series()
  assert.deepEqual({ bucket: all.bucket, by: all.by, count: all.series.length }, { bucket: 'hour', by: 'none', count: 1 })
  const [whole] = all.series
  assert.deepEqual({ key: whole.key, is_other: whole.is_other, runs: whole.runs }, { key: null, is_other: false, runs: 3 })
  const total = (name: string) => whole.points.reduce((sum: number, point: Record<string, number>) => sum + point[name]!, 0)
  assert.deepEqual([total('runs'), total('errors'), total('tool_errors')], [3, 0, 1])
  assert.ok(total('tokens') >= 21, String(total('tokens')))
  const { latency, cost, start } = whole.points.at(-1)
  assert.ok(latency.mean > 0 && latency.p50 <= latency.p95, JSON.stringify(latency))
  assert.equal(cost, null)
  assert.match(start, /T\d\d:00:00\.000Z$/)
  const groups = async (query: string) =>
    (await series(query)).series.map(({ key, runs }: { key: string; runs: number }) => `${key} ${runs}`).toSorted()
  assert.deepEqual(await groups('?by=sub&bucket=day'), ['ann 2', 'bob 1'])
  assert.deepEqual(await groups('?by=tool'), ['fail 1', 'look 1'])
  const [{ key: version }] = (await series('?by=version')).series
  const list = await operator.request('GET', '/core/v1/runs')
  assert.equal(version, list.body.runs[0].config_version)
  const failed = await operator.request('GET', '/core/v1/runs?tool_errors=true')
  assert.deepEqual(
    failed.body.runs.map(({ sub, status, tool_errors: count }: Record<string, unknown>) => [sub, status, count]),
    [['ann', 'success', 1]],
  )
  assert.equal((await operator.request('GET', '/core/v1/runs?tool_errors=false')).body.runs.length, 2)
  assert.equal((await operator.request('GET', '/core/v1/runs?tool_errors=perhaps')).status, 422)
  assert.deepEqual((await series('?until=2020-01-02&since=2020-01-01&bucket=day')).series, [])
  assert.deepEqual((await series('', await as({ sub: 'op', tenant: 'elsewhere', roles: ['operator'] }))).series, [])

  const tools = (await operator.request('GET', '/core/v1/metrics/tools')).body.tools
  assert.deepEqual(
    tools.map(({ tool, calls, errors }: { tool: string; calls: number; errors: number }) => ({ tool, calls, errors })),
    [
      { tool: 'fail', calls: 1, errors: 1 },
      { tool: 'look', calls: 1, errors: 0 },
    ],
  )
  for (const { p50, p95 } of tools) assert.ok(p50 >= 0 && p95 >= p50)
  const elsewhere = await as({ sub: 'op', tenant: 'elsewhere', roles: ['operator'] })
  assert.deepEqual((await elsewhere.request('GET', '/core/v1/metrics/tools')).body.tools, [])
})

test('Metric series: a wrong bucket, group or time is refused by its name', async (t) => {
  const { as } = await startService(t, { script: { text: 'ok' } })
  const operator = await as({ roles: ['operator'] })
  const cases = [
    ['series?bucket=week', 'bucket'],
    ['series?by=model', 'by'],
    ['series?since=yesterday', 'since'],
    ['series?since=2026-13-41', 'since'],
    ['series?since=2020-01-01&until=2026-01-01', 'since'],
    ['series?since=2026-01-02&until=2026-01-01', 'since'],
    ['tools?until=x', 'until'],
    ['tools?since=2026-01-02&until=2026-01-01', 'since'],
  ] as const
  for (const [path, field] of cases) {
    const { status, body } = await operator.request('GET', `/core/v1/metrics/${path}`)
    assert.deepEqual({ status, loc: body.detail?.[0]?.loc }, { status: 422, loc: ['query', field] }, path)
  }
})
