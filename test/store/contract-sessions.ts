import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { FenceLost } from '../../src/runs/run-store.ts'
import type { NewFork } from '../../src/sessions/session-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createRunReports } from '../../src/store/reports/run-reports.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import type { Tables } from '../../src/store/tables.ts'
import { ai, endOf, failed, hour, human, jobsOf, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('sessions deleted and forked', registerSessionChanges)

const owner = 'agent-core ann'
const isGone = { code: 'gone' }

/** Sessions deleted and forked. */
function registerSessionChanges(database: () => Database): void {
  function sessionsOf() {
    const of = storeOf(database())
    const sessions = createSessionStore(database())
    const { tenant } = of
    const remove = (sessionId = 's', by = owner) =>
      sessions.remove({ tenant, owner: by }, sessionId, { jobId: randomUUID(), now: hour + 9 })
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
      await database().all.unit((connection) => connection.execute(sql, parameters))
    }
    return { ...of, sessions, remove, rows, add }
  }

  test('deleting a session deletes all its data except request ids, and nothing of other sessions', async () => {
    const { tenant, store, start, newRun, sessions, remove, rows, add } = sessionsOf()
    const ended = await start({ now: hour + 1 })
    await store.finish(ended.run, 1, endOf(ended.turn, failed))
    const running = await start()
    await store.checkpoint(running.run, 1, 0, { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } })
    const waiting = newRun()
    await store.begin(waiting)
    const other = await start({ sessionId: 'other' })
    const theirs = await start({ owner: 'agent-core bob' })
    const key = running.turn.session
    await add('media', { tenant, session: key, request_id: 'r', n: 0, media_type: 'image/png', data: '' })
    await add('feedback', { tenant, owner, request_id: ended.run.requestId, score: 1, comment: 'good', created_at: hour })
    await add('callbacks', {
      ...{ tenant, owner, request_id: ended.run.requestId, event_id: 'e', url: 'https://x', status: 'pending', attempts: '[]' },
      ...{ round: 0, tries: 0, next_attempt_at: null },
      created_at: hour,
    })
    assert.equal(await remove(), true)
    assert.equal(await remove(), false)
    for (const run of [ended.run, running.run, waiting]) await assert.rejects(store.find(run), isGone)
    const marks = (await rows('runs')).filter(({ status }) => status === 'gone')
    assert.deepEqual(
      marks.map(({ request_id }) => request_id).sort(),
      [ended.run, running.run, waiting].map(({ requestId }) => requestId).sort(),
    )
    const { created_at, ended_at, request, log, error, body_hash, session } = marks.find((mark) => mark.request_id === ended.run.requestId)!
    assert.deepEqual(
      { created_at, ended_at, request, log, error, body_hash, session },
      { created_at: hour + 1, ended_at: null, request: null, log: null, error: null, body_hash: '', session: null },
    )
    for (const table of ['media', 'feedback', 'callbacks', 'run_steps'] as const) assert.deepEqual(await rows(table), [], table)
    assert.deepEqual((await rows('sessions')).map(({ key }) => key).sort(), [other.turn.session, theirs.turn.session].sort())
    assert.equal((await rows('messages')).length, 2)
    assert.equal(await createRunReports(database()).count(tenant, { from: undefined, to: undefined }), 0)
    assert.equal(await sessions.find({ tenant, owner }, 's', { anyOwner: false }), undefined)
    assert.deepEqual(
      (await jobsOf(database(), tenant)).map(({ kind, data }) => [kind, JSON.parse(data)]),
      [['session_deleted', { session: key }]],
    )
  })

  test('another caller or another tenant deletes nothing', async () => {
    const { start, sessions, remove, count } = sessionsOf()
    await start()
    assert.equal(await remove('s', 'agent-core bob'), false)
    assert.equal(await sessions.remove({ tenant: randomUUID(), owner }, 's', { jobId: randomUUID(), now: hour }), false)
    assert.deepEqual([await count('sessions'), await count('messages')], [1, 1])
  })

  test('late writes of a run in a deleted session change nothing', async () => {
    const { tenant, store, start, newRun, remove, rows, metrics } = sessionsOf()
    const { run, turn } = await start()
    const waiting = newRun()
    await store.begin(waiting)
    await remove()
    await assert.rejects(
      store.checkpoint(run, 1, 0, { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }),
      FenceLost,
    )
    await assert.rejects(store.finish(run, 1, endOf(turn)), FenceLost)
    assert.equal(await store.takeTurn(waiting, waiting.messages, hour), undefined)
    assert.equal(await store.leaveQueue(waiting, hour), undefined)
    for (const status of ['running', 'pending', 'error'] as const) {
      assert.equal(await store.takeOver(run, { fence: 1, status }, { holder: 'p', queueOrder: 1, now: hour, messages: [] }), undefined)
    }
    assert.deepEqual(
      (await store.orphans('nobody', 0)).runs.filter((one) => one.tenant === tenant),
      [],
    )
    for (const table of ['messages', 'sessions', 'run_steps'] as const) assert.deepEqual(await rows(table), [], table)
    assert.deepEqual(await metrics(), [])
  })

  test('a request id of a deleted session never runs again, in any operation', async () => {
    const { store, start, newRun, remove, count } = sessionsOf()
    const { run } = await start()
    await remove()
    await assert.rejects(store.begin(run), isGone)
    await assert.rejects(store.begin(newRun({ requestId: run.requestId, sessionId: 'elsewhere' })), isGone)
    await assert.rejects(createExecutionStore(database()).begin({ ...run, now: hour }), isGone)
    assert.equal(await count('sessions'), 0)
  })

  test('the result of a direct tool execution in a deleted session is not stored', async () => {
    const { start, newRun, remove, rows } = sessionsOf()
    await start()
    const executions = createExecutionStore(database())
    const tool = newRun()
    await executions.begin(tool)
    await remove()
    await executions.finish(tool, 1, { result: { tool_name: 't', output: 'secret', execution_time: 1, status: 'success' }, now: hour })
    await assert.rejects(executions.begin(tool), isGone)
    assert.ok(!JSON.stringify(await rows('runs')).includes('secret'))
  })

  test('the session id of a deleted session creates a new session, which can be deleted too', async () => {
    const { store, start, remove, session, texts } = sessionsOf()
    const first = await start()
    await remove()
    const { run, turn } = await start({ messages: [human('anew')] })
    assert.notEqual(turn.session, first.turn.session)
    await store.finish(run, 1, endOf(turn))
    assert.deepEqual(await texts(turn.session), ['0 anew', '1 answer'])
    assert.equal(await remove(), true)
    assert.equal(await session(), undefined)
  })

  test('a memory is deleted with its last source session, even when two sessions are deleted at once', async () => {
    const { tenant, start, remove, rows, add } = sessionsOf()
    const keys = [(await start({ sessionId: 'a' })).turn.session, (await start({ sessionId: 'b' })).turn.session]
    for (const id of ['own', 'shared']) {
      const rest = { trust: 'trusted' as const, embedding: null, embedding_model: null, created_at: hour, updated_at: hour }
      await add('memories', { tenant, owner, id: `${tenant} ${id}`, kind: 'fact', origin: 'user', content: id, ...rest })
    }
    const source = (memory: string, session: string) =>
      add('memory_sources', {
        tenant,
        memory: `${tenant} ${memory}`,
        session,
        session_id: 'x',
        message_index: 0,
        made_by: 'r',
        created_at: hour,
      })
    await source('own', keys[0]!)
    for (const key of keys) await source('shared', key)
    await remove('a')
    assert.deepEqual(
      (await rows('memories')).map(({ content }) => content),
      ['shared'],
    )
    const third = (await start({ sessionId: 'c' })).turn.session
    await source('shared', third)
    assert.deepEqual(await Promise.all([remove('b'), remove('c')]), [true, true])
    assert.deepEqual([await rows('memories'), await rows('memory_sources')], [[], []])
  })

  test('deleting a session while runs begin and end in it leaves no partial data', async () => {
    const { store, start, newRun, remove, rows } = sessionsOf()
    for (let n = 0; n < 12; n += 1) {
      const { run, turn } = await start({ sessionId: `s${n}` })
      const next = newRun({ sessionId: `s${n}` })
      await Promise.allSettled([store.finish(run, 1, endOf(turn)), remove(`s${n}`), store.begin(next)])
    }
    for (let n = 0; n < 30; n += 1) {
      const { run } = await start({ sessionId: `t${n}` })
      const step = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
      await Promise.allSettled([store.checkpoint(run, 1, 0, step), store.checkpoint(run, 1, 1, step), remove(`t${n}`)])
    }
    assert.deepEqual(await rows('run_steps'), [])
    const keys = new Set((await rows('sessions')).map(({ key }) => key))
    for (const { session } of await rows('messages')) assert.ok(keys.has(session))
    for (const { session, status } of await rows('runs')) assert.ok(status === 'gone' || keys.has(session!), status)
  })

  registerFork(database, sessionsOf)
}

