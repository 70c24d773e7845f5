import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { PendingCall } from '../../src/agent/approval.ts'
import { accountsOf } from '../../src/budgets/accounts.ts'
import type { Override } from '../../src/budgets/budget.ts'
import type { ApprovalCaller, NewDecision, Raise } from '../../src/runs/approvals/approval-store.ts'
import type { RunKey } from '../../src/runs/run.ts'
import type { TakeOver } from '../../src/runs/run-store.ts'
import { createBudgetStore } from '../../src/store/budgets/budgets.ts'
import type { Database } from '../../src/store/database.ts'
import { createApprovalStore } from '../../src/store/runs/approvals.ts'
import { hour, human, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('runs that a budget has paused', registerPauseContract)

const owner = 'agent-core ann'
const waitFor = (callId: string, by: PendingCall['by'] = 'budget'): PendingCall => ({ callId, tool: 'day', input: { budget: 'day' }, by })
const by: TakeOver = { holder: 'process-2', queueOrder: 9, now: hour + 20, messages: [human('hello')] }
const extend: NewDecision = { decision: 'extend', limit: { usd: 1 }, decidedBy: 'agent-core root' }

function registerPauseContract(database: () => Database): void {
  function setUp() {
    const own = storeOf(database())
    const approvals = createApprovalStore(database())
    const caller = (change: Partial<ApprovalCaller> = {}): ApprovalCaller => {
      return { tenant: own.tenant, owner, mayApprove: false, mayRaise: false, ...change }
    }
    /** A run that waits for these budgets and calls. */
    const paused = async (...calls: PendingCall[]) => {
      const { run, turn } = await own.start()
      await own.store.interrupt(run, 1, {
        session: turn.session,
        sessionId: 's',
        step: 1,
        data: { messages: [], iterations: 0, events: [], usage: { models: [], thoughts: [] } },
        log: { input: 'hello', events: [{ type: 'interrupt', calls, usage: [], thoughts: [] }] },
        calls,
        ranMs: 1,
        now: hour + 10,
        expiresAt: hour + 1000,
        jobs: [],
      })
      return run
    }
    /** The window of the caller's budget, and a limit that replaces that of agent.yaml. */
    const raiseOf = (run: RunKey, change: () => Override): Raise => {
      const budget = {
        name: 'day',
        scope: 'caller' as const,
        window: 'day' as const,
        timezone: 'UTC',
        limit: { usd: 1 },
        on_exceeded: 'pause' as const,
      }
      return { account: accountsOf([budget], { ...run, operation: 'chain' }, Date.now())[0]!, change }
    }
    const limitOf = async ({ account }: Raise) => (await createBudgetStore(database()).look(own.tenant, [account]))[0]!.limit.nanoUsd
    return { ...own, approvals, caller, paused, raiseOf, limitOf }
  }

  test('a limit is raised in the transaction of the decision, also of a window that nobody has entered', async () => {
    const { approvals, store, paused, raiseOf, limitOf } = setUp()
    const run = await paused(waitFor('b1'))
    const raise = raiseOf(run, () => ({ limit: { nanoUsd: 7 }, until: Date.now() + 60_000, by: 'root' }))
    const result = await approvals.decide({ ...run, callId: 'b1' }, extend, by, { raise })
    assert.deepEqual([result?.takenOver?.kind, await limitOf(raise)], ['running', 7])
    assert.deepEqual((await store.decisions(run)).get('b1'), { decision: 'extend' })
    assert.equal(
      await approvals.decide({ ...run, callId: 'b1' }, extend, by, { raise: raiseOf(run, () => assert.fail('decided twice')) }),
      undefined,
    )
  })

  test('a limit that may not be raised leaves the run waiting', async () => {
    const { approvals, store, paused, raiseOf, limitOf } = setUp()
    const run = await paused(waitFor('b1'))
    const refused = raiseOf(run, () => {
      throw new Error('above')
    })
    await assert.rejects(approvals.decide({ ...run, callId: 'b1' }, extend, by, { raise: refused }), /above/)
    assert.deepEqual([(await store.find(run))?.status, await limitOf(refused)], ['interrupted', 1_000_000_000])
    assert.deepEqual(await approvals.openOf(run), [waitFor('b1')])
  })

  test('a run goes on after the last of several budgets, of which the first that is open is found without an id', async () => {
    const { approvals, caller, paused } = setUp()
    const run = await paused(waitFor('b1'), waitFor('c1', 'caller'), waitFor('b2'))
    const find = async () => (await approvals.find(caller(), run.requestId, undefined))?.callId
    assert.equal(await find(), 'b1')
    assert.deepEqual(await approvals.decide({ ...run, callId: 'b1' }, { decision: 'extend', limit: undefined, decidedBy: owner }, by), {})
    assert.equal(await find(), 'b2')
    await approvals.decide({ ...run, callId: 'b2' }, extend, by)
    const decided = await approvals.find(caller(), run.requestId, undefined)
    assert.deepEqual([decided?.decision, decided?.by], ['extend', 'budget'])
    assert.deepEqual(
      (await approvals.openOf(run)).map(({ callId }) => callId),
      ['c1'],
    )
  })

  test('other callers see a wait with the permission alone, and other tenants never', async () => {
    const { approvals, caller, paused } = setUp()
    const run = await paused(waitFor('b1'), waitFor('r1', 'role'))
    const seen = async (change: Partial<ApprovalCaller>) => {
      const calls = await approvals.list(caller(change), { limit: 10, before: undefined, now: hour + 20 })
      return calls!.map(({ callId }) => callId)
    }
    const root = { owner: 'agent-core root' }
    assert.deepEqual(await seen({}), ['b1', 'r1'])
    assert.deepEqual(await seen(root), [])
    assert.deepEqual(await seen({ ...root, mayRaise: true }), ['b1'])
    assert.deepEqual(await seen({ ...root, mayApprove: true }), ['r1'])
    const stranger = caller({ ...root, tenant: randomUUID(), mayRaise: true, mayApprove: true })
    assert.equal(await approvals.find(stranger, run.requestId, 'b1'), undefined)
    assert.equal(await approvals.find(caller(root), run.requestId, undefined), undefined)
  })
}
