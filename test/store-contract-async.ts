import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { ServiceError } from '../src/errors.ts'
import { callbackJob } from '../src/runs/callbacks/callbacks.ts'
import type { NewRun } from '../src/runs/run-store.ts'
import { createCallbackStore } from '../src/store/callbacks.ts'
import type { Database } from '../src/store/database.ts'
import { createSessionStore } from '../src/store/sessions.ts'
import { endOf, hour, human, idsOf, storeOf } from './store-fixture.ts'

/** Registers what holds of async runs and their callbacks on every database. */
export function registerAsyncContract(database: () => Database): void {
  const event = (key = 'key', callbackUrl: string | undefined = 'https://u:p@x/hook') => ({ key, id: 'e\0', callbackUrl })
  const asynchronous = { operation: 'chain_async', onDisconnect: 'continue' } as const

  function setUp() {
    const own = storeOf(database())
    const callbacks = createCallbackStore(database())
    const newRun = (change: Partial<NewRun> = {}) => own.newRun({ ...asynchronous, event: event(), ...change })
    return { ...own, callbacks, newRun }
  }

  test('an event is stored as a run that waits, with the session, its callback and no message', async () => {
    const { store, newRun, session, count, callbacks } = setUp()
    const run = newRun()
    assert.deepEqual(await store.begin(run), { kind: 'waiting', fence: 1 })
    const stored = (await store.find(run))!
    assert.deepEqual([stored.status, stored.messageIndex], ['pending', undefined])
    const { active_run, message_count } = (await session())!
    assert.deepEqual([active_run, message_count, await count('messages')], [run.requestId, 0, 0])
    assert.deepEqual(await callbacks.find(run), {
      ...{ eventId: 'e\uFFFD', url: 'https://u:p@x/hook', status: 'pending', attempts: [], round: 0, tries: 0 },
    })
    assert.deepEqual(await store.findEvent(run, 'key'), { requestId: run.requestId, sessionId: 's' })
    assert.equal(await store.findEvent({ ...run, owner: 'other' }, 'key'), undefined)
    assert.equal(await store.findEvent({ ...run, tenant: 'other' }, 'key'), undefined)
    assert.equal(await store.isNext(run), true)
    const turn = await store.takeTurn(run, run.messages, hour + 5)
    assert.deepEqual(turn, { ...turn, messageIndex: 0, messageCount: 1 })
    assert.equal((await store.find(run))!.startedAt, hour + 5)
  })

  test('the same event changes nothing, under whatever request id; another with a known request id neither', async () => {
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

  test('of the same event sent many times at once one run is made, and all are told its ids', async () => {
    const { store, newRun, count } = setUp()
    const begun = await Promise.all(Array.from({ length: 10 }, (_, n) => store.begin(newRun({ sessionId: `s${n}` }))))
    assert.deepEqual(begun.map(({ kind }) => kind).sort(), [...Array<string>(9).fill('accepted'), 'waiting'])
    const ids = new Set(begun.flatMap((one) => (one.kind === 'accepted' ? [one.as.requestId] : [])))
    assert.deepEqual([ids.size, await count('runs'), await count('sessions')], [1, 1, 1])
  })

  test('it holds the place in which it came: those behind it wait, and have their turn when it ends', async () => {
    const { store, newRun, start, tenant, texts } = setUp()
    const first = await start()
    const second = newRun({ messages: [human('second')] })
    const third = storeOf(database()).newRun({ tenant, messages: [human('third')] })
    const nextOf = async () => (await store.nextOf(second.holder)).flatMap((key) => (key.tenant === tenant ? [key.requestId] : []))
    await store.begin(second)
    await store.begin(third)
    assert.equal(await store.isNext(second), false)
    assert.deepEqual(await nextOf(), [])
    const next = await store.finish(first.run, 1, endOf(first.turn))
    assert.equal(next?.requestId, second.requestId)
    assert.deepEqual([await store.isNext(second), await store.isNext(third)], [true, false])
    assert.deepEqual(await nextOf(), [second.requestId])
    const turn = (await store.takeTurn(second, second.messages, hour))!
    await store.finish(second, 1, endOf(turn))
    assert.ok(await store.takeTurn(third, third.messages, hour))
    assert.deepEqual(await texts(turn.session), ['0 hello', '1 answer', '2 second', '3 answer', '4 third'])
  })

  test('taken over it waits again, running or not, and keeps its session and what it had done', async () => {
    const { store, newRun, session, texts } = setUp()
    for (const hasBegun of [false, true]) {
      const run = newRun({ sessionId: `${hasBegun}`, event: event(`${hasBegun}`) })
      await store.begin(run)
      if (hasBegun) await store.takeTurn(run, run.messages, hour)
      const from = { fence: 1, status: hasBegun ? ('running' as const) : ('pending' as const) }
      const by = { holder: 'process-2', place: 99, now: hour + 9, messages: run.messages }
      assert.deepEqual(await store.takeOver(run, from, by), { kind: 'waiting', fence: 2 })
      assert.deepEqual([(await store.find(run))!.status, (await session(`${hasBegun}`))!.active_run], ['pending', run.requestId])
      await assert.rejects(store.isNext(run))
      const held = { ...run, fence: 2 }
      assert.equal(await store.isNext(held), true)
      const turn = (await store.takeTurn(held, run.messages, hour + 10))!
      assert.deepEqual([turn.messageIndex, turn.messageCount], [0, 1])
      assert.deepEqual(await texts(turn.session), ['0 hello'])
    }
  })

  test('an event of a session that was deleted is gone, not new', async () => {
    const { store, newRun, tenant, callbacks } = setUp()
    const run = newRun()
    await store.begin(run)
    await createSessionStore(database()).remove({ tenant, owner: run.owner }, 's', { jobId: randomUUID(), now: hour })
    const isGone = (error: unknown) => error instanceof ServiceError && error.code === 'gone'
    await assert.rejects(store.findEvent(run, 'key'), isGone)
    await assert.rejects(store.begin(newRun()), isGone)
    assert.equal(await callbacks.find(run), undefined)
  })

  test('attempts of a callback are kept in order, and counted in its round', async () => {
    const { store, newRun, callbacks, tenant } = setUp()
    const run = newRun()
    await store.begin(run)
    await callbacks.record(run, 0, { at: 1, status: 500 }, 'pending')
    await callbacks.record(run, 0, { at: 2, status: null, error: 'no' }, 'failed')
    const failed = (await callbacks.find(run))!
    assert.deepEqual([failed.status, failed.tries, failed.round], ['failed', 2, 0])
    assert.deepEqual(failed.attempts, [
      { at: 1, status: 500 },
      { at: 2, status: null, error: 'no' },
    ])
    const jobId = randomUUID()
    assert.equal(await callbacks.restart(run, (round) => callbackJob(run, { id: `${jobId} ${round}`, round, now: hour })), true)
    assert.deepEqual(await idsOf(database(), tenant), [`${jobId} 1`])
    const anew = (await callbacks.find(run))!
    assert.deepEqual([anew.status, anew.tries, anew.round, anew.attempts.length], ['pending', 0, 1, 2])
  })

  test('an attempt of an earlier round is kept; it counts where it delivered, and what was delivered stays so', async () => {
    const { store, newRun, callbacks, tenant } = setUp()
    const run = newRun()
    await store.begin(run)
    const toJob = (round: number) => callbackJob(run, { id: randomUUID(), round, now: hour })
    await callbacks.restart(run, toJob)
    await callbacks.record(run, 0, { at: 1, status: 500 }, 'failed')
    const untouched = (await callbacks.find(run))!
    assert.deepEqual([untouched.status, untouched.tries, untouched.attempts.length], ['pending', 0, 1])
    await callbacks.record(run, 0, { at: 2, status: 200 }, 'delivered')
    await callbacks.record(run, 1, { at: 3, status: 500 }, 'failed')
    assert.equal((await callbacks.find(run))!.status, 'delivered')
    assert.equal(await callbacks.restart(run, toJob), false)
    assert.equal((await idsOf(database(), tenant)).length, 1)
    await callbacks.record({ ...run, requestId: 'unknown' }, 0, { at: 1, status: 200 }, 'delivered')
  })
}
