import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { callbackJob } from '../../src/runs/callbacks/callbacks.ts'
import type { HeldRun, QueueEnd, NewRun } from '../../src/runs/run-store.ts'
import { createCallbackStore } from '../../src/store/runs/callbacks.ts'
import type { Database } from '../../src/store/database.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { dropRunJobs, endOf, hour, human, idsOf, runJobsOf, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('async runs', registerAsyncContract)

/** Registers what holds of async runs and their callbacks on every database. */
function registerAsyncContract(database: () => Database): void {
  const event = (key = 'key', callbackUrl: string | undefined = 'https://u:p@x/hook') => ({ key, id: 'e\0', callbackUrl })
  const asynchronous = { operation: 'chain_async', onDisconnect: 'continue' } as const

  function setUp() {
    const own = storeOf(database())
    const callbacks = createCallbackStore(database())
    const newRun = (change: Partial<NewRun> = {}) => own.newRun({ ...asynchronous, event: event(), ...change })
    return { ...own, callbacks, newRun }
  }

  const by = (run: NewRun) => ({ holder: 'process-2', queueOrder: run.queueOrder, now: hour + 5, messages: run.messages })
  const dataOf = ({ owner, requestId, fence }: HeldRun) => ({ owner, requestId, fence })
  const idOf = ({ requestId }: { requestId: string }) => requestId

  test('an event is stored as a waiting run with its session and callback, and without a message', async () => {
    const { store, newRun, session, count, callbacks, tenant } = setUp()
    const run = newRun()
    assert.deepEqual(await store.begin(run), { kind: 'waiting', fence: 1 })
    const stored = (await store.find(run))!
    assert.deepEqual({ status: stored.status, messageIndex: stored.messageIndex }, { status: 'pending', messageIndex: undefined })
    const { active_run, message_count } = (await session())!
    assert.deepEqual(
      { active_run, message_count, count: await count('messages') },
      { active_run: run.requestId, message_count: 0, count: 0 },
    )
    assert.deepEqual(await callbacks.find(run), {
      ...{ eventId: 'e\uFFFD', url: 'https://u:p@x/hook', status: 'pending', attempts: [], round: 0, tries: 0 },
    })
    assert.deepEqual(await store.findEvent(run, 'key'), { requestId: run.requestId, sessionId: 's' })
    assert.equal(await store.findEvent({ ...run, owner: 'other' }, 'key'), undefined)
    assert.equal(await store.findEvent({ ...run, tenant: 'other' }, 'key'), undefined)
    assert.deepEqual({ holder: stored.holder, runJobsOf: await runJobsOf(database(), tenant) }, { holder: '', runJobsOf: [dataOf(run)] })
    const up = (await store.claim(run, () => by(run)))!
    assert.deepEqual(
      {
        status: up.run.status,
        fence: up.takenOver.fence,
        messageIndex: up.takenOver.turn.messageIndex,
        messageCount: up.takenOver.turn.messageCount,
      },
      { status: 'pending', fence: 2, messageIndex: 0, messageCount: 1 },
    )
    const { startedAt, holder, status } = (await store.find(run))!
    assert.deepEqual({ startedAt, holder, status }, { startedAt: hour + 5, holder: 'process-2', status: 'running' })
  })

  test('of concurrent claims of a run one succeeds; a claimed run, or one that is not next, cannot be claimed', async () => {
    const { store, newRun, start } = setUp()
    for (let n = 0; n < 5; n++) {
      const run = newRun({ sessionId: `${n}`, event: event(`${n}`) })
      await store.begin(run)
      const taken = await Promise.all([1, 2, 3].map(() => store.claim(run, () => by(run))))
      assert.equal(taken.filter((one) => one !== undefined).length, 1)
    }
    await start({ sessionId: 'busy', operation: 'chain', event: undefined })
    const waits = newRun({ sessionId: 'busy', event: event('waits') })
    await store.begin(waits)
    assert.equal(await store.claim(waits, () => by(waits)), undefined)
  })

  test('a repeated event changes nothing under any request id, nor does another event with a known request id', async () => {
    const { store, newRun, session, count } = setUp()
    const run = newRun()
    await store.begin(run)
    const before = await session()
    const accepted = { kind: 'accepted', as: { requestId: run.requestId, sessionId: 's' } }
    assert.deepEqual(await store.begin(newRun({ sessionId: 'other' })), accepted)
    assert.deepEqual(await store.begin(newRun({ requestId: run.requestId })), accepted)
    const known = await store.begin(newRun({ requestId: run.requestId, event: event('another') }))
    assert.equal(known.kind, 'known')
    assert.equal(await store.findEvent(run, 'another'), undefined)
    assert.deepEqual(await session(), before)
    assert.deepEqual([await count('runs'), await count('sessions')], [1, 1])
  })

  test('many concurrent copies of an event create one run, and all get its ids', async () => {
    const { store, newRun, count } = setUp()
    const begun = await Promise.all(Array.from({ length: 10 }, (_, n) => store.begin(newRun({ sessionId: `s${n}` }))))
    assert.deepEqual(begun.map(({ kind }) => kind).sort(), [...Array<string>(9).fill('accepted'), 'waiting'])
    const ids = new Set(begun.flatMap((one) => (one.kind === 'accepted' ? [one.as.requestId] : [])))
    assert.deepEqual([ids.size, await count('runs'), await count('sessions')], [1, 1, 1])
  })

  test('an event keeps its order of arrival: later runs wait for its end', async () => {
    const { store, newRun, start, tenant, texts } = setUp()
    const first = await start({ event: undefined })
    const second = newRun({ messages: [human('second')] })
    const third = storeOf(database()).newRun({ tenant, messages: [human('third')] })
    await store.begin(second)
    await store.begin(third)
    assert.deepEqual(await runJobsOf(database(), tenant), [])
    const next = await store.finish(first.run, 1, endOf(first.turn))
    assert.deepEqual(next, { tenant, owner: second.owner, requestId: second.requestId, holder: '' })
    assert.deepEqual(await runJobsOf(database(), tenant), [dataOf(second)])
    const { turn } = (await store.claim(second, () => by(second)))!.takenOver
    assert.equal((await store.finish(second, 2, endOf(turn)))?.holder, third.holder)
    assert.ok(await store.takeTurn(third, third.messages, hour))
    assert.deepEqual(await texts(turn.session), ['0 hello', '1 answer', '2 second', '3 answer', '4 third'])
    assert.equal((await runJobsOf(database(), tenant)).length, 1)
  })

  test('a run that leaves the queue gives the session to the waiting event with a job; a cancelled event is kept with its callback', async () => {
    const { store, newRun, start, tenant } = setUp()
    const first = await start({ event: undefined })
    const leaves = storeOf(database()).newRun({ tenant })
    const [second, third] = [newRun(), newRun({ event: event('third') })]
    for (const run of [leaves, second, third]) await store.begin(run)
    await store.finish(first.run, 1, endOf(first.turn))
    assert.equal((await store.leaveQueue(leaves, hour))?.requestId, second.requestId)
    const told = callbackJob(second, { id: randomUUID(), round: 0, now: hour })
    const end: QueueEnd = { status: 'cancelled', continuable: false, error: undefined, log: { input: 'x', events: [] }, jobs: [told] }
    assert.equal((await store.leaveQueue(second, hour, end))?.requestId, third.requestId)
    assert.equal((await store.find(second))?.status, 'cancelled')
    assert.deepEqual(await idsOf(database(), tenant), [told.id])
    const requestIds = (await runJobsOf(database(), tenant)).map(({ requestId }) => requestId)
    assert.deepEqual(requestIds.toSorted(), [second.requestId, third.requestId].toSorted())
    assert.equal(await store.claim(second, () => by(second)), undefined)
    assert.ok(await store.claim(third, () => by(third)))
  })

  test('a released run is unclaimed, keeps its session and checkpoints, and gets a job of its own', async () => {
    const { store, newRun, session, texts, tenant } = setUp()
    for (const hasBegun of [false, true]) {
      const run = newRun({ sessionId: `${hasBegun}`, event: event(`${hasBegun}`) })
      await store.begin(run)
      const up = hasBegun ? await store.claim(run, () => by(run)) : undefined
      const from = hasBegun ? { fence: 2, status: 'running' as const } : { fence: 1, status: 'pending' as const }
      assert.equal(await store.release(run, { ...from, fence: 7 }, hour), false)
      assert.equal(await store.release(run, from, hour), true)
      const fence = from.fence + 1
      const { status, holder } = (await store.find(run))!
      assert.deepEqual(
        { status, holder, active_run: (await session(`${hasBegun}`))!.active_run },
        { status: 'pending', holder: '', active_run: run.requestId },
      )
      assert.ok((await runJobsOf(database(), tenant)).some((job) => job.requestId === run.requestId && job.fence === fence))
      if (up)
        await assert.rejects(store.checkpoint(run, 2, 0, { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }))
      assert.equal(await store.claim(run, () => by(run)), undefined)
      const again = (await store.claim({ ...run, fence }, () => by(run)))!
      assert.deepEqual(
        { messageIndex: again.takenOver.turn.messageIndex, messageCount: again.takenOver.turn.messageCount },
        { messageIndex: 0, messageCount: 1 },
      )
      assert.deepEqual(await texts(again.takenOver.turn.session), ['0 hello'])
    }
  })

  test('a released run in a session queue waits unclaimed and without a job', async () => {
    const { store, newRun, start, tenant } = setUp()
    const first = await start({ event: undefined })
    const waits = newRun()
    await store.begin(waits)
    assert.equal(await store.release(waits, { fence: 1, status: 'pending' }, hour), true)
    assert.deepEqual(await runJobsOf(database(), tenant), [])
    await store.finish(first.run, 1, endOf(first.turn))
    assert.deepEqual(await runJobsOf(database(), tenant), [{ ...dataOf(waits), fence: 2 }])
  })

  test('a missing job is added, an existing one is not added again', async () => {
    const { store, newRun, tenant } = setUp()
    const runs = [newRun(), newRun({ sessionId: 't', event: event('t') }), newRun({ event: event('waits') })]
    for (const run of runs) await store.begin(run)
    const jobs = await runJobsOf(database(), tenant)
    await store.addMissingJobs(hour)
    assert.deepEqual(await runJobsOf(database(), tenant), jobs)
    await dropRunJobs(database(), tenant)
    await store.addMissingJobs(hour)
    assert.deepEqual((await runJobsOf(database(), tenant)).map(idOf).toSorted(), runs.slice(0, 2).map(idOf).toSorted())
    assert.ok((await store.countUnclaimed()) >= 3)
  })

  test('a caller with a burst of runs takes turns with other callers', async () => {
    const { store, newRun, tenant } = setUp()
    const send = async (owner: string, n: number) => {
      const run = newRun({ owner: `agent-core ${owner}`, sessionId: `${owner} ${n}`, event: event(`${n}`) })
      await store.begin(run)
      return `${owner} ${n}`
    }
    for (let n = 0; n < 4; n++) await send('ann', n)
    for (let n = 0; n < 2; n++) await send('bob', n)
    await send('eve', 0)
    const rows = await database().db.selectFrom('runs').select(['session_id', 'work_rank', 'owner']).where('tenant', '=', tenant).execute()
    const ranks = new Map(rows.map((row) => [row.session_id, row.work_rank!]))
    const of = (name: string) => ranks.get(name)! - ranks.get('ann 0')!
    assert.deepEqual([of('ann 0'), of('ann 1'), of('ann 2'), of('ann 3')], [0, 1, 2, 3])
    for (const name of ['bob 0', 'eve 0']) assert.ok(of(name) <= 1, `${name} ${of(name)}`)
    assert.equal(of('bob 1') - of('bob 0'), 1)
  })

  test('an event of a deleted session is gone, not new', async () => {
    const { store, newRun, tenant, callbacks } = setUp()
    const run = newRun()
    await store.begin(run)
    await createSessionStore(database()).remove({ tenant, owner: run.owner }, 's', { jobId: randomUUID(), now: hour })
    const isGone = (error: unknown) => error instanceof ServiceError && error.code === 'gone'
    await assert.rejects(store.findEvent(run, 'key'), isGone)
    await assert.rejects(store.begin(newRun()), isGone)
    assert.equal(await callbacks.find(run), undefined)
  })

  test('attempts of a callback are stored in order and counted per round', async () => {
    const { store, newRun, callbacks, tenant } = setUp()
    const run = newRun()
    await store.begin(run)
    await callbacks.record(run, 0, { at: 1, status: 500 }, { status: 'pending' })
    await callbacks.record(run, 0, { at: 2, status: null, error: 'no' }, { status: 'failed' })
    const failed = (await callbacks.find(run))!
    assert.deepEqual({ status: failed.status, tries: failed.tries, round: failed.round }, { status: 'failed', tries: 2, round: 0 })
    assert.deepEqual(failed.attempts, [
      { at: 1, status: 500 },
      { at: 2, status: null, error: 'no' },
    ])
    const jobId = randomUUID()
    assert.equal(await callbacks.restart(run, (round) => callbackJob(run, { id: `${jobId} ${round}`, round, now: hour })), true)
    assert.deepEqual(await idsOf(database(), tenant), [`${jobId} 1`])
    const anew = (await callbacks.find(run))!
    assert.deepEqual(
      { status: anew.status, tries: anew.tries, round: anew.round, attemptCount: anew.attempts.length },
      { status: 'pending', tries: 0, round: 1, attemptCount: 2 },
    )
  })

  test('an attempt of an earlier round is stored; a delivery counts, and a delivered callback stays delivered', async () => {
    const { store, newRun, callbacks, tenant } = setUp()
    const run = newRun()
    await store.begin(run)
    const toJob = (round: number) => callbackJob(run, { id: randomUUID(), round, now: hour })
    await callbacks.restart(run, toJob)
    await callbacks.record(run, 0, { at: 1, status: 500 }, { status: 'failed' })
    const untouched = (await callbacks.find(run))!
    assert.deepEqual(
      { status: untouched.status, tries: untouched.tries, attemptCount: untouched.attempts.length },
      { status: 'pending', tries: 0, attemptCount: 1 },
    )
    await callbacks.record(run, 0, { at: 2, status: 200 }, { status: 'delivered' })
    await callbacks.record(run, 1, { at: 3, status: 500 }, { status: 'failed' })
    assert.equal((await callbacks.find(run))!.status, 'delivered')
    assert.equal(await callbacks.restart(run, toJob), false)
    assert.equal((await idsOf(database(), tenant)).length, 1)
    await callbacks.record({ ...run, requestId: 'unknown' }, 0, { at: 1, status: 200 }, { status: 'delivered' })
  })
}
