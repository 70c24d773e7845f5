import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRunTraces } from '../../src/runs/trace/run-traces.ts'
import type { TraceRecord } from '../../src/runs/trace/records.ts'
import type { Interruption, TakeOver } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createApprovalStore } from '../../src/store/runs/approvals.ts'
import { draw } from '../fixtures/trace.ts'
import { endOf, hour, human, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('traces of runs', registerTraceContract)

const usage = { model: 'm', input: 1, output: 2, cachedInput: 0, reasoning: 0 }
const held: TraceRecord = { type: 'held', at: hour, holder: 'process-1', fence: 1 }
const asked: TraceRecord = { type: 'model', n: 1, from: 0, to: 0, startedAt: hour, endedAt: hour + 5, usage, calls: ['a', 'b'] }
const noProgress = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
const by: TakeOver = { holder: 'process-2', queueOrder: 9, now: hour + 20, messages: [human('hello')] }
const decision = { decision: 'approve' as const, input: { to: 'c' }, reason: undefined, decidedBy: 'agent-core ann' }

/** What a trace finds of a run on every database. */
function registerTraceContract(database: () => Database): void {
  function setUp() {
    const own = storeOf(database())
    const approvals = createApprovalStore(database())
    const observed = { eventsOf: async (_run: unknown, events: any) => events }
    const traces = createRunTraces({ store: own.store, approvals, observed, progressOf: () => undefined, historyTokens: () => 10_000 })
    const calls = ['a', 'b'].map((callId) => ({ callId, tool: 'send', input: { to: callId }, by: 'caller' as const }))
    const log: Interruption['log'] = {
      input: 'hello',
      events: [{ type: 'interrupt', calls, usage: [], thoughts: [] }],
      trace: [held, asked],
    }
    const interruption = {
      sessionId: 's',
      step: 1,
      data: { ...noProgress, ...log },
      log,
      calls,
      ranMs: 40,
      now: hour + 10,
      expiresAt: hour + 1000,
      jobs: [],
    }
    return { ...own, approvals, traces, interruption }
  }

  test('the records of a run are read from its checkpoints, then from its log', async () => {
    const { store, start, traces } = setUp()
    const { run, turn } = await start()
    await store.checkpoint(run, 1, 1, { ...noProgress, trace: [held] })
    await store.checkpoint(run, 1, 2, { ...noProgress, trace: [{ ...asked, calls: [] } as TraceRecord] })
    const live = await traces.find(run)
    assert.deepEqual(draw(live.spans), [
      'run chain: running',
      '  turn Turn 1: success',
      '    model m: success',
      '  turn Turn 2: running',
      '    model : running',
    ])
    const log = {
      input: 'hello',
      events: [{ type: 'end' as const, reason: 'stop' as const, usage: [], thoughts: [] }],
      trace: [held, asked],
    }
    await store.finish(run, 1, endOf(turn, { log, hadCheckpoints: true }))
    const { status, spans } = await traces.find(run)
    assert.deepEqual([status, ...draw(spans)], ['success', 'run chain: success', '  turn Turn 1: success', '    model m: success'])
    await assert.rejects(traces.find({ ...run, tenant: 'other' }), { code: 'not_found' })
    await assert.rejects(traces.find({ ...run, owner: 'agent-core eve' }), { code: 'not_found' })
  })

  test('calls of a run are read with their decisions, in the order requested, and of one owner only', async () => {
    const { store, start, approvals, traces, interruption } = setUp()
    const { run, turn } = await start()
    await store.interrupt(run, 1, { ...interruption, session: turn.session })
    await approvals.decide({ ...run, callId: 'b' }, decision, by)
    const times = { requestedAt: hour + 10, expiresAt: hour + 1000 }
    const [first, second] = await approvals.ofRun(run)
    assert.deepEqual(first, { callId: 'a', tool: 'send', input: { to: 'a' }, by: 'caller', ...times })
    const decided = { decision: 'approve', decidedAt: hour + 20, decidedBy: 'agent-core ann', newInput: { to: 'c' } }
    assert.deepEqual(second, { callId: 'b', tool: 'send', input: { to: 'b' }, by: 'caller', ...times, ...decided })
    assert.deepEqual(await approvals.ofRun({ ...run, owner: 'agent-core eve' }), [])
    assert.deepEqual(await approvals.ofRun({ ...run, tenant: 'other' }), [])
    assert.deepEqual(draw((await traces.find(run)).spans), [
      'run chain: waiting',
      '  turn Turn 1: waiting',
      '    model m: success',
      '    approval send: waiting',
      '    approval send: success',
      '  wait Waiting for approval: waiting',
    ])
  })
}
