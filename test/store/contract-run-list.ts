import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { noFilters, type RunPage } from '../../src/runs/run-list.ts'
import type { ToolUse } from '../../src/runs/reports/series.ts'
import type { NewRun } from '../../src/runs/run-store.ts'
import { query, type Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createRunListStore } from '../../src/store/reports/run-list.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, failed, hour, storeOf, usesOf } from './fixture.ts'
import { storeContract } from './suites.ts'

/** The uses, each with a failed call. */
const failedUses = (uses: ToolUse[]): ToolUse[] => uses.map((use) => ({ ...use, errors: 1 }))

function listOf(database: Database, fewRuns?: number) {
  const stored = storeOf(database)
  const list = createRunListStore(database, fewRuns)
  const ann = { tenant: stored.tenant, owner: 'agent-core ann' }
  const idsOf = async (page: Partial<RunPage> = {}, caller = ann) => {
    const runs = await list.list(caller, { ...noFilters, limit: 100, anyOwner: true, before: undefined, ...page })
    return runs.map(({ requestId }) => requestId)
  }
  /** Starts a run in a session of its own, and ends the run unless `end` is false. */
  const add = async (requestId: string, change: Partial<NewRun> = {}, end: Partial<Parameters<typeof endOf>[1]> | false = {}) => {
    const { run, turn } = await stored.start({ requestId, sessionId: requestId, ...change })
    if (end) await stored.store.finish(run, 1, endOf(turn, end))
    return { run, turn }
  }
  return { ...stored, list, ann, idsOf, add }
}

