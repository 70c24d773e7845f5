import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecentPage } from '../../src/runs/run-list.ts'
import type { Interruption, NewRun } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createRecentRunStore } from '../../src/store/reports/recent-runs.ts'
import { endOf, hour, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

const everything = { statuses: undefined, sessionId: undefined, changedSince: undefined, before: undefined, limit: 100 }

/** A few runs in each state: `ended-1` ended first, and was accepted last. */
async function withRuns(database: Database, fewRuns: number) {
  const { store, start, newRun, tenant } = storeOf(database)
  const recent = createRecentRunStore(database, fewRuns)
  const add = (requestId: string, at: number, change: Partial<NewRun> = {}) =>
    start({ requestId, sessionId: requestId, owner: 'agent-core ann', now: hour + at, ...change })
  for (const [n, requestId] of ['ended-3', 'ended-2', 'ended-1'].entries()) {
    const { run, turn } = await add(requestId, n)
    await store.finish(run, 1, endOf(turn, { endedAt: hour + 100 - n * 10 }))
  }
  const { run, turn } = await add('waiting', 3)
  const interruption = { session: turn.session, sessionId: 'waiting', step: 1, ranMs: 1, now: hour + 95, expiresAt: hour * 2, jobs: [] }
  const calls = [{ callId: 'c', tool: 'send', input: {}, by: 'caller' as const }]
  const data = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
  await store.interrupt(run, 1, { ...interruption, calls, data, log: { input: '', events: [] } } satisfies Interruption)
  await add('running', 200)
  await store.begin(newRun({ requestId: 'pending', sessionId: 'running', owner: 'agent-core ann', now: hour + 300 }))
  await add('foreign', 400, { owner: 'agent-core bob' })
  const ann = { tenant, owner: 'agent-core ann' }
  const list = (page: Partial<RecentPage> = {}) => recent.list(ann, { ...everything, ...page })
  return { recent, ann, list, idsOf: async (page: Partial<RecentPage> = {}) => (await list(page)).map(({ requestId }) => requestId) }
}

const order = ['pending', 'running', 'ended-3', 'waiting', 'ended-2', 'ended-1']

storeContract("a caller's runs by their last change", (database) => {
  for (const [name, fewRuns] of [
    ['few', 1000],
    ['many', 0],
  ] as const) {
    test(`${name} runs: last changed first, in pages without gaps, counted and filtered`, async () => {
      const { recent, ann, list, idsOf } = await withRuns(database(), fewRuns)
      assert.deepEqual(await idsOf(), order)
      assert.deepEqual(
        (await list()).map(({ changedAt }) => changedAt - hour),
        [300, 200, 100, 95, 90, 80],
      )
      const pages: string[] = []
      let before: RecentPage['before']
      for (;;) {
        const page = await list({ limit: 2, before })
        pages.push(...page.map(({ run }) => run.requestId))
        before = page.at(-1)
        if (!before) break
      }
      assert.deepEqual(pages, order)
      assert.deepEqual(await idsOf({ changedSince: hour + 95 }), order.slice(0, 4))
      assert.deepEqual(await idsOf({ statuses: ['success'] }), ['ended-3', 'ended-2', 'ended-1'])
      assert.deepEqual(await idsOf({ statuses: ['interrupted'] }), ['waiting'])
      assert.deepEqual(await idsOf({ statuses: ['pending', 'running'], limit: 1 }), ['pending'])
      assert.deepEqual(await idsOf({ statuses: [] }), [])
      assert.deepEqual(await idsOf({ sessionId: 'running' }), ['pending', 'running'])
      assert.equal(await recent.count(ann, everything), 6)
      assert.equal(await recent.count(ann, { ...everything, statuses: ['success'] }), 3)
      assert.deepEqual(await recent.list({ ...ann, tenant: 'other' }, everything), [])
      assert.equal((await list({ sessionId: 'foreign' })).length, 0)
    })
  }
})
