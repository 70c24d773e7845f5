import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from '@prometheus-io/client'
import type { Payer, Settlement } from '../../budgets/budget.ts'
import { createBudgets } from '../../budgets/budgets.ts'
import type { Budget } from '../../configuration/budget-schema.ts'
import { createRunMeter } from '../../metrics/meters.ts'
import type { LiveRun } from '../../runs/ownership/live-run.ts'
import { combineObservers } from '../../runs/run-observer.ts'
import { call, caseOf, modelOf, tryOut } from './case-fixture.ts'

/** Budgets whose store keeps what is held and settled. */
function openBudgets() {
  const payers: Payer[] = []
  const held: string[] = []
  const settled: Settlement[] = []
  const forgotten: string[] = []
  let ids = 0
  const budgets = createBudgets({
    store: {
      async reserve({ id, accounts, amount }) {
        const none = { nanoUsd: 0, tokens: 0 }
        const states = accounts.map((key) => ({
          ...{ key, spent: none, reserved: none, overrun: none, estimated: none },
          ...{ limit: key.limit, override: undefined, isWarned: false },
        }))
        const isHeld = states.every(({ limit }) => limit.tokens! >= amount.tokens)
        if (isHeld) held.push(id)
        return isHeld ? { isHeld, states } : { isHeld, states }
      },
      settle: async (_, settlements) => void settled.push(...settlements),
      warn: async () => true,
      look: assert.fail,
      settleLost: assert.fail,
      forget: async (_, subject) => void forgotten.push(subject),
    },
    now: Date.now,
    holder: 'p',
    newId: () => `held ${++ids}`,
    onFault: assert.fail,
    adminTenant: 'default',
  })
  const open: typeof budgets.open = (payer, ...options) => {
    payers.push(payer)
    return budgets.open(payer, ...options)
  }
  return { budgets: { ...budgets, open }, payers, held, settled, forgotten }
}

const limitOf =
  (tokens: number, more: Partial<Budget> = {}) =>
  (): Budget[] => [{ name: 'all', scope: 'service', window: 'day', timezone: 'UTC', limit: { tokens }, on_exceeded: 'stop', ...more }]

test('each model call of a replay is paid by its owner under the operation `experiment`, and by no session', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1 })]))
  const { budgets, payers, held, settled } = openBudgets()
  await tryOut(made, modelOf([call('look', { n: 1 })]), {}, { budgets, limits: limitOf(1e9) })
  assert.deepEqual(payers, [
    { tenant: 't', owner: 'agent-core ann', requestId: 'replay', operation: 'experiment', roles: undefined, fence: 0 },
  ])
  assert.equal(held.length, 2)
  assert.deepEqual(
    settled.map(({ id, cost }) => [id, cost.tokens]),
    held.map((id) => [id, 16]),
  )
})

test('the budgets in force hold for a candidate without budgets', async () => {
  const made = await caseOf(modelOf())
  const { budgets, held } = openBudgets()
  const { status } = await tryOut(made, modelOf(), {}, { budgets, limits: limitOf(0) })
  assert.deepEqual([status, held.length], ['failed', 0])
})

test('what a budget of runs has counted for a replay is gone with the replay', async () => {
  const made = await caseOf(modelOf())
  const { budgets, held, forgotten } = openBudgets()
  await tryOut(made, modelOf(), {}, { budgets, limits: limitOf(1e9, { scope: 'run', window: undefined! }) })
  assert.deepEqual([held.length, forgotten], [1, ['replay agent-core ann']])
})

test('nobody raises the limit of a budget for a replay: the replay fails', async () => {
  const made = await caseOf(modelOf())
  const { status } = await tryOut(made, modelOf(), {}, { ...openBudgets(), limits: limitOf(0, { on_exceeded: 'pause' }) })
  assert.equal(status, 'failed')
})

test('a replay ends its spans, and no metric of production counts the replay', async () => {
  const made = await caseOf(modelOf([call('peek', { n: 1 })]))
  const registry = new Registry()
  const empty = await registry.metrics()
  const { observer: meter } = createRunMeter([registry], Date.now)
  const before = await registry.metrics()
  const seen: string[] = []
  const spans = {
    started: ({ operation }: LiveRun) => void seen.push(`started ${operation}`),
    saw: () => undefined,
    ended: ({ log }: LiveRun) => void seen.push(`ended ${log.events.at(-1)!.type}`),
  }
  await tryOut(made, modelOf([call('peek', { n: 1 })]), {}, { observer: combineObservers([meter, spans]) })
  assert.deepEqual(seen, ['started experiment', 'ended interrupt', 'started experiment', 'ended end'])
  assert.notEqual(before, empty)
  assert.equal(await registry.metrics(), before)
})