function registerFork(
  database: () => Database,
  sessionsOf: () => ReturnType<typeof storeOf> & {
    sessions: ReturnType<typeof createSessionStore>
    rows<T extends keyof Tables>(table: T): Promise<Tables[T][]>
    add<T extends keyof Tables>(table: T, row: Tables[T]): Promise<void>
  },
): void {
  const newFork = (tenant: string, messageIndex: number): NewFork => ({
    ...{ tenant, owner: 'agent-core bob', sessionId: 'fork', key: randomUUID(), checkpointId: 'c', messageIndex, now: hour + 99 },
  })

  test('a fork has the messages before its index with their data and images, and is independent', async () => {
    const { tenant, store, start, sessions, texts, rows, add } = sessionsOf()
    const image = { name: 'a.png', mediaType: 'image/png' }
    const messages = [
      { ...human('one'), data: { requestId: 'r1', images: [image] } },
      ai('two'),
      { ...human('three'), data: { requestId: 'r2', images: [image] } },
    ]
    const { run, turn } = await start({ messages, shortName: 'one' })
    await store.finish(run, 1, endOf(turn))
    for (const request_id of ['r1', 'r2'])
      await add('media', { tenant, session: turn.session, request_id, n: 0, media_type: 'image/png', data: request_id })
    const from = (await sessions.find({ tenant, owner }, 's', { anyOwner: false }))!
    const fork = newFork(tenant, 2)
    assert.equal(await sessions.fork(from, fork), 'done')
    assert.deepEqual(await texts(fork.key), ['0 one', '1 two'])
    const copied = await sessions.messages(tenant, fork.key)
    assert.deepEqual(copied, (await sessions.messages(tenant, from.key)).slice(0, 2))
    const made = (await sessions.find(fork, 'fork', { anyOwner: false }))!
    const { key, owner: of, shortName, messageCount, createdAt, updatedAt } = made
    assert.deepEqual(
      { key, of, shortName, messageCount, createdAt, updatedAt },
      { key: fork.key, of: fork.owner, shortName: 'one', messageCount: 2, createdAt: hour + 99, updatedAt: hour + 99 },
    )
    assert.deepEqual(
      (await rows('media')).filter(({ session }) => session === fork.key).map(({ data }) => data),
      ['r1'],
    )
    const next = await start({ owner: fork.owner, sessionId: 'fork' })
    assert.deepEqual({ session: next.turn.session, messageIndex: next.turn.messageIndex }, { session: fork.key, messageIndex: 2 })
    assert.equal(await sessions.remove({ tenant, owner }, 's', { jobId: randomUUID(), now: hour }), true)
    assert.deepEqual(await texts(fork.key), ['0 one', '1 two', '2 hello'])
  })

  test('a fork keeps the window and summary unless it ends before the window', async () => {
    const { tenant, store, start, sessions } = sessionsOf()
    const { run, turn } = await start({ messages: [human('a'), ai('b'), human('c')] })
    await store.finish(run, 1, endOf(turn))
    const { sql, parameters } = database()
      .db.updateTable('sessions')
      .set({ window_start: 2, summary: '{"text":"x"}' })
      .where('tenant', '=', tenant)
      .compile()
    await database().all.unit((connection) => connection.execute(sql, parameters))
    const from = (await sessions.find({ tenant, owner }, 's', { anyOwner: false }))!
    const kept: unknown[] = []
    for (const messageIndex of [0, 1, 2, 4]) {
      const fork = { ...newFork(tenant, messageIndex), sessionId: `fork ${messageIndex}` }
      assert.equal(await sessions.fork(from, fork), 'done')
      const row = await database().db.selectFrom('sessions').selectAll().where('key', '=', fork.key).executeTakeFirstOrThrow()
      kept.push([row.message_count, row.window_start, row.summary, row.short_name])
    }
    const summary = '{"text":"x"}'
    assert.deepEqual(kept, [
      [0, 0, null, ''],
      [1, 0, null, 'hello'],
      [2, 2, summary, 'hello'],
      [4, 2, summary, 'hello'],
    ])
    assert.equal(await sessions.fork(from, { ...newFork(tenant, 1), sessionId: 'fork 2' }), 'taken')
    assert.equal(await sessions.fork(from, newFork(tenant, 5)), 'too_far')
    await sessions.remove({ tenant, owner }, 's', { jobId: randomUUID(), now: hour })
    assert.equal(await sessions.fork(from, newFork(tenant, 1)), 'unknown')
  })
}
