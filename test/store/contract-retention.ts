import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { RetentionKind } from '../../src/runs/retention.ts'
import { createAccessKeyStore } from '../../src/store/secrets/access-keys.ts'
import type { Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createRetentionStore } from '../../src/store/sessions/retention.ts'
import { createRunReports } from '../../src/store/reports/run-reports.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import type { Tables } from '../../src/store/tables.ts'
import { ai, endOf, failed, hour, jobsOf, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('what has become old', registerRetention)

const owner = 'agent-core ann'
const isGone = { code: 'gone' }
const now = hour + 1_000_000

/** What has become old, and goes. */
function registerRetention(database: () => Database): void {
  function retentionOf() {
    const of = storeOf(database())
    const { tenant } = of
    const retention = createRetentionStore(database())
    const remove = (kind: RetentionKind, before: number, limit = 100) => retention.remove(kind, tenant, before, { limit, now })
    const rows = <T extends keyof Tables>(table: T) =>
      database()
        .db.selectFrom(table as 'runs')
        .selectAll()
        .where('tenant', '=', tenant)
        .execute() as unknown as Promise<Tables[T][]>
    const add = async <T extends keyof Tables>(table: T, row: Tables[T]) => {
      const { sql, parameters } = database()
        .db.insertInto(table)
        .values(row as never)
        .compile()
      await database().all.write.execute(sql, parameters)
    }
    const has = async (kind: RetentionKind, before: number) => {
      const found: string[] = []
      for await (const one of retention.tenants(kind, before)) found.push(one)
      assert.equal(new Set(found).size, found.length)
      return found.includes(tenant)
    }
    /** A session with one ended run. */
    const ended = async (sessionId: string, at: number, change = {}) => {
      const { run, turn } = await of.start({ sessionId, now: at, ...change })
      await of.store.finish(run, 1, endOf(turn, { endedAt: at + 100 }))
      return { run, turn }
    }
    return {
      ...of,
      retention,
      remove,
      rows,
      add,
      has,
      ended,
      count: (kind: RetentionKind, at: number, sessionsBefore = 0) => retention.count(kind, tenant, at, sessionsBefore),
    }
  }

  test('expired sessions are removed with all their data, oldest first; younger ones stay', async () => {
    const { tenant, store, ended, remove, count, has, rows, add } = retentionOf()
    const [first, second, third] = [
      await ended('a', hour + 1),
      await ended('b', hour + 2, { owner: 'agent-core bob' }),
      await ended('c', hour + 500),
    ]
    await add('media', { tenant, session: first.turn.session, request_id: 'r', n: 0, media_type: 'image/png', data: '' })
    await add('feedback', { tenant, owner, request_id: first.run.requestId, score: 1, comment: 'good', created_at: hour })
    const before = hour + 300
    assert.deepEqual([await has('sessions', before), await has('sessions', hour), await count('sessions', before)], [true, false, 2])
    assert.equal(await remove('sessions', before, 1), 1)
    await assert.rejects(store.find(first.run), isGone)
    assert.ok(await store.find(second.run))
    assert.deepEqual([await remove('sessions', before), await remove('sessions', before), await count('sessions', before)], [1, 0, 0])
    await assert.rejects(store.begin(second.run), isGone)
    assert.deepEqual(
      (await rows('sessions')).map(({ key }) => key),
      [third.turn.session],
    )
    assert.equal((await rows('messages')).length, 2)
    for (const table of ['media', 'feedback', 'run_steps'] as const) assert.deepEqual(await rows(table), [], table)
    const marks = (await rows('runs')).map(({ status, gone_at }) => `${status} ${gone_at}`)
    assert.deepEqual(marks.toSorted(), [`gone ${now}`, `gone ${now}`, 'success null'])
  })

  test('a session with an unended run stays, however old', async () => {
    const { store, start, newRun, remove, count, session } = retentionOf()
    await start({ sessionId: 'running' })
    const { run, turn } = await start({ sessionId: 'interrupted' })
    const held = { session: turn.session, sessionId: 'interrupted', step: 0, data: { messages: [], iterations: 1, events: [] } as never }
    const call = { callId: randomUUID(), tool: 't', input: {}, by: 'caller' as const }
    await store.interrupt(run, 1, {
      ...held,
      log: { input: '', events: [] },
      ranMs: 1,
      now: hour,
      expiresAt: hour,
      calls: [call],
      jobs: [],
    })
    const line = await start({ sessionId: 'line' })
    await store.begin(newRun({ sessionId: 'line' }))
    await store.finish(line.run, 1, endOf(line.turn))
    assert.deepEqual({ count: await count('sessions', now), remove: await remove('sessions', now) }, { count: 0, remove: 0 })
    for (const id of ['running', 'interrupted', 'line']) assert.ok(await session(id), id)
  })

  test('removal jobs for files are added only for sessions whose messages have files', async () => {
    const { tenant, start, store, ended, remove } = retentionOf()
    await ended('plain', hour)
    const { run, turn } = await start({ sessionId: 'files' })
    const file = { id: 'a', name: 'a.txt', type: 'text/plain', size: 1, tool: 't', createdAt: hour, sha256: '' }
    const message = { ...ai('made'), data: { model: 'm', finishReason: 'stop', artifacts: [file] } }
    await store.finish(run, 1, endOf(turn, { message }))
    assert.equal(await remove('sessions', now), 2)
    assert.deepEqual(
      (await jobsOf(database(), tenant)).map(({ kind, data }) => [kind, JSON.parse(data)]),
      [['session_deleted', { session: turn.session }]],
    )
  })

  test('a memory is removed with its last source session, or when it was not confirmed for long', async () => {
    const { tenant, ended, remove, count, has, rows, add } = retentionOf()
    const old = (await ended('old', hour)).turn.session
    const young = (await ended('young', now)).turn.session
    const memory = async (id: string, updated_at: number, ...sessions: string[]) => {
      const rest = { trust: 'trusted' as const, embedding: null, embedding_model: null, created_at: hour, updated_at }
      await add('memories', { tenant, owner, id: `${tenant} ${id}`, kind: 'fact', origin: 'user', content: id, ...rest })
      for (const session of sessions) {
        const made = { made_by: 'retain r', created_at: hour }
        await add('memory_sources', { tenant, memory: `${tenant} ${id}`, session, session_id: 's', message_index: 0, ...made })
      }
    }
    await memory('own', now, old)
    await memory('shared', now, old, young)
    await memory('stale', hour, young)
    assert.deepEqual([await count('memories', now + 1), await count('memories', now + 1, hour + 500)], [3, 2])
    assert.equal(await remove('sessions', hour + 500), 1)
    const left = async () => (await rows('memories')).map(({ content }) => content).sort()
    assert.deepEqual(await left(), ['shared', 'stale'])
    const [{ version }] = (await rows('memory_owners')) as [Tables['memory_owners']]
    assert.deepEqual({ has: await has('memories', now), count: await count('memories', now) }, { has: true, count: 1 })
    assert.deepEqual([await remove('memories', now), await remove('memories', now)], [1, 0])
    assert.deepEqual(await left(), ['shared'])
    assert.equal((await rows('memory_sources')).length, 1)
    assert.ok((await rows('memory_owners'))[0]!.version > version)
  })

  test('an expired run of a remaining session becomes a tombstone: messages and metrics stay', async () => {
    const { tenant, store, start, ended, remove, count, has, rows, add, metrics } = retentionOf()
    const first = await ended('s', hour)
    const broken = await start({ now: hour + 200 })
    await store.finish(broken.run, 1, endOf(broken.turn, { ...failed, endedAt: hour + 300 }))
    const last = await ended('s', hour + 5000)
    await add('feedback', { tenant, owner, request_id: first.run.requestId, score: 1, comment: 'good', created_at: hour })
    const figures = await metrics()
    const before = hour + 1000
    assert.deepEqual([await has('runs', before), await count('runs', before), await count('runs', before, now)], [true, 2, 0])
    assert.deepEqual([await remove('runs', before), await remove('runs', before)], [2, 0])
    for (const { run } of [first, broken]) {
      await assert.rejects(store.find(run), isGone)
      await assert.rejects(store.begin(run), isGone)
    }
    assert.ok((await store.find(last.run))?.log)
    assert.deepEqual({ metrics: await metrics(), rowCount: (await rows('feedback')).length }, { metrics: figures, rowCount: 0 })
    const sessions = createSessionStore(database())
    assert.equal((await sessions.messages(tenant, first.turn.session)).length, 5)
    assert.equal(await createRunReports(database()).count(tenant, { from: undefined, to: undefined }), 1)
    // It can still be deleted whole.
    assert.equal(await sessions.remove({ tenant, owner }, 's', { jobId: randomUUID(), now }), true)
    assert.ok((await rows('runs')).every(({ status }) => status === 'gone'))
  })

  test('direct tool executions expire like runs; a run with a pending callback stays with its session', async () => {
    const { tenant, store, newRun, ended, remove, count, add } = retentionOf()
    const executions = createExecutionStore(database())
    const tool = newRun()
    await executions.begin(tool)
    await executions.finish(tool, 1, { result: { tool_name: 't', output: 'x', execution_time: 1, status: 'success' }, now: hour })
    const { run } = await ended('s', hour)
    const callback = { event_id: 'e', url: 'https://x', attempts: '[]', round: 0, tries: 0, next_attempt_at: null, created_at: hour }
    await add('callbacks', { tenant, owner, request_id: run.requestId, status: 'pending', ...callback })
    assert.equal(await remove('runs', now), 1)
    await assert.rejects(executions.begin(tool), isGone)
    assert.deepEqual({ count: await count('sessions', now), remove: await remove('sessions', now) }, { count: 0, remove: 0 })
    assert.ok(await store.find(run))
    await database().all.write.execute(`update callbacks set status = 'delivered' where request_id = '${run.requestId}'`, [])
    assert.deepEqual({ count: await count('sessions', now), remove: await remove('sessions', now) }, { count: 1, remove: 1 })
  })

  test('a session stays while a direct tool execution with its id is running', async () => {
    const { newRun, ended, remove, count } = retentionOf()
    const executions = createExecutionStore(database())
    await ended('s', hour)
    const tool = newRun({ sessionId: 's' })
    await executions.begin(tool)
    assert.deepEqual({ count: await count('sessions', now), remove: await remove('sessions', now) }, { count: 0, remove: 0 })
    const result = { tool_name: 't', output: 'x', execution_time: 1, status: 'success' } as const
    await executions.finish(tool, 1, { result, now: hour })
    assert.deepEqual((await executions.find(tool))?.result, result)
    assert.equal(await remove('sessions', now), 1)
  })

  test('a tombstone expires together with its event', async () => {
    const { tenant, store, newRun, start, ended, remove, count, has, rows } = retentionOf()
    const event = { id: 'e', key: 'key' }
    const run = newRun({ operation: 'chain_async', sessionId: 'async', event } as never)
    await store.begin(run)
    await createSessionStore(database()).remove({ tenant, owner }, 'async', { jobId: randomUUID(), now })
    await ended('s', hour)
    const running = await start({ sessionId: 'other' })
    assert.deepEqual(
      {
        has: await has('deleted_sessions', now),
        count: await count('deleted_sessions', now),
        remove: await remove('deleted_sessions', now),
      },
      { has: false, count: 0, remove: 0 },
    )
    await assert.rejects(store.findEvent({ tenant, owner }, 'key'), isGone)
    assert.deepEqual(
      { has: await has('deleted_sessions', now + 1), count: await count('deleted_sessions', now + 1) },
      { has: true, count: 1 },
    )
    assert.equal(await remove('deleted_sessions', now + 1), 1)
    assert.equal(await store.find(run), undefined)
    assert.equal(await store.findEvent({ tenant, owner }, 'key'), undefined)
    assert.deepEqual([(await rows('async_events')).length, (await rows('runs')).length], [0, 2])
    assert.ok(await store.find(running.run))
    assert.equal((await store.begin({ ...run, sessionKey: randomUUID() })).kind, 'waiting')
  })

  test('expired access keys and old hourly metrics are removed after their retention time', async () => {
    const { tenant, ended, remove, count, has, metrics } = retentionOf()
    const keys = createAccessKeyStore(database())
    for (const [jti, expiresAt] of [
      ['old', hour],
      ['valid', now + 1],
    ] as const) {
      await keys.insert({ jti: `${tenant} ${jti}`, tenant, sub: 's', roles: [], createdAt: hour, expiresAt })
    }
    assert.deepEqual({ has: await has('access_keys', now), count: await count('access_keys', now) }, { has: true, count: 1 })
    assert.deepEqual([await remove('access_keys', now), await remove('access_keys', now)], [1, 0])
    assert.deepEqual(
      (await keys.list(tenant)).map(({ jti }) => jti),
      [`${tenant} valid`],
    )
    await ended('s', hour)
    assert.deepEqual(
      { count: await count('metrics', hour), has: await has('metrics', hour), remove: await remove('metrics', hour) },
      { count: 0, has: false, remove: 0 },
    )
    // As long as the logs have runs of the hour they are counted by it.
    assert.deepEqual({ count: await count('metrics', hour + 100), remove: await remove('metrics', hour + 100) }, { count: 0, remove: 0 })
    await remove('runs', now)
    assert.ok((await count('metrics', hour + 100)) > 0)
    assert.ok((await remove('metrics', hour + 100)) > 0)
    assert.deepEqual(await metrics(), [])
  })

  test('nothing of another tenant is removed', async () => {
    const [one, other] = [retentionOf(), retentionOf()]
    await one.ended('s', hour)
    await other.ended('s', hour)
    for (const kind of ['runs', 'sessions', 'metrics'] as const) assert.ok((await one.remove(kind, now)) > 0)
    assert.deepEqual([await other.count('sessions', now), await other.count('runs', now), (await other.metrics()).length], [1, 1, 1])
  })
}
