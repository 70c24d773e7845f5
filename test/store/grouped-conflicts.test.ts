import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { FenceLost, type NewRun } from '../../src/runs/run-store.ts'
import { CommitUnknown, type Database } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { endOf, hour, newRun, storeOf } from './fixture.ts'
import { chatAtOnce, watched } from './grouped-fixture.ts'

let server: PostgresServer
let database: Database
let url: string
before(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  database = await openPostgres(url)
})
after(async () => {
  await database.close()
  await server.stop()
})

describe('Groups of chats on Postgres, in conflict with others', () => {
  test('a used request id, a busy session and a shared session concern only their own chat', async () => {
    const { grouped, sizes } = watched(database)
    const { store, tenant, start, count } = storeOf(grouped)
    const { run: other } = await start({ sessionId: 'busy' })
    const runs = [
      newRun({ tenant, sessionId: 'free' }),
      newRun({ tenant, sessionId: 'second', requestId: other.requestId }),
      newRun({ tenant, sessionId: 'busy' }),
      newRun({ tenant, sessionId: 'shared' }),
      newRun({ tenant, sessionId: 'shared' }),
      newRun({ tenant, owner: 'agent-core eve', sessionId: 'shared' }),
    ]
    const begun = await Promise.all(runs.map((run) => store.begin(run)))
    assert.deepEqual(
      begun.map(({ kind }) => kind),
      ['running', 'known', 'waiting', 'running', 'waiting', 'running'],
    )
    assert.equal(sizes[0], 5)
    assert.deepEqual([await count('runs'), await count('sessions'), await count('messages')], [6, 4, 4])
  })

  test('an end with an old fence, one with notifications and one with a waiting run concern only their own run', async () => {
    const { grouped, sizes } = watched(database)
    const { store, tenant, start, newRun: ofTenant, session, count } = storeOf(grouped)
    const started = []
    for (const sessionId of ['plain', 'taken', 'waited', 'notified']) started.push(await start({ sessionId }))
    const [, taken, waited, notified] = started as any
    await store.takeOver(
      taken.run,
      { fence: 1, status: 'running' },
      { holder: 'p2', queueOrder: 1, now: hour, messages: taken.run.messages },
    )
    const next = ofTenant({ sessionId: 'waited' })
    await store.begin(next)
    await database.db
      .updateTable('runs')
      .set({ has_notifications: 1 })
      .where('tenant', '=', tenant)
      .where('request_id', '=', notified.run.requestId)
      .execute()
    const ends = await Promise.allSettled(started.map(({ run, turn }) => store.finish(run, 1, endOf(turn))))
    assert.deepEqual(
      ends.map((end) => (end.status === 'fulfilled' ? end.value?.requestId : end.reason instanceof FenceLost)),
      [undefined, true, next.requestId, undefined],
    )
    assert.deepEqual(sizes, [4])
    assert.equal((await session('waited'))!.active_run, next.requestId)
    assert.equal((await session('taken'))!.active_run, taken.run.requestId)
    assert.equal(waited.turn.messageCount + (await count('messages')), 1 + 7)
  })

  test('a group that fails stores nothing, and each of its chats is stored alone', async () => {
    const { grouped, sizes } = watched(database, () => Promise.reject(new Error('refused')))
    const { store, tenant, count } = storeOf(grouped)
    const runs = Array.from({ length: 3 }, (_, n) => newRun({ tenant, sessionId: `s${n}` }))
    const ends = await chatAtOnce(store, runs)
    assert.deepEqual([sizes, ends.map(({ status }) => status)], [[3, 3], Array(3).fill('fulfilled')])
    assert.deepEqual([await count('runs'), await count('messages')], [3, 6])
  })

  test('a message that breaks a constraint fails its own chat only', async () => {
    const { store, tenant, start, count } = storeOf(watched(database).grouped)
    const started = [await start({ sessionId: 'a' }), await start({ sessionId: 'b' })]
    const { session } = started[0]!.turn
    await database.db
      .insertInto('messages')
      .values({ tenant, session, idx: 1, role: 'ai', content: '', created_at: 0, data: null })
      .execute()
    const ends = await Promise.allSettled(started.map(({ run, turn }) => store.finish(run, 1, endOf(turn))))
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    )
    assert.equal(await count('messages'), 4)
  })

  test('chats of a group whose outcome is unknown are found, each once', async () => {
    for (const isStored of [true, false]) {
      const { grouped } = watched(database, async (execute) => {
        if (isStored) await execute()
        throw new CommitUnknown(new Error('lost'))
      })
      const { store, tenant, count, metrics } = storeOf(grouped)
      const runs = Array.from({ length: 3 }, (_, n) => newRun({ tenant, sessionId: `s${n}` }))
      const ends = await chatAtOnce(store, runs)
      assert.deepEqual(
        ends.map(({ status }) => status),
        Array(3).fill('fulfilled'),
      )
      assert.deepEqual([await count('runs'), await count('messages'), (await metrics())[0]!.success], [3, 6, 3])
    }
  })

  test('a group waits for no session that another transaction has locked', async () => {
    const { store, tenant, start } = storeOf(watched(database).grouped)
    for (const sessionId of ['locked', 'other']) {
      const { run, turn } = await start({ sessionId })
      await store.finish(run, 1, endOf(turn))
    }
    const client = new pg.Client(url)
    await client.connect()
    await client.query('begin')
    await client.query(`select from sessions where tenant = $1 and session_id = 'locked' for update`, [tenant])
    const [late, ...early] = ['locked', 'other', 'new'].map((sessionId) => store.begin(newRun({ tenant, sessionId })))
    const first = await Promise.race([Promise.all(early), late!])
    assert.ok(Array.isArray(first))
    await client.query('commit')
    await client.end()
    assert.deepEqual(
      [...first, await late!].map(({ kind }) => kind),
      ['running', 'running', 'running'],
    )
  })

  test('runs that join the queues of many sessions, while groups of runs end there, are never forgotten', async () => {
    const { grouped, sizes } = watched(database)
    const { store, tenant, session, count } = storeOf(grouped)
    const chat = async (run: NewRun) => {
      const begun = await store.begin(run)
      let turn = begun.kind === 'running' ? begun.turn : undefined
      while (!turn) turn = await store.takeTurn({ ...run, fence: 1 }, run.messages, hour)
      await store.finish(run, 1, endOf(turn))
    }
    const client = async (n: number) => {
      for (let chats = 0; chats < 8; chats++) await chat(newRun({ tenant, sessionId: `s${n % 4}` }))
    }
    await Promise.all(Array.from({ length: 12 }, (_, n) => client(n)))
    assert.deepEqual([await count('runs'), await count('messages'), await count('sessions')], [96, 192, 4])
    for (const n of [0, 1, 2, 3]) {
      const { active_run, message_count } = (await session(`s${n}`))!
      assert.deepEqual([active_run, message_count], [null, 48])
    }
    assert.ok(sizes.length > 0)
  })

  test('a run of a group that is taken over during its end has either ended or is resumed elsewhere, never both', async () => {
    const { store, start, metrics, count } = storeOf(watched(database).grouped)
    let ended = 0
    for (let round = 0; round < 15; round++) {
      const started = await Promise.all([0, 1, 2, 3].map((n) => start({ sessionId: `s${round}-${n}` })))
      const ends = started.map(({ run, turn }) => store.finish(run, 1, endOf(turn)))
      const takeOvers = started.map(({ run }) =>
        store.takeOver(run, { fence: 1, status: 'running' }, { holder: 'p2', queueOrder: 1, now: hour, messages: run.messages }),
      )
      const [results, taken] = await Promise.all([Promise.allSettled(ends), Promise.all(takeOvers)])
      for (const [n, end] of results.entries()) {
        assert.equal(end.status, taken[n] ? 'rejected' : 'fulfilled')
        if (end.status === 'rejected') assert.ok(end.reason instanceof FenceLost)
        else ended += 1
      }
    }
    assert.deepEqual([(await metrics())[0]?.success ?? 0, await count('messages')], [ended, 60 + ended])
  })
})
