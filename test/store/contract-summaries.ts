import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/store/database.ts'
import { createSummaryStore } from '../../src/store/sessions/conversations.ts'
import { ai, endOf, human, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('windows', registerSummaryContract)

/** The window of a session and the summary of what was before it. */
function registerSummaryContract(database: () => Database): void {
  const setUp = async () => {
    const parts = storeOf(database())
    const { run, turn } = await parts.start({ messages: [human('a'), ai('b'), human('c')] })
    await parts.store.finish(run, 1, endOf(turn))
    return { ...parts, run, key: turn.session, summaries: createSummaryStore(database(), parts.store) }
  }

  test('a window moves together with its summary, and the next run gets both', async () => {
    const {
      store,
      newRun,
      run: { owner },
      tenant,
      key,
      summaries,
    } = await setUp()
    assert.deepEqual(await summaries.window(tenant, key), { owner, start: 0, summary: undefined, deleted: 0 })
    const summary = { text: 'ü\0 "b"', system: 'S' }
    assert.equal(await summaries.moveWindow(tenant, key, { start: 0, end: 2, deleted: 0, summary }), true)
    assert.deepEqual(await summaries.window(tenant, key), { owner, start: 2, summary, deleted: 0 })
    const run = newRun()
    assert.deepEqual(await running(store, run), { session: key, messageIndex: 4, messageCount: 5, windowStart: 2, summary })
  })

  test('a waiting run gets window and summary too, and its end does not change them', async () => {
    const { store, newRun, tenant, key, summaries } = await setUp()
    const [first, second] = [newRun(), newRun()]
    const turn = await running(store, first)
    await store.begin(second)
    assert.equal(await summaries.moveWindow(tenant, key, { start: 0, end: 2, deleted: 0, summary: { text: 'x' } }), true)
    await store.finish(first, 1, endOf(turn))
    const next = await store.takeTurn(second, second.messages, second.now)
    assert.deepEqual({ windowStart: next!.windowStart, summary: next!.summary }, { windowStart: 2, summary: { text: 'x' } })
  })

  test('of two concurrent moves of a window one succeeds; another tenant or a deleted session moves none', async () => {
    const { tenant, key, summaries } = await setUp()
    const move = (end: number, of = tenant) => summaries.moveWindow(of, key, { start: 0, end, deleted: 0, summary: { text: `${end}` } })
    assert.equal(await move(2, `not ${tenant}`), false)
    const moved = await Promise.all([move(2), move(3)])
    assert.equal(moved.filter(Boolean).length, 1)
    const { start, summary } = (await summaries.window(tenant, key))!
    assert.equal(summary!.text, `${start}`)
    assert.equal(await summaries.moveWindow(tenant, 'gone', { start: 0, end: 2, deleted: 0, summary: { text: '' } }), false)
    assert.equal(await summaries.window(tenant, 'gone'), undefined)
    assert.equal(await summaries.window(`not ${tenant}`, key), undefined)
  })

  test('a history is read up to the limit', async () => {
    const { tenant, key, summaries } = await setUp()
    assert.deepEqual(
      (await summaries.history(tenant, key, 1, 2)).map(({ idx }) => idx),
      [1, 2],
    )
  })
}
