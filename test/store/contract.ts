import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { FenceLost } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { storeContracts } from './suites.ts'
import { ai, deleteSession, endOf, failed, hour, human, running, storeOf } from './fixture.ts'

// Each `contract-*.ts` of this folder registers itself when it is imported.
for (const file of (await readdir(import.meta.dirname)).sort()) {
  if (file.startsWith('contract-')) await import(new URL(file, import.meta.url).href)
}

/** Registers what holds on every database; `open` gives an empty one. */
export function registerStoreContract(name: string, open: () => Promise<Database>): void {
  describe(name, () => {
    let database: Database
    before(async () => {
      database = await open()
    })
    after(() => database.close())
    describe('begin', () => registerBegin(() => database))
    describe('finish', () => registerFinish(() => database))
    for (const { title, register } of storeContracts) describe(title, () => register(() => database))
    test('after all tests the hourly counts equal the number of log entries', () => expectCounted(database))
  })
}

function registerBegin(database: () => Database): void {
  test('a new session is created with the run and its human message', async () => {
    const { store, newRun, session, tenant } = storeOf(database())
    const run = newRun({ shortName: 'A name', messages: [human('one', hour + 1)], now: hour + 2 })
    assert.deepEqual(await store.begin(run), {
      kind: 'running',
      fence: 1,
      turn: { session: run.sessionKey, messageIndex: 0, messageCount: 1, windowStart: 0 },
    })
    const { active_run, short_name, message_count, created_at, updated_at } = (await session())!
    assert.deepEqual(
      { active_run, short_name, message_count, created_at, updated_at },
      { active_run: run.requestId, short_name: 'A name', message_count: 1, created_at: hour + 2, updated_at: hour + 2 },
    )
    assert.deepEqual(await store.history(tenant, run.sessionKey, 0), [{ idx: 0, role: 'human', content: 'one', data: undefined }])
    const stored = (await store.find(run))!
    assert.deepEqual(stored.request, run.request)
    assert.deepEqual(
      { status: stored.status, fence: stored.fence, messageIndex: stored.messageIndex, holder: stored.holder },
      { status: 'running', fence: 1, messageIndex: 0, holder: 'process-1' },
    )
  })

  test('an existing session continues and keeps its first name', async () => {
    const { store, newRun, start, session, texts } = storeOf(database())
    const first = await start({ shortName: 'first' })
    await store.finish(first.run, 1, endOf(first.turn))
    const turn = await running(store, newRun({ shortName: 'second', messages: [human('again')] }))
    assert.deepEqual(turn, { session: first.turn.session, messageIndex: 2, messageCount: 3, windowStart: 0 })
    assert.deepEqual(await texts(turn.session), ['0 hello', '1 answer', '2 again'])
    assert.equal((await session())!.short_name, 'first')
  })

  test('a run of a busy session waits, without a message', async () => {
    const { store, newRun, start, session, count } = storeOf(database())
    const first = await start()
    const second = newRun()
    assert.deepEqual(await store.begin(second), { kind: 'waiting', fence: 1 })
    const stored = (await store.find(second))!
    assert.deepEqual(
      { status: stored.status, session: stored.session, messageIndex: stored.messageIndex },
      { status: 'pending', session: first.turn.session, messageIndex: undefined },
    )
    const { active_run, message_count } = (await session())!
    assert.deepEqual(
      { active_run, message_count, count: await count('messages') },
      { active_run: first.run.requestId, message_count: 1, count: 1 },
    )
  })

  test('a known request id changes nothing, whether its run is running, has ended, or names another session', async () => {
    const { store, newRun, start, session, count } = storeOf(database())
    const { run, turn } = await start()
    const again = await store.begin(newRun({ requestId: run.requestId, bodyHash: 'other' }))
    assert.equal(again.kind, 'known')
    assert.ok(again.kind === 'known' && again.run.bodyHash === 'hash')
    await store.finish(run, 1, endOf(turn))
    const before = await session()
    assert.equal((await store.begin(newRun({ requestId: run.requestId, now: hour + 999 }))).kind, 'known')
    assert.equal((await store.begin(newRun({ requestId: run.requestId, sessionId: 'elsewhere' }))).kind, 'known')
    assert.deepEqual(await session(), before)
    assert.deepEqual([await count('messages'), await count('runs'), await count('sessions')], [2, 1, 1])
  })

  test('many concurrent copies of one request create a single run', async () => {
    const { store, newRun, count } = storeOf(database())
    const run = newRun()
    const kinds = (await Promise.all(Array.from({ length: 8 }, () => store.begin({ ...run })))).map(({ kind }) => kind)
    assert.deepEqual(kinds.sort(), [...Array<string>(7).fill('known'), 'running'])
    assert.deepEqual([await count('messages'), await count('runs')], [1, 1])
  })

  test('earlier messages of a request are stored only in an empty session', async () => {
    const { store, newRun, start, texts } = storeOf(database())
    const brought = [human('a'), ai('b'), human('c')]
    const first = await start({ messages: brought })
    assert.deepEqual(await texts(first.turn.session), ['0 a', '1 b', '2 c'])
    assert.deepEqual({ messageIndex: first.turn.messageIndex, messageCount: first.turn.messageCount }, { messageIndex: 2, messageCount: 3 })
    await store.finish(first.run, 1, endOf(first.turn))
    const turn = await running(store, newRun({ messages: [...brought, ai('answer'), human('d')] }))
    assert.deepEqual(await texts(turn.session, 2), ['2 c', '3 answer', '4 d'])
    assert.deepEqual({ messageIndex: turn.messageIndex, messageCount: turn.messageCount }, { messageIndex: 4, messageCount: 5 })
  })

  test('data of different owners or tenants never mixes, even with equal ids', async () => {
    const { store, newRun, start, texts, tenant } = storeOf(database())
    const ann = await start({ requestId: 'r', messages: [human('of ann')] })
    const bob = newRun({ requestId: 'r', owner: 'agent-core bob', messages: [human('of bob')] })
    const other = storeOf(database())
    const foreign = other.newRun({ requestId: 'r', messages: [human('elsewhere')] })
    const bobs = await running(store, bob)
    const foreigns = await running(store, foreign)
    assert.deepEqual(await texts(ann.turn.session), ['0 of ann'])
    assert.deepEqual(await texts(bobs.session), ['0 of bob'])
    assert.deepEqual(await texts(foreigns.session), [])
    assert.deepEqual(await other.texts(foreigns.session), ['0 elsewhere'])
    await store.finish(bob, 1, endOf(bobs))
    assert.equal((await store.find(ann.run))!.status, 'running')
    assert.equal((await store.find(foreign))!.status, 'running')
    assert.equal(await store.find({ tenant, owner: 'nobody', requestId: 'r' }), undefined)
  })
}

