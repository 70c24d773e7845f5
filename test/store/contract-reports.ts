import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { RunKey } from '../../src/runs/run.ts'
import type { EndedRun } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createRetentionStore } from '../../src/store/sessions/retention.ts'
import { createRunReports } from '../../src/store/reports/run-reports.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, failed, hour, newRun, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('what runs came to', registerReportContract)

const hourMs = 3_600_000
const always = { from: undefined, to: undefined }

/** Metrics and logs of runs, as they are read. */
function registerReportContract(database: () => Database): void {
  function reportsOf() {
    const of = storeOf(database())
    let sessions = 0
    /** A run that took so long and ended then. */
    const ended = async (endedAt: number, latencyMs: number, change: Partial<EndedRun> = {}) => {
      const { run, turn } = await of.start({ sessionId: `s${(sessions += 1)}` })
      await of.store.finish(run, 1, endOf(turn, { latencyMs, endedAt, ...change }))
      return run
    }
    return { ...of, ended, reports: createRunReports(database()) }
  }

  test('sums cover the requested hours, and are zero without runs', async () => {
    const { tenant, ended, reports } = reportsOf()
    const nothing = await reports.sums(tenant, always)
    assert.deepEqual(nothing.counts, { success: 0, error: 0, cancelled: 0, timeout: 0 })
    assert.deepEqual(
      { totalTokens: nothing.totalTokens, minLatencyMs: nothing.minLatencyMs, maxLatencyMs: nothing.maxLatencyMs },
      { totalTokens: 0, minLatencyMs: 0, maxLatencyMs: 0 },
    )
    await ended(hour + 5, 100)
    await ended(hour + 6, 300, { status: 'timeout' })
    await ended(hour + hourMs, 20, failed)
    assert.deepEqual(await reports.sums(tenant, always), {
      counts: { success: 1, error: 1, cancelled: 0, timeout: 1 },
      ...{ promptTokens: 30, completionTokens: 15, totalTokens: 45, latencyMs: 420, minLatencyMs: 20, maxLatencyMs: 300 },
    })
    const first = await reports.sums(tenant, { from: hour + 999, to: hour + 1000 })
    assert.deepEqual(
      { success: first.counts.success, error: first.counts.error, minLatencyMs: first.minLatencyMs },
      { success: 1, error: 0, minLatencyMs: 100 },
    )
    assert.equal((await reports.sums(tenant, { from: hour + hourMs, to: undefined })).maxLatencyMs, 20)
    assert.equal((await reports.sums(`not ${tenant}`, always)).totalTokens, 0)
  })

  test('the extremes stay correct when an ended run is resumed', async () => {
    const { store, tenant, ended, reports } = reportsOf()
    const resume = (run: RunKey) =>
      store.takeOver(run, { fence: 1, status: 'error' }, { holder: 'p', queueOrder: 1, now: hour, messages: [] })
    const slow = await ended(hour + 1, 900, failed)
    const quick = await ended(hour + 2, 1, failed)
    await ended(hour + 3, 50)
    await ended(hour + 4, 70)
    const extremes = async () => {
      const { minLatencyMs, maxLatencyMs } = await reports.sums(tenant, always)
      return [minLatencyMs, maxLatencyMs]
    }
    assert.deepEqual(await extremes(), [1, 900])
    await resume(slow)
    assert.deepEqual(await extremes(), [1, 70])
    await resume(quick)
    assert.deepEqual(await extremes(), [50, 70])
  })

  test('an hour whose only run is resumed has no extremes until the next run', async () => {
    const { store, tenant, ended, reports } = reportsOf()
    const run = await ended(hour + 1, 900, failed)
    const taken = await store.takeOver(run, { fence: 1, status: 'error' }, { holder: 'p', queueOrder: 1, now: hour, messages: [] })
    assert.equal((await reports.sums(tenant, always)).maxLatencyMs, 0)
    assert.ok(taken?.kind === 'running')
    await store.finish(run, 2, endOf(taken.turn, { latencyMs: 7, endedAt: hour + 7 }))
    const { counts, minLatencyMs, maxLatencyMs } = await reports.sums(tenant, always)
    assert.deepEqual(
      { success: counts.success, error: counts.error, minLatencyMs, maxLatencyMs },
      { success: 1, error: 0, minLatencyMs: 7, maxLatencyMs: 7 },
    )
  })

  test('ended runs are listed newest first in pages without duplicates; unended runs and direct executions are not listed', async () => {
    const { store, tenant, ended, newRun: other, reports } = reportsOf()
    const ids: string[] = []
    for (let n = 0; n < 7; n += 1) ids.unshift((await ended(hour + n, 10)).requestId)
    await store.begin(other({ sessionId: 'runs still' }))
    const executions = createExecutionStore(database())
    const tool = newRun({ tenant })
    await executions.begin({ ...tool, now: hour })
    await executions.finish(tool, 1, { result: { tool_name: 't', output: {}, execution_time: 1, status: 'success' }, now: hour + 3 })
    const page = async (limit: number, offset: number, span = {}) =>
      (await reports.ended(tenant, { ...always, ...span, limit, offset })).map(({ requestId }) => requestId)
    assert.deepEqual([...(await page(3, 0)), ...(await page(3, 3)), ...(await page(3, 6))], ids)
    assert.equal(await reports.count(tenant, always), 7)
    const span = { from: hour + 2, to: hour + 4 }
    assert.deepEqual(await page(20, 0, span), ids.slice(2, 5))
    assert.equal(await reports.count(tenant, span), 3)
    assert.deepEqual({ count: await reports.count(`not ${tenant}`, always), page: await page(1, 7) }, { count: 0, page: [] })
  })

  test('counts and offsets of any span are exact, with whole hours and partial hours', async () => {
    const { tenant, ended, reports } = reportsOf()
    // Seven hours, with a midnight among them.
    const start = hour + 20 * hourMs
    const times = Array.from({ length: 1100 }, (_, n) => start + Math.floor((n * 7 * hourMs) / 1100))
    for (const [n, time] of times.entries()) await ended(time, 10, n % 3 ? {} : failed)
    const edges = [
      undefined,
      start,
      start + 1,
      start + hourMs - 1,
      start + hourMs,
      start + 2.5 * hourMs,
      start + 6 * hourMs,
      start + 7 * hourMs,
    ]
    for (const from of edges) {
      for (const to of edges) {
        const inSpan = times.filter((time) => time >= (from ?? 0) && time <= (to ?? Infinity))
        assert.equal(await reports.count(tenant, { from, to }), inSpan.length, `${from} to ${to}`)
      }
    }
    const newest = times.toReversed()
    for (const [from, to] of [
      [undefined, undefined],
      [start + 1, start + 6.5 * hourMs],
    ] as const) {
      const inSpan = newest.filter((time) => time >= (from ?? 0) && time <= (to ?? Infinity))
      for (const offset of [998, 1000, 1013, 1050, inSpan.length - 1, inSpan.length, 5000]) {
        const page = await reports.ended(tenant, { from, to, limit: 20, offset })
        assert.deepEqual(
          page.map(({ endedAt }) => endedAt),
          inSpan.slice(offset, offset + 20),
        )
      }
    }
  })

  test('resumed, deleted and expired runs are no longer counted', async () => {
    const { store, tenant, ended, reports } = reportsOf()
    const sessions = createSessionStore(database())
    const count = () => reports.count(tenant, always)
    const run = await ended(hour + 1, 10, failed)
    for (let n = 0; n < 4; n++) await ended(hour + n, 10)
    assert.equal(await count(), 5)
    const taken = await store.takeOver(run, { fence: 1, status: 'error' }, { holder: 'p', queueOrder: 1, now: hour, messages: [] })
    assert.equal(await count(), 4)
    assert.ok(taken?.kind === 'running')
    await store.finish(run, 2, endOf(taken.turn, { endedAt: hour + 2 * hourMs }))
    assert.equal(await count(), 5)
    for (const sessionId of ['s1', 's2']) await sessions.remove({ tenant, owner: run.owner }, sessionId, { jobId: randomUUID(), now: hour })
    assert.deepEqual(
      { count: await count(), endedCount: (await reports.ended(tenant, { ...always, limit: 9, offset: 0 })).length },
      { count: 3, endedCount: 3 },
    )
    assert.equal((await reports.sums(tenant, always)).counts.success, 5)
    await createRetentionStore(database()).remove('runs', tenant, hour + 3, { limit: 2, now: hour + 3 })
    assert.deepEqual(
      { count: await count(), endedCount: (await reports.ended(tenant, { ...always, limit: 9, offset: 0 })).length },
      { count: 1, endedCount: 1 },
    )
  })

  test('runs are found by request id, separately for each caller', async () => {
    const { store, tenant, start, reports } = reportsOf()
    for (const [n, owner] of ['agent-core ann', 'agent-core bob'].entries()) {
      const { run, turn } = await start({ owner, requestId: 'r', agent: 'The agent' })
      const error = { body: 'It broke.', status_code: 500 }
      await store.finish(run, 1, endOf(turn, { ...failed, error, endedAt: hour + n, latencyMs: n }))
    }
    const [newest, oldest, ...none] = await reports.withRequestId(tenant, 'r', always)
    assert.deepEqual(newest, {
      ...{ requestId: 'r', agent: 'The agent', model: 'm', status: 'error', error: { body: 'It broke.', status_code: 500 } },
      ...{ latencyMs: 1, endedAt: hour + 1, completionTokens: 5, totalTokens: 15 },
    })
    assert.deepEqual({ endedAt: oldest?.endedAt, none }, { endedAt: hour, none: [] })
    assert.deepEqual(await reports.withRequestId(tenant, 'other', always), [])
    assert.deepEqual(await reports.withRequestId(`not ${tenant}`, 'r', always), [])
  })
}
