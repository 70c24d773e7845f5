import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { test } from 'node:test'
import type { JsonObject } from '../../src/agent/messages.ts'
import { toAsked, toEnded, toLapsed, toStarted, toUnknown } from '../../src/runs/execution/acts.ts'
import { FenceLost, type RunActs } from '../../src/runs/run-store.ts'
import type { RunKey } from '../../src/runs/run.ts'
import { createNewId } from '../../src/service/new-id.ts'
import { query, type Database } from '../../src/store/database.ts'
import { createApprovalStore } from '../../src/store/runs/approvals.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, hour, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('acts of runs', registerActsOfRuns)

/** Ascending, as those of the service: the story is read in the order of the ids. */
const newId = createNewId()

const progress = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }

function registerActsOfRuns(database: () => Database): void {
  function setUp() {
    const own = storeOf(database())
    const contextOf = (key: RunKey) => ({ key, agent: { version: '1' }, now: () => hour, newId })
    const starts = (key: RunKey, callId: string, salt?: string) => toStarted(contextOf(key), { callId, tool: 'pay', input: { n: 1 } }, salt)
    const allUnknown =
      (key: RunKey): RunActs =>
      (open) =>
        open.map((call) => toUnknown(contextOf(key), call))
    /** A line for each event of the tenant. */
    const story = async () => {
      const events = database().db.selectFrom('audit_events').select(['action', 'data', 'salt']).where('tenant', '=', own.tenant)
      const { rows } = await query(database().forTenant(own.tenant).read, events.orderBy('id'))
      return rows
        .filter(({ action }) => action !== 'session.deleted')
        .map(
          ({ action, data, salt }) =>
            `${action} ${String((JSON.parse(data ?? '{}') as JsonObject)['call_id'])}${salt === null ? '' : ' salted'}`,
        )
    }
    return { ...own, contextOf, starts, allUnknown, story }
  }

  test('acts are stored with the checkpoint, and not with one that is refused', async () => {
    const { store, start, starts, contextOf, story } = setUp()
    const { run } = await start()
    await store.checkpoint(run, 1, 1, progress, { acts: [starts(run, 'a')] })
    await assert.rejects(store.checkpoint(run, 2, 2, progress, { acts: [starts(run, 'b')] }), FenceLost)
    await assert.rejects(store.startApproved(run, 2, 'b', hour, [starts(run, 'b')]), FenceLost)
    const open: unknown[] = []
    await store.checkpoint(run, 1, 2, progress, {
      acts: (calls) => (open.push(calls), calls.map((call) => toEnded(contextOf(run), call, 'success'))),
    })
    await store.checkpoint(run, 1, 3, progress, { acts: (calls) => (open.push(calls), []) })
    assert.deepEqual(open, [[{ callId: 'a', target: 'tool:pay' }], []])
    assert.deepEqual(await story(), ['tool.started a salted', 'tool.ended a'])
  })

  test('the end of a run says which calls of the run were cut off, of no other run', async () => {
    const { store, start, newRun, starts, allUnknown, story } = setUp()
    const { run, turn } = await start()
    const other = await start({ ...newRun(), sessionId: 'other' })
    await store.checkpoint(other.run, 1, 1, progress, { acts: [starts(other.run, 'x')] })
    await store.checkpoint(run, 1, 1, progress, { acts: [starts(run, 'a')] })
    await store.finish(run, 1, endOf(turn, { acts: allUnknown(run) }))
    assert.deepEqual(await story(), ['tool.started x salted', 'tool.started a salted', 'tool.unknown a'])
  })

  /** A run that waits for the decision on a call. */
  async function waiting({ store, start }: ReturnType<typeof setUp>) {
    const { run, turn } = await start()
    const call = { callId: 'a', tool: 'pay', input: { n: 1 }, by: 'caller' as const }
    const agent = { config: { audit: { enabled: true } }, version: '1' }
    const asked = toAsked([call], { key: run, agent } as never, { now: () => hour, newId } as never)
    await store.interrupt(run, 1, {
      session: turn.session,
      sessionId: 's',
      step: 1,
      data: progress,
      log: { input: '', events: [] },
      ranMs: 1,
      now: hour,
      expiresAt: hour + 1000,
      jobs: [],
      ...asked,
    })
    return run
  }

  test('the salt of a call goes with its approval, from the question to the start', async () => {
    const world = setUp()
    const { store, starts, story, contextOf } = world
    const run = await waiting(world)
    const approvals = createApprovalStore(database())
    const found = await approvals.find({ ...run, mayApprove: false, mayRaise: false }, run.requestId, 'a')
    const decision = { decision: 'approve' as const, input: undefined, reason: undefined, decidedBy: run.owner }
    const { salt = '' } = found!
    const act = { ...toLapsed(contextOf(run), { callId: 'a', tool: 'pay', by: 'caller' }), salt }
    await approvals.decide({ ...run, callId: 'a' }, decision, { holder: 'p2', queueOrder: 1, now: hour + 1, messages: [] }, { act })
    const decided = (await store.decisions(run)).get('a')
    assert.deepEqual(decided, { decision: 'approve', isStarted: false, salt })
    await store.startApproved(run, 2, 'a', hour + 2, [starts(run, 'a', salt)])
    assert.deepEqual(await story(), ['approval.asked a salted', 'approval.decided a salted', 'tool.started a salted'])
  })

  test('a call that lapses is in the ledger once, also where the session is removed', async () => {
    const world = setUp()
    const { store, story, contextOf } = world
    const run = await waiting(world)
    const by = { holder: 'p2', queueOrder: 1, now: hour + 1, messages: [] }
    await store.takeOver(
      run,
      { fence: 1, status: 'interrupted' },
      { ...by, toLapsed: (calls) => calls.map((call) => toLapsed(contextOf(run), call)) },
    )
    assert.deepEqual(await story(), ['approval.asked a salted', 'approval.decided a'])
    const removed = setUp()
    const { tenant, owner } = await waiting(removed)
    await createSessionStore(database()).remove({ tenant, owner }, 's', { jobId: randomUUIDv7(), now: hour })
    assert.deepEqual(await removed.story(), ['approval.asked a', 'approval.decided a'])
  })

  test('a session that is removed while a run and an execution write leaves both calls unknown, without salts', async () => {
    const { store, start, newRun, tenant, starts, allUnknown, story } = setUp()
    const { run } = await start()
    await store.checkpoint(run, 1, 1, progress, { acts: [starts(run, 'a')] })
    const executions = createExecutionStore(database())
    const direct = newRun()
    await executions.begin({ ...direct, acts: [starts(direct, 'b')] })
    await createSessionStore(database()).remove({ tenant, owner: run.owner }, 's', { jobId: randomUUIDv7(), now: hour })
    await executions.finish(direct, 1, { result: undefined, now: hour, acts: allUnknown(direct) })
    assert.deepEqual((await story()).toSorted(), ['tool.started a', 'tool.started b', 'tool.unknown a', 'tool.unknown b'])
  })

  test('an execution of a lost process is unknown once, and its late end says nothing', async () => {
    const { newRun, starts, contextOf, story } = setUp()
    const executions = createExecutionStore(database())
    const direct = newRun({ holder: randomUUIDv7() })
    await executions.begin({ ...direct, acts: [starts(direct, 'a')] })
    await executions.begin({ ...direct, acts: [starts(direct, 'again')] })
    const lost = { holder: 'p2', graceMs: 0, now: hour }
    const toActs = (key: RunKey, open: Parameters<Exclude<RunActs, readonly unknown[]>>[0]) =>
      open.map((call) => toUnknown(contextOf(key), call))
    for (const _ of [1, 2]) await executions.endLost({ ...lost, toActs })
    await executions.finish(direct, 1, {
      result: undefined,
      now: hour,
      acts: (open) => open.map((call) => toEnded(contextOf(direct), call, 'success')),
    })
    assert.deepEqual(await story(), ['tool.started a salted', 'tool.unknown a'])
  })
}
