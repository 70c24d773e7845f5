import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test as register } from 'node:test'
import { accountsOf } from '../../src/budgets/accounts.ts'
import type { Account, Amount, Reservation } from '../../src/budgets/budget.ts'
import type { Budget } from '../../src/configuration/budget-schema.ts'
import type { NewRun } from '../../src/runs/run-store.ts'
import { createBudgetStore } from '../../src/store/budgets/budgets.ts'
import type { Database } from '../../src/store/database.ts'
import { endOf, newRun, storeOf } from './fixture.ts'
import { turnOf } from './grouped-fixture.ts'
import { storeContract } from './suites.ts'

storeContract('budgets at the begin of runs', registerBeginContract)

const usd = (nanoUsd: number): Amount => ({ nanoUsd, tokens: nanoUsd })

/** Runs of one caller, whose budget has a limit in 10^-9 USD. */
function setUp(database: Database, limit: number) {
  const tenant = randomUUID()
  const owner = 'agent-core ann'
  const budget: Budget = {
    name: 'callers',
    scope: 'caller',
    window: 'day',
    timezone: 'UTC',
    limit: { usd: limit / 10 ** 9 },
    on_exceeded: 'stop',
  }
  const accounts = accountsOf([budget], { tenant, owner, operation: 'chain' }, Date.now())
  const budgets = createBudgetStore(database)
  const { store } = storeOf(database)
  const sums = async () => {
    const [state] = await budgets.look(tenant, accounts)
    return [state!.spent.nanoUsd, state!.reserved.nanoUsd]
  }
  return {
    store,
    budgets,
    sums,
    tenant,
    runOf: (amount: number, more: Partial<NewRun> = {}) => runOf({ tenant, owner, accounts, amount, ...more }),
  }
}

function runOf({ accounts, amount, ...more }: Partial<NewRun> & { tenant: string; owner: string; accounts: Account[]; amount: number }) {
  const run = newRun({ sessionId: randomUUID(), ...more })
  const { tenant, owner, requestId, holder } = run
  const held = { accounts, amount: usd(amount), createdAt: Date.now() }
  const reservation: Reservation = { id: randomUUID(), tenant, owner, requestId, fence: 1, holder, ...held }
  return { ...run, reservation }
}

function registerBeginContract(database: () => Database): void {
  const test = (title: string, work: () => Promise<void>) =>
    void register(title, (t) => {
      const { embedded, postgres } = database()
      return embedded || postgres ? work() : t.skip('Step by step, runs begin without reservations.')
    })

  test('a run begins with its reservation, and its end settles the reservation', async () => {
    const { store, sums, runOf: of } = setUp(database(), 1000)
    const run = of(100)
    const turn = turnOf(await store.begin(run))
    assert.deepEqual([turn.held?.reservation.id, turn.held?.states[0]?.reserved.nanoUsd, await sums()], [run.reservation.id, 100, [0, 100]])
    await store.finish(run, 1, endOf(turn, { settlements: [{ id: run.reservation.id, cost: usd(7) }] }))
    assert.deepEqual(await sums(), [7, 0])
  })

  test('runs that begin at the same time hold up to the limit, and all others begin without a reservation', async () => {
    const { store, sums, runOf: of } = setUp(database(), 1000)
    const runs = Array.from({ length: 24 }, () => of(90))
    const turns = await Promise.all(runs.map(async (run) => turnOf(await store.begin(run))))
    const held = turns.filter((turn) => turn.held)
    assert.deepEqual([held.length, await sums()], [11, [0, 990]])
    const ends = turns.map((turn, n) => {
      const settlements = turn.held ? [{ id: runs[n]!.reservation.id, cost: usd(1), held: runs[n]!.reservation }] : []
      return store.finish(runs[n]!, 1, endOf(turn, { settlements }))
    })
    await Promise.all(ends)
    assert.deepEqual(await sums(), [11, 0])
  })

  test('a run that does not begin holds nothing, and neither does a run that waits', async () => {
    const { store, sums, runOf: of } = setUp(database(), 1000)
    const first = of(100)
    const again = { ...of(100, { sessionId: first.sessionId }), requestId: first.requestId }
    const queued = of(100, { sessionId: first.sessionId })
    const begun = [await store.begin(first), ...(await Promise.all([of(10), again, queued].map((run) => store.begin(run))))]
    assert.deepEqual(
      [begun.map(({ kind }) => kind), await sums()],
      [
        ['running', 'running', 'known', 'waiting'],
        [0, 110],
      ],
    )
  })

  test('settlements of other units of the same commit are counted once', async () => {
    const { store, budgets, sums, tenant, runOf: of } = setUp(database(), 1000)
    const first = of(100)
    await store.begin(first)
    const settlements = [{ id: first.reservation.id, cost: usd(40) }]
    await Promise.all([store.begin(of(10)), budgets.settle(tenant, settlements), store.begin(of(20)), budgets.settle(tenant, settlements)])
    assert.deepEqual(await sums(), [40, 30])
  })

  test('a reservation whose window is over is not held by a server, whose clock decides', async () => {
    const { store, sums, runOf: of } = setUp(database(), 1000)
    const run = of(100)
    const { reservation } = run
    const accounts = reservation.accounts.map((account) => ({ ...account, windowStart: 1, resetsAt: 2 }))
    const turn = turnOf(await store.begin({ ...run, reservation: { ...reservation, accounts } }))
    assert.deepEqual([turn.held !== undefined, await sums()], [!database().postgres, [0, 0]])
  })
}