function registerFinish(database: () => Database): void {
  test('the end of a run stores the run, the ai message, the session and the metrics', async () => {
    const { store, tenant, start, session, metrics } = storeOf(database())
    const { run, turn } = await start()
    const end = endOf(turn, { checkpointId: 'cp', log: { input: 'hello', events: [{ type: 'retrying' }] } })
    assert.equal(await store.finish(run, 1, end), undefined)
    const stored = (await store.find(run))!
    assert.deepEqual(
      { status: stored.status, endedAt: stored.endedAt, continuable: stored.continuable, request: stored.request },
      { status: 'success', endedAt: hour + 100, continuable: false, request: undefined },
    )
    assert.deepEqual(stored.log, end.log)
    assert.deepEqual((await store.history(tenant, turn.session, 1))[0], {
      idx: 1,
      role: 'ai',
      content: 'answer',
      data: { model: 'm', finishReason: 'stop' },
    })
    const { active_run, message_count, checkpoint_id, updated_at } = (await session())!
    assert.deepEqual(
      { active_run, message_count, checkpoint_id, updated_at },
      { active_run: null, message_count: 2, checkpoint_id: 'cp', updated_at: hour + 100 },
    )
    assert.equal((await metrics()).length, 1)
  })

  test('metrics are summed per hour, with the shortest and the longest run', async () => {
    const { store, start, metrics } = storeOf(database())
    const ends = [
      { status: 'success', latencyMs: 300, endedAt: hour + 300 },
      { status: 'success', latencyMs: 20, endedAt: hour + 20 },
      { status: 'error', latencyMs: 5000, endedAt: hour + 5000 },
      { status: 'cancelled', latencyMs: 100, endedAt: hour + 100 },
      { status: 'timeout', latencyMs: 1, endedAt: hour + 3_600_001 },
    ] as const
    for (const end of ends) {
      const { run, turn } = await start()
      await store.finish(run, 1, endOf(turn, { ...end, finishReason: end.status }))
    }
    const [first, second, ...more] = await metrics()
    const { tenant, ...sums } = first!
    assert.deepEqual(sums, {
      hour,
      success: 2,
      error: 1,
      cancelled: 1,
      timeout: 0,
      prompt_tokens: 40,
      completion_tokens: 20,
      total_tokens: 60,
      latency_ms: 5420,
      min_latency_ms: 20,
      max_latency_ms: 5000,
    })
    assert.deepEqual(
      { hour: second!.hour, timeout: second!.timeout, latency_ms: second!.latency_ms },
      { hour: hour + 3_600_000, timeout: 1, latency_ms: 1 },
    )
    assert.deepEqual({ tenant, moreCount: more.length }, { tenant: second!.tenant, moreCount: 0 })
  })

  test('a run that failed, was resumed and succeeded keeps no error', async () => {
    const { store, start } = storeOf(database())
    const { run, turn } = await start()
    const error = { body: 'No.', status_code: 503, details: { error_type: 'ProcessLost' } }
    await store.finish(run, 1, endOf(turn, { ...failed, error }))
    const by = { holder: 'p2', queueOrder: 9, now: hour, messages: run.messages }
    const taken = await store.takeOver(run, { fence: 1, status: 'error' }, by)
    assert.ok(taken?.kind === 'running')
    await store.finish(run, taken.fence, endOf(taken.turn))
    const stored = await store.find(run)
    assert.deepEqual({ status: stored?.status, error: stored?.error }, { status: 'success', error: undefined })
  })

  test('checkpoints are read in order, and deleted at the end unless the run can be resumed', async () => {
    const { store, start, count } = storeOf(database())
    const { run, turn } = await start()
    const step = (iterations: number) => ({ messages: [], iterations, events: [], usage: { models: [], thoughts: [] } })
    for (const n of [1, 0, 10, 2]) await store.checkpoint(run, 1, n, step(n))
    assert.deepEqual(
      (await store.checkpoints(run)).map(({ iterations }) => iterations),
      [0, 1, 2, 10],
    )
    await store.finish(run, 1, endOf(turn, { ...failed, hadCheckpoints: true }))
    assert.equal((await store.checkpoints(run)).length, 4)
    assert.deepEqual((await store.find(run))!.request, endOf(turn).request)
    const taken = await store.takeOver(
      run,
      { fence: 1, status: 'error' },
      { holder: 'p2', queueOrder: 9, now: hour, messages: run.messages },
    )
    await store.finish(run, taken!.fence, endOf(turn, { hadCheckpoints: true }))
    assert.equal(await count('run_steps'), 0)
  })

  test('steps of a run are separate from those of another owner', async () => {
    const { store, start } = storeOf(database())
    const ann = await start({ requestId: 'r' })
    const bob = await start({ requestId: 'r', owner: 'agent-core bob' })
    const data = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
    await store.checkpoint(ann.run, 1, 0, data, { isRepeatable: true })
    await store.checkpoint(bob.run, 1, 0, data)
    await store.finish(bob.run, 1, endOf(bob.turn, { hadCheckpoints: true }))
    assert.equal((await store.checkpoints(ann.run)).length, 1)
    assert.equal((await store.checkpoints(bob.run)).length, 0)
  })

  test('an old fence can neither end a run nor store a step', async () => {
    const { store, start, session, metrics, count } = storeOf(database())
    const { run, turn } = await start()
    await store.takeOver(run, { fence: 1, status: 'running' }, { holder: 'p2', queueOrder: 9, now: hour, messages: run.messages })
    const before = [await session(), await store.find(run), await metrics()]
    const step = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
    await assert.rejects(store.finish(run, 1, endOf(turn)), FenceLost)
    await assert.rejects(store.checkpoint(run, 1, 0, step), FenceLost)
    await assert.rejects(store.checkpoint(run, 1, 0, step, { isRepeatable: true }), FenceLost)
    assert.deepEqual([await session(), await store.find(run), await metrics()], before)
    assert.deepEqual([await count('messages'), await count('run_steps')], [1, 0])
    await store.checkpoint(run, 2, 0, step)
    await store.finish(run, 2, endOf(turn, { hadCheckpoints: true }))
  })

  test('an ended run can neither end again nor store a step', async () => {
    const { store, start, metrics, count } = storeOf(database())
    const { run, turn } = await start()
    await store.finish(run, 1, endOf(turn))
    const step = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
    await assert.rejects(store.finish(run, 1, endOf(turn)), FenceLost)
    await assert.rejects(store.checkpoint(run, 1, 0, step), FenceLost)
    await assert.rejects(store.checkpoint(run, 1, 0, step, { isRepeatable: true }), FenceLost)
    assert.deepEqual([await count('messages'), await count('run_steps'), (await metrics())[0]!.success], [2, 0, 1])
  })

  test('a deleted session gets no message, and its run still ends', async () => {
    const { store, start, count, metrics } = storeOf(database())
    const { run, turn } = await start()
    await deleteSession(database(), turn.session)
    assert.equal(await store.finish(run, 1, endOf(turn)), undefined)
    assert.deepEqual([await count('messages'), await count('sessions'), (await metrics())[0]!.success], [0, 0, 1])
    assert.equal((await store.find(run))!.status, 'success')
  })
}

async function expectCounted({ db }: Database): Promise<void> {
  const metrics = await db.selectFrom('metrics').selectAll().execute()
  const hours = new Map<string, number>()
  const add = (tenant: string, time: number, count: number) => {
    const name = `${tenant} ${time - (time % 3_600_000)}`
    hours.set(name, (hours.get(name) ?? 0) + count)
  }
  for (const row of metrics) add(row.tenant, row.hour, row.success + row.error + row.cancelled + row.timeout - row.removed)
  const runs = db.selectFrom('runs').select(['tenant', 'ended_at']).where('operation', '!=', 'tool_execute')
  for (const { tenant, ended_at: endedAt } of await runs.execute()) if (endedAt !== null) add(tenant, endedAt, -1)
  assert.deepEqual(
    [...hours].filter(([, count]) => count !== 0),
    [],
  )
  assert.ok(hours.size > 20)
}