storeContract('the list of runs', (database) => {
  test('a run is listed with its state, and after its end with tokens, cost and error', async () => {
    const { list, ann, add, store, tenant } = listOf(database())
    const { run, turn } = await add('r1', { input: 'How?', configVersion: 'v1' }, false)
    const page = { ...noFilters, limit: 9, anyOwner: false, before: undefined }
    const base = {
      ...ann,
      requestId: 'r1',
      sessionId: 'r1',
      operation: 'chain',
      createdAt: hour,
      startedAt: hour,
      input: 'How?',
      continues: undefined,
    }
    assert.deepEqual(await list.list(ann, page), [
      { ...base, status: 'running', endedAt: undefined, tokens: 0, cost: undefined, toolErrors: 0, error: undefined, configVersion: 'v1' },
    ])
    const error = { body: 'No.', status_code: 502, details: { error_type: 'ModelUnavailable' } }
    await store.finish(
      run,
      1,
      endOf(turn, { ...failed, error, cost: 0.25, configVersion: 'v2', tools: failedUses(usesOf('sales', 'chart')) }),
    )
    assert.deepEqual(await list.list(ann, page), [
      { ...base, status: 'error', endedAt: hour + 100, tokens: 15, cost: 0.25, toolErrors: 2, error, configVersion: 'v2' },
    ])
    assert.deepEqual(await list.list({ tenant, owner: 'agent-core bob' }, page), [])
    assert.deepEqual(await list.list({ tenant: 'other', owner: ann.owner }, { ...page, anyOwner: true }), [])
  })

  test('pages follow each other without gaps, newest first, also among runs of one moment', async () => {
    const { ann, add, idsOf, list } = listOf(database())
    const times = [1, 2, 2, 2, 3, 4, 4]
    const operations = ['chain', 'chain_streaming', 'chain_async'] as const
    for (const [n, time] of times.entries())
      await add(`r${n}`, { now: hour + time, operation: operations[n % 3]! }, { tools: failedUses(usesOf('t')) })
    await add('r3', { now: hour + 2, owner: 'idp ann' }, { tools: failedUses(usesOf('t')) })
    const whole = ['r6', 'r5', 'r4', 'r3', 'r3', 'r2', 'r1', 'r0']
    for (const filter of [{}, { sub: 'ann' }, { tool: 't' }, { toolErrors: true }, { version: '1' }, { since: hour }]) {
      assert.deepEqual(await idsOf(filter), whole)
      const pages: string[] = []
      let before: RunPage['before']
      for (;;) {
        const page = await list.list(ann, { ...noFilters, ...filter, anyOwner: true, limit: 3, before })
        pages.push(...page.map(({ requestId }) => requestId))
        before = page.at(-1)
        if (!before) break
      }
      assert.deepEqual(pages, whole, JSON.stringify(filter))
    }
    assert.deepEqual(await idsOf({ anyOwner: false }), ['r6', 'r5', 'r4', 'r3', 'r2', 'r1', 'r0'])
  })

  for (const fewRuns of [0, 1, 2, undefined])
    test(`each filter selects, alone and together with the others, with ${fewRuns ?? 'the usual number of'} few runs`, () =>
      verifyFilters(listOf(database(), fewRuns)))

  async function verifyFilters({ add, idsOf, ann }: ReturnType<typeof listOf>): Promise<void> {
    const bob = { owner: 'idp bob' }
    await add('done', { now: hour + 1, configVersion: 'v1' }, { configVersion: 'v1', tools: usesOf('sales', 'chart') })
    await add(
      'failed',
      { now: hour + 2, operation: 'chain_streaming' },
      { ...failed, configVersion: 'v1', tools: failedUses(usesOf('sales')) },
    )
    await add('of bob', { ...bob, now: hour + 3, operation: 'chain_async' }, { configVersion: 'v2', tools: failedUses(usesOf('chart')) })
    await add('running', { ...bob, now: hour + 4, configVersion: 'v2' }, false)
    const all = ['running', 'of bob', 'failed', 'done']
    const cases: [Partial<RunPage>, string[]][] = [
      [{}, all],
      [{ anyOwner: false }, ['failed', 'done']],
      [{ status: 'success' }, ['of bob', 'done']],
      [{ status: 'error' }, ['failed']],
      [{ status: 'running' }, ['running']],
      [{ status: 'running', anyOwner: false }, []],
      [{ sessionId: 'of bob' }, ['of bob']],
      [{ sessionId: 'of bob', anyOwner: false }, []],
      [{ operation: 'chain' }, ['running', 'done']],
      [{ operation: 'chain_async', sub: 'bob' }, ['of bob']],
      [{ sub: 'bob' }, ['running', 'of bob']],
      [{ sub: 'bob', anyOwner: false }, []],
      [{ sub: 'ann', anyOwner: false, status: 'error' }, ['failed']],
      [{ tool: 'sales' }, ['failed', 'done']],
      [{ tool: 'chart', anyOwner: false }, ['done']],
      [{ tool: 'sales', status: 'error', version: 'v1', operation: 'chain_streaming', sessionId: 'failed' }, ['failed']],
      [{ tool: 'chart', version: 'v2', sub: 'bob' }, ['of bob']],
      [{ tool: 'none' }, []],
      [{ toolErrors: true }, ['of bob', 'failed']],
      [{ toolErrors: false }, ['running', 'done']],
      [{ toolErrors: true, anyOwner: false }, ['failed']],
      [{ toolErrors: true, tool: 'chart' }, ['of bob']],
      [{ toolErrors: true, status: 'success', version: 'v2', sub: 'bob' }, ['of bob']],
      [{ toolErrors: false, tool: 'sales' }, ['done']],
      [{ version: 'v1' }, ['failed', 'done']],
      [{ version: 'v2', sub: 'bob', status: 'running' }, ['running']],
      [{ since: hour + 2, until: hour + 4 }, ['of bob', 'failed']],
      [{ since: hour + 2, until: hour + 4, tool: 'sales' }, ['failed']],
      [{ since: hour + 2, status: 'error', limit: 1 }, ['failed']],
    ]
    for (const [filter, expected] of cases) assert.deepEqual(await idsOf(filter), expected, JSON.stringify(filter))
    assert.deepEqual(await idsOf({ anyOwner: false }, { ...ann, ...bob }), ['running', 'of bob'])
  }

  test('tools are stored once per run, also when the end is not a single statement', async () => {
    const { store, start, idsOf } = listOf(database())
    const { run, turn } = await start({ requestId: 'r' })
    await store.finish(run, 1, endOf(turn, { ...failed, tools: usesOf('a', 'b') }))
    const by = { holder: 'p2', queueOrder: 9, now: hour, messages: run.messages }
    const taken = await store.takeOver(run, { fence: 1, status: 'error' }, by)
    assert.ok(taken?.kind === 'running')
    await store.finish(run, taken.fence, endOf(taken.turn, { tools: usesOf('a', 'b', 'c'), configVersion: '2' }))
    for (const tool of ['a', 'b', 'c']) {
      assert.deepEqual(await idsOf({ tool }), ['r'])
      assert.deepEqual([await idsOf({ tool, version: '1' }), await idsOf({ tool, version: '2' })], [[], ['r']])
    }
  })

  test('a run that ends with another version of the configuration than it began with is listed under the later one', async () => {
    const { add, idsOf, store, ann } = listOf(database())
    const { turn } = await add('r', { configVersion: 'v1' }, { configVersion: 'v2', tools: usesOf('t') })
    for (const tool of [undefined, 't']) {
      assert.deepEqual([await idsOf({ version: 'v1', tool }), await idsOf({ version: 'v2', tool })], [[], ['r']])
    }
    assert.equal((await store.find({ ...ann, requestId: 'r' }))?.status, 'success')
    assert.equal((await store.history(ann.tenant, turn.session, 0)).length, 2)
  })

  test('direct executions and runs of deleted sessions are not listed', async () => {
    const { add, idsOf, ann } = listOf(database())
    const execution = { ...ann, requestId: 'x', sessionId: 's', bodyHash: '', holder: 'p', agent: 'a', now: hour }
    await createExecutionStore(database()).begin(execution)
    await add('kept')
    await add('removed', {}, { tools: usesOf('t') })
    await createSessionStore(database()).remove(ann, 'removed', { jobId: randomUUID(), now: hour + 9 })
    for (const filter of [{}, { anyOwner: false }]) assert.deepEqual(await idsOf(filter), ['kept'])
    assert.deepEqual(await idsOf({ tool: 't' }), [])
  })

  test('a tombstone of an earlier version, which kept the sub, is not listed', async () => {
    const { add, idsOf, tenant } = listOf(database())
    await add('kept')
    await add('removed')
    const { db, forTenant } = database()
    const mark = db.updateTable('runs').set({ status: 'gone', session: null, gone_at: hour })
    await query(forTenant(tenant).write, mark.where('tenant', '=', tenant).where('request_id', '=', 'removed'))
    for (const filter of [{}, { anyOwner: false }, { version: '1' }]) assert.deepEqual(await idsOf(filter), ['kept'])
  })
})
