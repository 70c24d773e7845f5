import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { NewRun } from '../../src/runs/run-store.ts'
import type { RunStatus } from '../../src/runs/run.ts'
import { ended } from '../../src/schedules/decide.ts'
import { fireRequestId, type Fire, type Schedule } from '../../src/schedules/schedule.ts'
import type { FireState, Firing } from '../../src/schedules/schedule-store.ts'
import { createNewId } from '../../src/service/new-id.ts'
import { createAccessKeyStore } from '../../src/store/secrets/access-keys.ts'
import { query, type Database } from '../../src/store/database.ts'
import { createRunStore, openRunInsert } from '../../src/store/runs/runs.ts'
import { createScheduleStore } from '../../src/store/schedules/schedules.ts'
import { newRun, runJobsOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('schedules', registerScheduleContract)

const noon = Date.parse('2027-01-01T12:00:00Z')
const minute = 60_000
const limits = { perCaller: 100, perTenant: 100 }
const newId = createNewId()
const none = { images: [], files: [] }

/** A store with a clock, for a tenant that no other test has. */
function setUp(database: Database) {
  const tenant = randomUUID()
  const runs = createRunStore(database)
  let now = noon
  const store = createScheduleStore(database, openRunInsert(database), () => sql<number>`cast(${now} as bigint)`)
  const scheduleOf = (change: Partial<Schedule> = {}): Schedule => {
    const owner = change.owner ?? 'agent-core ann'
    const [issuer = '', sub = ''] = owner.split(' ')
    return {
      tenant,
      owner,
      id: newId(),
      name: 'Sales',
      spec: { cron: '* * * * *', timezone: 'UTC', at: undefined, startsAt: undefined, endsAt: undefined },
      session: { kind: 'new' },
      overlap: 'skip',
      catchUp: { policy: 'latest', windowMs: 3_600_000 },
      jitterMs: 0,
      maxFires: undefined,
      pauseAfterFailures: 3,
      request: {
        chat: { messages: [{ role: 'user', content: 'hello' }], filters: [], headers: {} },
        ...{ bodyHash: 'hash', body: {}, callbackUrl: undefined, reportsInterruptions: false },
      },
      identity: { tenant, issuer, sub, owner, roles: ['user'], keyId: 'jti', signingKeyId: 'k', expiresAt: noon * 2 },
      seenAt: now,
      status: 'active',
      pauseReason: undefined,
      nextAt: noon + minute,
      dueAt: noon + minute,
      watermark: noon,
      queuedFor: undefined,
      fires: 0,
      last: undefined,
      countsFrom: 0,
      version: '1',
      revision: 0,
      createdAt: noon,
      updatedAt: noon,
      ...change,
    }
  }
  const add = async (
    change: Partial<Schedule> = {},
    media: Parameters<typeof store.insert>[0]['media'] = none,
    requestId = randomUUID(),
  ) => {
    const schedule = scheduleOf(change)
    const added = await store.insert({ schedule, media, requestId, bodyHash: 'hash' }, limits)
    assert.equal(added, 'added')
    return read(schedule.id)
  }
  const read = async (id: string) => (await store.find(tenant, id))!
  const fireOf = (change: Partial<Fire> = {}): Fire => {
    const scheduledFor = change.scheduledFor ?? noon + minute
    return { scheduledFor, firedAt: now, outcome: 'skipped', reason: undefined, count: 1, requestId: undefined, ...change }
  }
  const runOf = (schedule: Schedule, scheduledFor: number, change: Partial<NewRun> = {}) => {
    const requestId = fireRequestId(schedule.id, scheduledFor)
    const event = { key: requestId, id: requestId, callbackUrl: undefined }
    return newRun({ ...{ tenant, requestId, sessionId: randomUUID(), operation: 'schedule', event, onDisconnect: 'continue' }, ...change })
  }
  /** Starts a run for a time, as the engine does. */
  const startingAt = (schedule: Schedule, scheduledFor: number, change: Partial<NewRun> = {}): Firing => {
    const run = runOf(schedule, scheduledFor, change)
    const fire = fireOf({ scheduledFor, outcome: 'started', requestId: run.requestId })
    const last = { scheduledFor, requestId: run.requestId }
    const next = { nextAt: scheduledFor + minute, dueAt: scheduledFor + minute }
    return { fires: [fire], run, changes: { watermark: scheduledFor, fires: schedule.fires + 1, last, ...next } }
  }
  const setStatus = async (requestId: string, status: RunStatus) => {
    const update = database.db.updateTable('runs').set({ status }).where('tenant', '=', tenant).where('request_id', '=', requestId)
    await database.forTenant(tenant).unit((connection) => query(connection, update))
  }
  const setNow = (time: number) => void (now = time)
  return { store, runs, tenant, scheduleOf, add, read, fireOf, startingAt, setStatus, setNow }
}

function registerScheduleContract(database: () => Database): void {
  test('a firing stores its fires, the run with its job, and the schedule, at once', async () => {
    const { store, runs, tenant, add, read, startingAt, fireOf } = setUp(database())
    const schedule = await add()
    const firing = startingAt(schedule, noon + 3 * minute)
    const missed = fireOf({ scheduledFor: noon + 2 * minute, outcome: 'missed', count: 2 })
    const stored = await store.fire(schedule, () => ({ ...firing, fires: [missed, ...firing.fires] }))
    assert.equal(stored?.run?.requestId, firing.run!.requestId)
    const run = (await runs.find(firing.run!))!
    assert.deepEqual([run.status, run.holder, run.operation], ['pending', '', 'schedule'])
    assert.deepEqual(
      (await runJobsOf(database(), tenant)).map(({ requestId }) => requestId),
      [run.requestId],
    )
    const { watermark, nextAt, fires, last, lastStatus, revision } = await read(schedule.id)
    assert.deepEqual(
      { watermark, nextAt, fires, last, lastStatus, revision },
      {
        ...{ watermark: noon + 3 * minute, nextAt: noon + 4 * minute, fires: 1, lastStatus: 'pending', revision: 1 },
        last: { scheduledFor: noon + 3 * minute, requestId: run.requestId },
      },
    )
    assert.deepEqual(
      (await store.fires(schedule, { limit: 10, before: undefined })).map(({ outcome, count, status }) => [outcome, count, status]),
      [
        ['started', 1, 'pending'],
        ['missed', 2, undefined],
      ],
    )
  })

  test('a firing whose run cannot begin stores nothing', async () => {
    const { store, tenant, add, read, startingAt, setStatus } = setUp(database())
    const schedule = await add()
    const first = startingAt(schedule, noon + minute, { sessionId: 'same' })
    await store.fire(schedule, () => first)
    await setStatus(first.run!.requestId, 'interrupted')
    const after = await read(schedule.id)
    const second = startingAt(after, noon + 2 * minute, { sessionId: 'same' })
    await assert.rejects(
      store.fire(after, () => second),
      { code: 'session_interrupted' },
    )
    assert.deepEqual(await read(schedule.id), after)
    assert.equal((await store.fires(schedule, { limit: 10, before: undefined })).length, 1)
    assert.equal((await runJobsOf(database(), tenant)).length, 1)
    const reused = startingAt(after, noon + 3 * minute, {
      requestId: first.run!.requestId,
      event: { key: 'x', id: 'x', callbackUrl: undefined },
    })
    await assert.rejects(
      store.fire(after, () => reused),
      { code: 'request_id_reused' },
    )
  })

  test('of many processes that fire the same occurrence, one does', async () => {
    const { store, tenant, add, startingAt } = setUp(database())
    const schedule = await add()
    const attempts = Array.from({ length: 8 }, () => store.fire(schedule, () => startingAt(schedule, noon + minute)))
    const stored = await Promise.all(attempts)
    assert.equal(stored.filter(Boolean).length, 1)
    assert.equal((await runJobsOf(database(), tenant)).length, 1)
    assert.equal((await store.fires(schedule, { limit: 10, before: undefined })).length, 1)
  })

  test('a schedule that has changed since it was read fires nothing, and neither does one that is undecided', async () => {
    const { store, add, read, startingAt } = setUp(database())
    const schedule = await add()
    await store.change(schedule, () => ({ changes: { name: 'Other' } }))
    assert.equal(await store.fire(schedule, () => startingAt(schedule, noon + minute)), undefined)
    const current = await read(schedule.id)
    assert.equal(await store.fire(current, () => undefined), undefined)
    assert.deepEqual(await read(schedule.id), current)
  })

  test('an occurrence that has its row gets no run, and a trigger of the same time stores nothing', async () => {
    const { store, tenant, add, read, startingAt } = setUp(database())
    const schedule = await add()
    await store.fire(schedule, () => startingAt(schedule, noon + minute))
    const after = await read(schedule.id)
    const again = startingAt(after, noon + minute, { requestId: randomUUID() })
    assert.equal(await store.fire(after, () => ({ ...again, mustBeNew: true })), undefined)
    assert.deepEqual(await read(schedule.id), after)
    assert.equal((await store.fire(after, () => again))?.run, undefined)
    assert.deepEqual([(await read(schedule.id)).fires, (await runJobsOf(database(), tenant)).length], [1, 1])
  })

  test('the transaction of a firing knows the last run, failures in a row, and whether the key is revoked', async () => {
    const { store, tenant, add, read, startingAt, setStatus } = setUp(database())
    const keys = createAccessKeyStore(database())
    const jti = randomUUID()
    await keys.insert({ jti, tenant, sub: 'ann', roles: ['user'], createdAt: 1, expiresAt: noon * 2 })
    const { id, identity } = await add()
    const withKey = { ...identity, keyId: jti }
    await store.change(await read(id), () => ({ changes: { identity: withKey } }))
    const states: FireState[] = []
    const fire = async (at: number, status: RunStatus) => {
      const schedule = await read(id)
      const firing = startingAt(schedule, at)
      await store.fire(schedule, (state) => {
        states.push(state)
        return firing
      })
      await setStatus(firing.run!.requestId, status)
    }
    await fire(noon + minute, 'success')
    await fire(noon + 2 * minute, 'error')
    await fire(noon + 3 * minute, 'timeout')
    await fire(noon + 4 * minute, 'running')
    await keys.revoke(jti, noon)
    await fire(noon + 5 * minute, 'cancelled')
    await fire(noon + 6 * minute, 'error')
    assert.deepEqual(
      states.map(({ lastStatus, failures, isKeyRevoked, now }) => [lastStatus, failures, isKeyRevoked, now === noon]),
      [
        [undefined, 0, false, true],
        ['success', 0, false, true],
        ['error', 1, false, true],
        ['timeout', 2, false, true],
        ['running', 2, true, true],
        ['cancelled', 0, true, true],
      ],
    )
  })

  test('due schedules are read in order, with the time of the next one, and paused ones are not', async () => {
    const { store, tenant, add, setNow } = setUp(database())
    // Other tests of this database have schedules too: these are due before them.
    const early = Date.parse('2001-01-01T00:00:00Z')
    const at = (dueAt: number, more: Partial<Schedule> = {}) => add({ dueAt, nextAt: dueAt, ...more })
    const [second, first, later] = [await at(early + 2), await at(early + 1), await at(early + 10)]
    await at(early, { status: 'paused' })
    setNow(early + 5)
    const due = await store.due(2)
    assert.deepEqual([due.now, due.schedules.map(({ id }) => id), due.nextDueAt], [early + 5, [first.id, second.id], later.dueAt])
    setNow(early)
    assert.deepEqual([(await store.due(2)).schedules, (await store.due(2)).nextDueAt], [[], early + 1])
    for (const { id, owner } of [first, second, later]) await store.change({ tenant, owner, id }, () => ({ changes: { status: 'ended' } }))
  })

  test('any number of schedules that wait for a run delays no other schedule', async () => {
    const { store, tenant, add, startingAt, setStatus, setNow } = setUp(database())
    const early = Date.parse('2020-01-01T00:00:00Z')
    setNow(early)
    const due = { nextAt: early + minute, dueAt: early }
    const waiting: Schedule[] = []
    for (let n = 0; n < 4; n++) {
      const schedule = await add({ overlap: 'queue' })
      const firing = startingAt(schedule, early - minute)
      await store.fire(schedule, () => firing)
      waiting.push(await store.change(schedule, () => ({ changes: { ...due, queuedFor: early } })))
    }
    const other = await add({ ...due, dueAt: early + 1 })
    setNow(early + 1)
    const idsOf = async () => {
      const { schedules, hasWaiting } = await store.due(2)
      return [schedules.map(({ id }) => id), hasWaiting]
    }
    assert.deepEqual(await idsOf(), [[other.id], true])
    await setStatus(waiting[2]!.last!.requestId, 'success')
    assert.deepEqual(await idsOf(), [[waiting[2]!.id, other.id], true])
    setNow(early + minute)
    assert.deepEqual(await idsOf(), [[waiting[2]!.id, other.id], true], 'those that still wait come last')
    for (const { id, owner } of [...waiting, other]) await store.change({ tenant, owner, id }, () => ({ changes: { status: 'ended' } }))
  })

  test('a schedule that could not be fired is due later, and one that has changed since stays', async () => {
    const { store, add, read, tenant } = setUp(database())
    const [failing, changing] = [await add(), await add()]
    await store.change(changing, () => ({ changes: { name: 'Other' } }))
    for (const schedule of [failing, changing]) await store.postpone(schedule, 3000)
    assert.equal((await read(failing.id)).dueAt, noon + 3000)
    assert.equal((await read(failing.id)).revision, failing.revision)
    assert.equal((await read(changing.id)).dueAt, noon + minute)
    assert.equal((await store.find(tenant, failing.id))?.nextAt, failing.nextAt)
  })

  test('concurrent requests create no more schedules than the limits, and one for a request id', async () => {
    const { store, scheduleOf } = setUp(database())
    const insert = (owner: string, requestId = randomUUID()) =>
      store.insert({ schedule: scheduleOf({ owner }), media: none, requestId, bodyHash: 'hash' }, { perCaller: 3, perTenant: 5 })
    const ofAnn = await Promise.all(Array.from({ length: 6 }, () => insert('agent-core ann')))
    assert.deepEqual(ofAnn.toSorted(), ['added', 'added', 'added', 'caller', 'caller', 'caller'])
    const ofBob = await Promise.all(Array.from({ length: 4 }, () => insert('agent-core bob')))
    assert.deepEqual(ofBob.toSorted(), ['added', 'added', 'tenant', 'tenant'])
    const other = setUp(database())
    const repeated = Array.from({ length: 4 }, () =>
      other.store.insert({ schedule: other.scheduleOf(), media: none, requestId: 'r', bodyHash: 'hash' }, limits),
    )
    assert.deepEqual((await Promise.all(repeated)).toSorted(), ['added', 'known', 'known', 'known'])
    const created = await other.store.findCreated({ tenant: other.tenant, owner: 'agent-core ann' }, 'r')
    assert.equal(created?.bodyHash, 'hash')
    assert.equal(await other.store.findCreated({ tenant: other.tenant, owner: 'agent-core bob' }, 'r'), undefined)
  })

  test('copied bytes become those of each run, and a change may replace them', async () => {
    const { store, add, read, startingAt } = setUp(database())
    const chat = { messages: [], filters: [], headers: {}, images: [{ name: 'a.png', mediaType: 'image/png' }] } as const
    const request = { chat: chat as never, bodyHash: 'hash', body: {}, callbackUrl: undefined, reportsInterruptions: false }
    const image = { mediaType: 'image/png', data: 'QUJD' }
    const schedule = await add({ request }, { images: [image], files: [{ mediaType: 'application/pdf', data: 'REVG' }] })
    const firing = startingAt(schedule, noon + minute)
    await store.fire(schedule, () => firing)
    const { db, all } = database()
    const media = db.selectFrom('media').select(['n', 'data']).where('request_id', '=', firing.run!.requestId).orderBy('n')
    assert.deepEqual(
      (await query(all.read, media)).rows.map(({ data }) => data),
      ['QUJD', 'REVG'],
    )
    await store.change(await read(schedule.id), () => ({ changes: {}, media: { images: [{ ...image, data: 'R0hJ' }], files: [] } }))
    assert.deepEqual(await store.media(schedule), { images: [{ ...image, data: 'R0hJ' }], files: [] })

    const last = startingAt(schedule, noon + 2 * minute)
    await store.fire(await read(schedule.id), () => ({ ...last, changes: { ...last.changes, ...ended } }))
    const bytes = db.selectFrom('media').select('data').where('request_id', '=', last.run!.requestId)
    assert.equal((await query(all.read, bytes)).rows[0]?.data, 'R0hJ')
    assert.deepEqual(await store.media(schedule), none, 'a schedule that its last run ends has no bytes')
    const changed = await add({ request }, { images: [image], files: [] })
    await store.change(changed, () => ({ changes: ended, media: { images: [image], files: [] } }))
    assert.deepEqual(await store.media(changed), none, 'a schedule that a change ends has no bytes')
  })

  test('schedules and fires are listed page by page, and of one tenant and owner alone', async () => {
    const { store, tenant, add, read, fireOf } = setUp(database())
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await add()).id)
    const { id: bobs } = await add({ owner: 'agent-core bob' })
    const page = (owner: string | undefined, before?: string, of: string = tenant) => store.list(of, { owner, limit: 2, before })
    const idsOf = async (schedules: ReturnType<typeof page>) => (await schedules).map(({ id }) => id)
    assert.deepEqual(await idsOf(page('agent-core ann')), [ids[2], ids[1]])
    assert.deepEqual(await idsOf(page('agent-core ann', ids[1])), [ids[0]])
    assert.deepEqual(await idsOf(page(undefined)), [bobs, ids[2]])
    assert.deepEqual(await idsOf(page(undefined, undefined, 'other')), [])
    assert.equal(await store.find('other', bobs), undefined)
    const schedule = await read(bobs)
    const fires = [1, 2, 3].map((n) => fireOf({ scheduledFor: noon + n }))
    await store.fire(schedule, () => ({ fires, changes: {} }))
    const timesOf = async (before?: number) => (await store.fires(schedule, { limit: 2, before })).map(({ scheduledFor }) => scheduledFor)
    assert.deepEqual([await timesOf(), await timesOf(noon + 2)], [[noon + 3, noon + 2], [noon + 1]])
    assert.deepEqual(await store.fires({ ...schedule, tenant: 'other' }, { limit: 2, before: undefined }), [])
  })

  test('roles of a caller of an identity provider are renewed, of unended schedules alone', async () => {
    const { store, tenant, add, read, setNow } = setUp(database())
    const owner = 'https://id.example.com eve'
    const active = await add({ owner })
    const old = await add({ owner, status: 'ended' })
    const own = await add()
    const owners = async () => (await store.providerOwners()).filter((each) => each.tenant === tenant).map((each) => each.owner)
    assert.deepEqual(await owners(), [owner])
    setNow(noon + minute)
    await store.renew({ ...active.identity, roles: ['viewer'] })
    const { identity, seenAt, revision } = await read(active.id)
    assert.deepEqual([identity.roles, seenAt, revision], [['viewer'], noon + minute, 1])
    assert.deepEqual([await read(old.id), await read(own.id)], [old, own])
    const fired = await store.fire(active, () => ({ fires: [], changes: { watermark: noon + 1 } }))
    assert.deepEqual([fired, (await read(active.id)).identity.roles], [undefined, ['viewer']], 'a firing with the roles of before')
  })

  test('fires are removed after 90 days, and ended schedules with all of their rows', async () => {
    const { store, add, read, fireOf } = setUp(database())
    const media = { images: [{ mediaType: 'image/png', data: 'QUJD' }], files: [] }
    const old = await add({ status: 'ended' }, media)
    const kept = await add()
    await store.fire(old, () => ({ fires: [fireOf({ scheduledFor: 1, firedAt: noon + minute })], changes: {} }))
    await store.fire(kept, () => ({
      fires: [fireOf({ scheduledFor: 1, firedAt: noon - 1 }), fireOf({ firedAt: noon + minute })],
      changes: {},
    }))
    const later = noon + 90 * 86_400_000
    while ((await store.removeExpired(later, 10)) > 0);
    assert.equal((await store.fires(kept, { limit: 10, before: undefined })).length, 1)
    assert.ok(await read(old.id), 'ended at noon')
    while ((await store.removeExpired(later + 1, 10)) > 0);
    assert.equal(await read(old.id), undefined)
    assert.deepEqual([await store.media(old), await store.fires(old, { limit: 10, before: undefined })], [none, []])
    assert.ok(await read(kept.id))
  })
}
