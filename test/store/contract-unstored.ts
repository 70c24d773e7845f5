import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/store/database.ts'
import { noFilters } from '../../src/runs/run-list.ts'
import { unstoredMs } from '../../src/runs/run.ts'
import { createRecentRunStore } from '../../src/store/reports/recent-runs.ts'
import { createRunListStore } from '../../src/store/reports/run-list.ts'
import { createUnstoredRuns } from '../../src/store/runs/unstored.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, hour, human, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('runs that are not kept', registerUnstored)

const firstPage = { ...noFilters, before: undefined, limit: 9 }

function registerUnstored(database: () => Database): void {
  function unstoredOf() {
    const of = storeOf(database())
    const caller = { tenant: of.tenant, owner: 'agent-core ann' }
    const sessions = createSessionStore(database())
    const runs = createRunListStore(database())
    const recent = createRecentRunStore(database(), 0)
    /** Ids of the caller's sessions, and request ids of the lists of runs, each as a text. */
    const listed = async () => {
      const page = { limit: 9, anyOwner: false, before: undefined }
      const [found, matches, own, all, last] = await Promise.all([
        sessions.list(caller, page),
        sessions.search(caller, { ...page, words: ['hello'] }),
        runs.list(caller, { ...firstPage, anyOwner: false }),
        runs.list(caller, { ...firstPage, anyOwner: true }),
        recent.list(caller, { statuses: undefined, sessionId: undefined, changedSince: undefined, limit: 9, before: undefined }),
      ])
      assert.deepEqual(matches.sessions, found)
      assert.deepEqual([own, last.map(({ run }) => run.requestId)], [all, all.map(({ requestId }) => requestId)])
      return [found.map(({ sessionId }) => sessionId).join(), all.map(({ requestId }) => requestId).join()]
    }
    /** Removes what has expired since `endedAt`, also of other tests. */
    const expire = (endedAt: number) => createUnstoredRuns(database()).removeExpired(endedAt + unstoredMs + 1, 500)
    return { ...of, caller, sessions, listed, expire }
  }

  test('an unstored run and its session are not listed, answer repeats, and are removed some time after the end', async () => {
    const { store, start, listed, expire, session, sessions, caller, texts } = unstoredOf()
    const { run, turn } = await start({ unstored: 'session' })
    assert.deepEqual([await listed(), (await store.find(run))?.isUnstored], [['', ''], true])
    await expire(hour + 100)
    await store.finish(run, 1, endOf(turn))
    const begun = await store.begin(run)
    assert.ok(begun.kind === 'known' && begun.run.isUnstored && begun.run.status === 'success')
    assert.deepEqual([await listed(), await sessions.find(caller, run.sessionId, { anyOwner: true })], [['', ''], undefined])
    await expire(hour + 99)
    assert.ok(await session())
    await expire(hour + 100)
    assert.deepEqual([await session(), await texts(turn.session)], [undefined, []])
    await assert.rejects(store.find(run), { code: 'gone' })
  })

  test('an unstored run in a session of its own caller leaves the session and its messages', async () => {
    const { store, start, newRun, listed, expire, texts } = unstoredOf()
    const first = await start()
    await store.finish(first.run, 1, endOf(first.turn))
    const next = newRun({ sessionId: first.run.sessionId, messages: [human('again')], unstored: 'run' })
    await store.finish(next, 1, endOf(await running(store, next)))
    assert.deepEqual(await listed(), [first.run.sessionId, first.run.requestId])
    await expire(hour + 100)
    await assert.rejects(store.find(next), { code: 'gone' })
    assert.deepEqual(await texts(first.turn.session), ['0 hello', '1 answer', '2 again', '3 answer'])
    assert.deepEqual(await listed(), [first.run.sessionId, first.run.requestId])
  })

  test('a chat that goes on in the session of an unstored run keeps the session', async () => {
    const { store, start, newRun, listed, expire } = unstoredOf()
    const first = await start({ unstored: 'session' })
    await store.finish(first.run, 1, endOf(first.turn))
    const next = newRun({ sessionId: first.run.sessionId })
    const turn = await running(store, next)
    await expire(hour + 100)
    await store.finish(next, 1, endOf(turn))
    assert.deepEqual(await listed(), [first.run.sessionId, next.requestId])
    await assert.rejects(store.find(first.run), { code: 'gone' })
  })

  test('a failed unstored run that is being repeated is not removed', async () => {
    const { store, start, expire, session } = unstoredOf()
    const { run, turn } = await start({ unstored: 'session' })
    await store.finish(run, 1, endOf(turn, { status: 'cancelled', continuable: true, message: undefined }))
    const again = await store.takeOver(
      run,
      { fence: 1, status: 'cancelled' },
      { holder: 'process-2', queueOrder: 1, now: hour, messages: [] },
    )
    assert.equal(again?.kind, 'running')
    await expire(hour + 100)
    assert.ok((await session()) && (await store.find(run)))
  })
}
