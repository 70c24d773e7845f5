import assert from 'node:assert/strict'
import { FenceLost } from '../../src/runs/run-store.ts'
import { test } from 'node:test'
import type { RunStatus } from '../../src/runs/run.ts'
import type { NewRun, RunStore } from '../../src/runs/run-store.ts'
import { query, type Database } from '../../src/store/database.ts'
import { createProcessStore } from '../../src/store/leases/processes.ts'
import { idsOf, jobOf, ai, endOf, failed, hour, human, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('line and taking over', registerLineContract)

/** How the runs of a session follow each other, and how one moves to another process. */
function registerLineContract(database: () => Database): void {
  registerLine(database)
  registerTakeOver(database)
  registerRaces(database)
}

const minute = 60_000

function take(store: RunStore, run: NewRun, fence: number, status: RunStatus, change: { holder?: string; place?: number } = {}) {
  return store.takeOver(
    run,
    { fence, status },
    { holder: 'process-2', queueOrder: run.queueOrder, now: hour + 7, messages: run.messages, ...change },
  )
}

function keyOf({ tenant, owner, requestId, holder }: NewRun) {
  return { tenant, owner, requestId, holder }
}

function registerLine(database: () => Database): void {
  test('waiting runs get their session in order of arrival', async () => {
    const { store, newRun, start, texts } = storeOf(database())
    const first = await start()
    const third = newRun({ queueOrder: 3000, messages: [human('third')] })
    const second = newRun({ queueOrder: 2000, messages: [human('second')] })
    for (const run of [third, second]) assert.equal((await store.begin(run)).kind, 'waiting')
    assert.equal(await store.takeTurn(second, second.messages, hour), undefined)
    assert.deepEqual(await store.finish(first.run, 1, endOf(first.turn)), keyOf(second))
    assert.equal(await store.takeTurn(third, third.messages, hour), undefined)
    const turn = await store.takeTurn(second, second.messages, hour + 1)
    assert.deepEqual(turn, { session: first.turn.session, messageIndex: 2, messageCount: 3, windowStart: 0 })
    assert.equal(await store.takeTurn(second, second.messages, hour), undefined)
    assert.deepEqual(await store.finish(second, 1, endOf(turn)), keyOf(third))
    assert.equal((await store.takeTurn(third, third.messages, hour))?.messageIndex, 4)
    assert.deepEqual(await texts(turn.session), ['0 hello', '1 answer', '2 second', '3 answer', '4 third'])
  })

  test('clocks of processes may differ: a run waits behind the runs that other processes have accepted', async () => {
    const { store, newRun, start, tenant } = storeOf(database())
    await start()
    const asynchronous = (id: string) => ({ operation: 'chain_async' as const, event: { key: id, id, callbackUrl: undefined } })
    const waiting = [
      newRun({ queueOrder: 9000, ...asynchronous('1') }),
      newRun({ queueOrder: 3000, holder: 'process-2', ...asynchronous('2') }),
      newRun({ queueOrder: 3001, holder: 'process-2' }),
      newRun({ queueOrder: 9001 }),
    ]
    for (const run of waiting) assert.equal((await store.begin(run)).kind, 'waiting')
    const { db, all } = database()
    const queue = db.selectFrom('runs').select('request_id').where('tenant', '=', tenant).where('status', '=', 'pending').orderBy('place')
    const ids = (await query(all.read, queue)).rows.map((row) => row.request_id)
    assert.deepEqual(
      ids,
      waiting.map(({ requestId }) => requestId),
    )
  })

  test('a waiting run stores its earlier messages only when the session is still empty', async () => {
    const { store, newRun, start, texts } = storeOf(database())
    const first = await start()
    const next = newRun({ messages: [human('x'), human('y')] })
    await store.begin(next)
    await store.finish(first.run, 1, endOf(first.turn, { message: undefined }))
    const turn = await store.takeTurn(next, next.messages, hour)
    assert.deepEqual(await texts(turn!.session), ['0 hello', '1 y'])
  })

  test('a run that leaves the queue is deleted', async () => {
    const { store, newRun, start, count, metrics } = storeOf(database())
    await start()
    const run = newRun()
    await store.begin(run)
    assert.equal(await store.leaveQueue(run, hour), undefined)
    assert.equal(await store.find(run), undefined)
    assert.deepEqual({ count: await count('runs'), metrics: await metrics() }, { count: 1, metrics: [] })
    assert.equal((await store.begin(run)).kind, 'waiting')
  })

  test('a run cancelled in the queue is kept with its log and counted', async () => {
    const { store, newRun, start, metrics, count } = storeOf(database())
    await start()
    const run = newRun()
    await store.begin(run)
    const log = { input: 'hello', events: [] }
    const job = jobOf({ kind: 'callback', tenant: run.tenant })
    const end = { status: 'cancelled', continuable: false, error: undefined, log } as const
    assert.equal(await store.leaveQueue(run, hour + 9, { ...end, jobs: [job] }), undefined)
    assert.equal(await store.leaveQueue(run, hour + 9, { ...end, jobs: [jobOf({ tenant: run.tenant })] }), undefined)
    assert.deepEqual(await idsOf(database(), run.tenant), [job.id])
    const stored = (await store.find(run))!
    assert.deepEqual(
      { status: stored.status, endedAt: stored.endedAt, continuable: stored.continuable, request: stored.request },
      { status: 'cancelled', endedAt: hour + 9, continuable: false, request: undefined },
    )
    assert.deepEqual(stored.log, log)
    assert.deepEqual({ cancelled: (await metrics())[0]!.cancelled, count: await count('messages') }, { cancelled: 1, count: 1 })
  })

  test('a run that leaves the queue after getting the session hands the session over', async () => {
    const { store, newRun, start, session } = storeOf(database())
    const first = await start()
    const [second, third] = [newRun(), newRun()]
    await store.begin(second)
    await store.begin(third)
    await store.finish(first.run, 1, endOf(first.turn))
    assert.deepEqual(await store.leaveQueue(second, hour), keyOf(third))
    assert.equal((await session())!.active_run, third.requestId)
    assert.equal(await store.leaveQueue(third, hour), undefined)
    assert.equal((await session())!.active_run, null)
  })

  test('a running run cannot leave the queue', async () => {
    const { store, start, session } = storeOf(database())
    const { run } = await start()
    assert.equal(await store.leaveQueue(run, hour), undefined)
    assert.equal((await store.find(run))!.status, 'running')
    assert.equal((await session())!.active_run, run.requestId)
  })

  test('a resumed run that leaves the queue has failed as before, and can be resumed again', async () => {
    const { store, start, newRun, metrics } = storeOf(database())
    const first = await start()
    await store.finish(first.run, 1, endOf(first.turn, failed))
    await start()
    assert.deepEqual(await take(store, first.run, 1, 'error'), { kind: 'waiting', fence: 2 })
    assert.equal(await store.leaveQueue({ ...first.run, fence: 1 }, hour), undefined)
    assert.equal((await store.find(first.run))?.status, 'pending')
    assert.equal(await store.leaveQueue({ ...first.run, fence: 2 }, hour), undefined)
    const stored = (await store.find(first.run))!
    assert.deepEqual(
      { status: stored.status, continuable: stored.continuable, messageIndex: stored.messageIndex },
      { status: 'error', continuable: true, messageIndex: 0 },
    )
    assert.deepEqual(stored.request, newRun().request)
    const [sums] = await metrics()
    assert.deepEqual(
      { error: sums!.error, prompt_tokens: sums!.prompt_tokens, latency_ms: sums!.latency_ms },
      { error: 1, prompt_tokens: 10, latency_ms: 0 },
    )
  })
}

function registerTakeOver(database: () => Database): void {
  test('a running run is resumed in another process without storing its message twice', async () => {
    const { store, start, count } = storeOf(database())
    const { run, turn } = await start()
    assert.deepEqual(await take(store, run, 1, 'running'), { kind: 'running', fence: 2, turn })
    const stored = (await store.find(run))!
    assert.deepEqual(
      { status: stored.status, fence: stored.fence, holder: stored.holder, startedAt: stored.startedAt },
      { status: 'running', fence: 2, holder: 'process-2', startedAt: hour + 7 },
    )
    assert.equal(await count('messages'), 1)
  })

  test('the partial answer of a resumed run is removed from the session unless later messages follow', async () => {
    const { store, start, newRun, texts } = storeOf(database())
    for (const isLast of [true, false]) {
      const { run, turn } = await start({ sessionId: `s ${isLast}` })
      const message = { ...ai('begun'), data: { requestId: run.requestId } }
      await store.finish(run, 1, endOf(turn, { ...failed, status: 'cancelled', message, messageCount: turn.messageCount + 1 }))
      if (!isLast) {
        const next = newRun({ sessionId: run.sessionId, messages: [human('next')] })
        const begun = await store.begin(next)
        if (begun.kind === 'running') await store.finish(next, 1, endOf(begun.turn))
      }
      const taken = await take(store, run, 1, 'cancelled')
      assert.deepEqual(taken, { kind: 'running', fence: 2, turn: { ...turn, messageCount: isLast ? 1 : 4 } })
      const others = ['1 begun', '2 next', '3 answer']
      assert.deepEqual(await texts(turn.session), ['0 hello', ...(isLast ? [] : others)])
    }
  })

  test('a resumed run is subtracted from the metrics until it ends again', async () => {
    const { store, start, metrics, texts } = storeOf(database())
    const { run, turn } = await start()
    await store.finish(run, 1, endOf(turn, failed))
    const taken = await take(store, run, 1, 'error')
    assert.deepEqual(taken, { kind: 'running', fence: 2, turn })
    const stored = (await store.find(run))!
    assert.deepEqual({ endedAt: stored.endedAt, continuable: stored.continuable }, { endedAt: undefined, continuable: false })
    // What is left of its first end stays until it ends again: it may have to wait in vain.
    assert.notEqual(stored.log, undefined)
    const sums = async () => {
      const [row] = await metrics()
      return [row!.success, row!.error, row!.prompt_tokens, row!.completion_tokens, row!.total_tokens, row!.latency_ms]
    }
    assert.deepEqual(await sums(), [0, 0, 0, 0, 0, 0])
    await store.finish(run, 2, endOf(turn))
    assert.deepEqual(await sums(), [1, 0, 10, 5, 15, 100])
    assert.deepEqual(await texts(turn.session), ['0 hello', '1 answer'])
  })

  test('a waiting run stores its message when it starts in another process', async () => {
    const { store, newRun, start, texts } = storeOf(database())
    const first = await start()
    const run = newRun({ messages: [human('late')] })
    await store.begin(run)
    assert.deepEqual(await take(store, run, 1, 'pending'), { kind: 'waiting', fence: 2 })
    await store.finish(first.run, 1, endOf(first.turn))
    await assert.rejects(store.takeTurn({ ...run, fence: 1 }, run.messages, hour), FenceLost)
    const turn = await store.takeTurn({ ...run, fence: 2 }, run.messages, hour)
    assert.deepEqual({ messageIndex: turn?.messageIndex, messageCount: turn?.messageCount }, { messageIndex: 2, messageCount: 3 })
    assert.deepEqual(await texts(turn!.session), ['0 hello', '1 answer', '2 late'])
  })

  test('a waiting run that has its session starts in the process that takes it over', async () => {
    const { store, newRun, start, texts } = storeOf(database())
    const first = await start()
    const run = newRun({ messages: [human('late')] })
    await store.begin(run)
    await store.finish(first.run, 1, endOf(first.turn))
    const taken = await take(store, run, 1, 'pending')
    assert.deepEqual(taken?.kind === 'running' && taken.turn.messageIndex, 2)
    assert.deepEqual(await texts(first.turn.session), ['0 hello', '1 answer', '2 late'])
  })

  test('a run that has changed since it was read is not taken over', async () => {
    const { store, start } = storeOf(database())
    const { run, turn } = await start()
    assert.equal(await take(store, run, 7, 'running'), undefined)
    assert.equal(await take(store, run, 1, 'error'), undefined)
    assert.equal(await take(store, { ...run, requestId: 'unknown' }, 1, 'running'), undefined)
    await store.finish(run, 1, endOf(turn))
    assert.equal(await take(store, run, 1, 'running'), undefined)
  })

  test('orphans are the unended runs of processes that are not alive, oldest first', async () => {
    const { store, tenant, newRun, start } = storeOf(database())
    const process = (name: string) => `${tenant} ${name}`
    const processes = createProcessStore(database())
    const orphansAfter = async (graceMs: number) =>
      (await store.orphans(process('me'), graceMs)).runs.filter((run) => run.tenant === tenant).map((run) => run.requestId)
    await start({ requestId: 'mine', sessionId: 'a', holder: process('me') })
    await start({ requestId: 'alive', sessionId: 'b', holder: process('alive') })
    await start({ requestId: 'dead', sessionId: 'c', holder: process('dead'), queueOrder: 50_000 })
    await store.begin(newRun({ requestId: 'waiting', sessionId: 'c', holder: process('unknown'), queueOrder: 40_000 }))
    const ended = await start({ sessionId: 'd', holder: process('dead') })
    await store.finish(ended.run, 1, endOf(ended.turn))
    await start({ requestId: 'tool', sessionId: 'e', holder: process('dead'), operation: 'tool_execute' })
    assert.equal((await processes.renew(process('alive'), minute)).wasHeld, false)
    assert.deepEqual(await processes.renew(process('alive'), minute), { wasHeld: true, hasRuns: true })
    await processes.renew(process('dead'), -minute)
    assert.deepEqual(await orphansAfter(0), ['waiting', 'dead'])
    assert.deepEqual(await orphansAfter(2 * minute), ['waiting'])
    assert.equal((await processes.renew(process('dead'), minute)).wasHeld, false)
    assert.deepEqual(await orphansAfter(0), ['waiting'])
    await processes.release(process('dead'))
    assert.deepEqual(await orphansAfter(2 * minute), ['waiting', 'dead'])
  })

  test('a run is not taken from a process that has its lease again', async () => {
    const { store, tenant, start } = storeOf(database())
    const processes = createProcessStore(database())
    const holder = `${tenant} slow`
    const { run } = await start({ holder })
    const by = { holder: 'process-2', queueOrder: run.queueOrder, now: hour, messages: run.messages }
    const takeLost = () => store.takeOver(run, { fence: 1, status: 'running', graceMs: 0 }, by)
    await processes.renew(holder, minute)
    assert.equal(await takeLost(), undefined)
    await processes.renew(holder, -1)
    assert.equal((await takeLost())?.fence, 2)
  })

  test('a process without a lease for a day is deleted', async () => {
    const { tenant } = storeOf(database())
    const processes = createProcessStore(database())
    const day = 24 * 60 * minute
    await processes.renew(`${tenant} old`, -day - minute)
    await processes.renew(`${tenant} silent`, -day + minute)
    await processes.renew(`${tenant} new`, minute)
    const rows = await database().db.selectFrom('processes').select('id').where('id', 'like', `${tenant}%`).orderBy('id').execute()
    assert.deepEqual(
      rows.map(({ id }) => id.slice(tenant.length + 1)),
      ['new', 'silent'],
    )
  })
}

function registerRaces(database: () => Database): void {
  test('of two concurrent takeovers of a run one succeeds', async () => {
    const { store, start } = storeOf(database())
    for (let n = 0; n < 10; n += 1) {
      const { run, turn } = await start({ sessionId: `race ${n}` })
      if (n % 2) await store.finish(run, 1, endOf(turn, failed))
      const status = n % 2 ? 'error' : 'running'
      const taken = await Promise.all(['a', 'b', 'c'].map((holder) => take(store, run, 1, status, { holder })))
      assert.equal(taken.filter((one) => one !== undefined).length, 1)
      assert.equal((await store.find(run))!.fence, 2)
    }
  })

  test('a run that joins a queue during a handover is never forgotten', async () => {
    const { store, newRun, start, session } = storeOf(database())
    let { run, turn } = await start()
    for (let n = 0; n < 15; n += 1) {
      const [gone, next] = [newRun(), newRun()]
      await store.begin(gone)
      const [, , begun] = await Promise.all([store.finish(run, 1, endOf(turn)), store.leaveQueue(gone, hour), store.begin(next)])
      const given = begun.kind === 'running' ? begun.turn : await store.takeTurn(next, next.messages, hour)
      assert.ok(given, `round ${n}: the session belongs to ${(await session())!.active_run}`)
      run = next
      turn = given
    }
  })

  test('concurrent begins, ends, leaves and takeovers in sessions do not deadlock', async () => {
    const { store, newRun, start, session, metrics } = storeOf(database())
    const rounds = Array.from({ length: 12 }, async (_, n) => {
      const { run, turn } = await start({ sessionId: `busy ${n}` })
      const waiting = newRun({ sessionId: `busy ${n}` })
      await Promise.all([
        store.finish(run, 1, endOf(turn, failed)),
        store.begin(waiting),
        store.begin({ ...run, sessionKey: `again ${n} ${run.sessionKey}` }),
      ])
      await Promise.all([take(store, run, 1, 'error'), store.leaveQueue(waiting, hour), store.begin({ ...run, sessionKey: `third ${n}` })])
      const { status } = (await store.find(run))!
      assert.ok(status === 'running' || status === 'pending', status)
      assert.ok((await session(`busy ${n}`))!.active_run)
    })
    await Promise.all(rounds)
    assert.equal((await metrics())[0]!.error, 0)
  })
}
