import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { SeriesKey, SeriesSpan } from '../../src/runs/reports/series.ts'
import type { EndedRun, NewRun } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createSeriesStore } from '../../src/store/reports/series.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, failed, hour, storeOf, usesOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('series of ended runs', registerSeries)

async function collect<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const items: T[] = []
  for await (const page of pages) items.push(...page)
  return items
}

const always = { since: 0, until: Number.MAX_SAFE_INTEGER }

function registerSeries(database: () => Database): void {
  function seriesOf() {
    const { tenant, store, start } = storeOf(database())
    const series = createSeriesStore(database())
    const end = async (requestId: string, change: Partial<EndedRun> = {}, begin: Partial<NewRun> = {}) => {
      const { run, turn } = await start({ requestId, sessionId: requestId, ...begin })
      await store.finish(run, 1, endOf(turn, change))
      return run
    }
    const runs = async (key: SeriesKey = 'none', span: SeriesSpan = always, of = tenant) => collect(series.runs(of, span, key))
    const uses = async (span: SeriesSpan = always, of = tenant) => collect(series.toolUses(of, span))
    return { tenant, store, start, end, runs, uses }
  }

  test('ended runs are read newest first, with their figures and group', async () => {
    const { tenant, end, runs, start } = seriesOf()
    await end('a', { endedAt: hour + 1, latencyMs: 7, cost: 0.5, configVersion: 'v1' })
    await end('b', { ...failed, endedAt: hour + 2, configVersion: 'v2' }, { owner: 'idp bob smith' })
    await start({ sessionId: 'running' })
    await createExecutionStore(database()).begin({
      ...{ tenant, owner: 'agent-core ann', requestId: 'x', sessionId: 's', bodyHash: '', holder: 'p', agent: 'a' },
      now: hour,
    })
    const base = { tokens: 15, key: undefined, hasToolErrors: false }
    assert.deepEqual(await runs(), [
      { ...base, endedAt: hour + 2, status: 'error', latencyMs: 100, cost: undefined },
      { ...base, endedAt: hour + 1, status: 'success', latencyMs: 7, cost: 0.5 },
    ])
    const keys = async (key: SeriesKey) => (await runs(key)).map((run) => run.key)
    assert.deepEqual(await keys('version'), ['v2', 'v1'])
    assert.deepEqual(await keys('sub'), ['bob smith', 'ann'])
    assert.deepEqual(await keys('tool'), [])
    const times = async (since: number, until: number) => (await runs('none', { since, until })).map(({ endedAt }) => endedAt - hour)
    assert.deepEqual([await times(hour + 1, hour + 2), await times(hour + 2, hour + 3)], [[1], [2]])
    assert.deepEqual(await runs('none', always, randomUUID()), [])
  })

  test('tools are read with their calls, and a run counts for each of its tools', async () => {
    const { tenant, end, runs, uses } = seriesOf()
    const sales = { tool: 'sales', calls: 3, errors: 1, durationsMs: [5, 7, 9] }
    await end('a', { endedAt: hour + 1, tools: [sales, ...usesOf('chart')] })
    await end('b', { ...failed, endedAt: hour + 2, tools: usesOf('sales') })
    await end('c', { endedAt: hour + 3 })
    assert.deepEqual(
      (await runs('tool')).map(({ key, endedAt, status }) => `${key} ${endedAt - hour} ${status}`),
      ['sales 2 error', 'sales 1 success', 'chart 1 success'],
    )
    for (const key of ['none', 'tool'] as const) {
      const failed = (await runs(key)).filter(({ hasToolErrors }) => hasToolErrors)
      assert.deepEqual([...new Set(failed.map(({ endedAt }) => endedAt))], [hour + 1])
    }
    assert.deepEqual(await uses(), [
      { endedAt: hour + 2, ...usesOf('sales')[0]! },
      { endedAt: hour + 1, ...sales },
      { endedAt: hour + 1, ...usesOf('chart')[0]! },
    ])
    assert.equal((await uses({ since: hour + 2, until: hour + 3 })).length, 1)
    assert.deepEqual([await uses(always, randomUUID()), await runs('tool', always, randomUUID())], [[], []])
    await createSessionStore(database()).remove({ tenant, owner: 'agent-core ann' }, 'a', { jobId: randomUUID(), now: hour })
    assert.deepEqual(
      (await uses()).map(({ tool }) => tool),
      ['sales'],
    )
  })

  test('a resumed run is counted at its last end, with all of its calls', async () => {
    const { store, end, runs, uses } = seriesOf()
    const run = await end('r', { ...failed, endedAt: hour + 1, tools: usesOf('sales') })
    const by = { holder: 'p2', queueOrder: 9, now: hour, messages: run.messages }
    const taken = await store.takeOver(run, { fence: 1, status: 'error' }, by)
    assert.ok(taken?.kind === 'running')
    assert.deepEqual([await runs(), await runs('tool')], [[], []])
    const sales = { tool: 'sales', calls: 2, errors: 0, durationsMs: [5, 6] }
    await store.finish(run, taken.fence, endOf(taken.turn, { endedAt: hour + 5, tools: [sales] }))
    assert.deepEqual(
      (await runs('tool')).map(({ key, endedAt }) => ({ key, endedAt })),
      [{ key: 'sales', endedAt: hour + 5 }],
    )
    assert.deepEqual(await uses(), [{ endedAt: hour + 5, ...sales }])
  })
}
