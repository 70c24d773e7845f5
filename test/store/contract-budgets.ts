import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { accountsOf } from '../../src/budgets/accounts.ts'
import type { Account, AccountState, Amount, BudgetStore, Payer, Reservation } from '../../src/budgets/budget.ts'
import type { Budget } from '../../src/configuration/budget-schema.ts'
import { warningJob } from '../../src/runs/callbacks/budget-warnings.ts'
import { createBudgetStore } from '../../src/store/budgets/budgets.ts'
import { attempts, createSettle, earlierFences } from '../../src/store/budgets/settle.ts'
import type { Database } from '../../src/store/database.ts'
import { storeContract } from './suites.ts'

storeContract('budgets', registerBudgetContract)

const usd = (nanoUsd: number): Amount => ({ nanoUsd, tokens: nanoUsd })
const budget = (name: string, fields: Partial<Budget>): Budget => ({
  name,
  scope: 'caller',
  window: 'day',
  timezone: 'UTC',
  limit: {},
  on_exceeded: 'stop',
  ...fields,
})
const now = () => Date.now()

const newTenant = (): string => randomUUID()

/** A tenant of its own, with what its calls hold and cost. */
function payerOf(database: Database, budgets: readonly Budget[], { owner = 'issuer ann', tenant = newTenant(), holder = 'alive' } = {}) {
  const store = createBudgetStore(database)
  const payer: Payer & { requestId: string } = { tenant, owner, requestId: randomUUID(), operation: 'chain' }
  const accounts = accountsOf(budgets, payer, now())
  const reservation = (amount: Amount, more: Partial<Reservation> = {}): Reservation => {
    const { requestId } = payer
    return { id: randomUUID(), tenant, owner, requestId, fence: 1, holder, accounts, amount, createdAt: now(), ...more }
  }
  const hold = async (amount: Amount, more: Partial<Reservation> = {}) => {
    const asked = reservation(amount, more)
    const reserved = await store.reserve(asked)
    return reserved.isHeld ? asked.id : undefined
  }
  const look = () => store.look(tenant, accounts)
  return { store, payer, accounts, hold, look, reservation, tenant }
}

const sumsOf = ({ spent, reserved }: AccountState) => [spent.nanoUsd, reserved.nanoUsd]

function registerBudgetContract(database: () => Database): void {
  test('an amount is held on all accounts, or on none', async () => {
    const budgets = [budget('a', { limit: { usd: 0.0000001 } }), budget('b', { scope: 'tenant', limit: { usd: 0.00000006 } })]
    const { hold, look } = payerOf(database(), budgets)
    assert.ok(await hold(usd(40)))
    assert.equal(await hold(usd(40)), undefined)
    assert.deepEqual((await look()).map(sumsOf), [
      [0, 40],
      [0, 40],
    ])
    assert.ok(await hold(usd(20)))
    assert.deepEqual((await look()).map(sumsOf), [
      [0, 60],
      [0, 60],
    ])
  })

  test('each part of a limit counts, and a part without a limit does not', async () => {
    const { hold } = payerOf(database(), [budget('a', { limit: { tokens: 100 } })])
    assert.ok(await hold({ nanoUsd: 10 ** 15, tokens: 60 }))
    assert.equal(await hold({ nanoUsd: 0, tokens: 41 }), undefined)
    const both = payerOf(database(), [budget('a', { limit: { usd: 1, tokens: 100 } })])
    assert.equal(await both.hold({ nanoUsd: 10 ** 9 + 1, tokens: 1 }), undefined)
    assert.equal(await both.hold({ nanoUsd: 1, tokens: 101 }), undefined)
    assert.ok(await both.hold({ nanoUsd: 10 ** 9, tokens: 100 }))
  })

  test('a settlement replaces the reservation once, and what was counted beyond it is an overrun', async () => {
    const { store, hold, look, tenant } = payerOf(database(), [budget('a', { limit: { usd: 1 } })])
    const first = (await hold(usd(100)))!
    const second = (await hold(usd(100)))!
    const settlements = [
      { id: first, cost: usd(30) },
      { id: second, cost: usd(130) },
    ]
    await store.settle(tenant, settlements)
    await store.settle(tenant, settlements)
    const [state] = await look()
    assert.deepEqual([state!.spent, state!.reserved, state!.overrun, state!.estimated], [usd(160), usd(0), usd(30), usd(0)])
  })

  test('a run that is taken over settles the reservations of earlier fences in full, as estimated', async () => {
    const { hold, look, payer, tenant } = payerOf(database(), [budget('a', { limit: { usd: 1 } })])
    await hold(usd(100))
    await hold(usd(7), { fence: 2 })
    const settle = createSettle(database())
    const of = { tenant, owner: payer.owner!, request_id: payer.requestId, fence: 2 }
    const count = await database()
      .forTenant(tenant)
      .unit((connection) => settle(connection, earlierFences(of)))
    const [state] = await look()
    assert.deepEqual([count, sumsOf(state!), state!.estimated], [1, [100, 7], usd(100)])
  })

  test('reservations of lost processes outside of runs are settled in full', async () => {
    const { store, hold, look } = payerOf(database(), [budget('a', { limit: { usd: 1 } })], { holder: `lost-${randomUUID()}` })
    await hold(usd(100), { requestId: '', fence: 0 })
    await store.settleLost()
    assert.deepEqual((await look()).map(sumsOf), [[100, 0]])
    assert.equal(await store.settleLost(), 0)
  })

  test('the windows of a run are forgotten, and no others', async () => {
    const budgets = [budget('run', { scope: 'run', window: undefined! }), budget('caller', { scope: 'caller' })]
    const { store, accounts, hold, look, tenant } = payerOf(database(), budgets)
    const id = (await hold(usd(100)))!
    await store.settle(tenant, [{ id, cost: usd(40) }])
    assert.deepEqual((await look()).map(sumsOf), [
      [40, 0],
      [40, 0],
    ])
    await store.forget(tenant, accounts.find(({ scope }) => scope === 'run')!.subject)
    assert.deepEqual(
      (await look()).map(({ key, spent }) => [key.budget, spent.nanoUsd]),
      [
        ['caller', 40],
        ['run', 0],
      ],
    )
  })

  test('a settlement in a unit that is rolled back changes nothing', async () => {
    const { hold, look, tenant } = payerOf(database(), [budget('a', { limit: { usd: 1 } })])
    const id = (await hold(usd(100)))!
    const settle = createSettle(database())
    const failing = database()
      .forTenant(tenant)
      .unit(async (connection) => {
        await settle(connection, attempts(tenant, [{ id, cost: usd(1) }]))
        throw new Error('undone')
      })
    await assert.rejects(failing, /undone/)
    assert.deepEqual((await look()).map(sumsOf), [[0, 100]])
  })

  test('all tenants pay into the window of the service, and see no window of each other', async () => {
    const name = randomUUID()
    const budgets = [budget(name, { scope: 'service', limit: { usd: 0.0000001 } }), budget('own', { scope: 'tenant', limit: { usd: 1 } })]
    const [one, two] = [payerOf(database(), budgets), payerOf(database(), budgets)]
    assert.ok(await one.hold(usd(60)))
    assert.equal(await two.hold(usd(60)), undefined)
    assert.ok(await two.hold(usd(40)))
    const byName = (states: AccountState[]) => Object.fromEntries(states.map((state) => [state.key.budget, sumsOf(state)]))
    assert.deepEqual(byName(await two.look()), { [name]: [0, 100], own: [0, 40] })
    const { rows } = await database()
      .forTenant(one.tenant)
      .read.execute<{ tenant: string }>('select distinct tenant from budget_reservations', [])
    if (database().isShared) assert.deepEqual(rows, [{ tenant: one.tenant }])
  })

  test('a tenant that is called as the service is has a window of its own', async () => {
    const { hold, tenant } = payerOf(database(), [budget(randomUUID(), { scope: 'tenant', limit: { usd: 1 } })], { tenant: '*' })
    assert.ok(await hold(usd(10)))
    const { rows } = await database()
      .forTenant(tenant)
      .read.execute<{ tenant: string }>("select tenant from budget_windows where tenant = '*' and subject = '*'", [])
    assert.equal(rows.length, 1)
  })

  test('an account whose window has ended is refused with the time of the database', async () => {
    const { store, reservation, accounts } = payerOf(database(), [budget('a', { window: 'hour', limit: { usd: 1 } })])
    const hour = 3_600_000
    const past = accounts.map((account): Account => ({
      ...account,
      windowStart: account.windowStart - hour,
      resetsAt: account.resetsAt! - hour,
    }))
    if (!database().isShared) return
    const reserved = await store.reserve(reservation(usd(1), { accounts: past }))
    assert.ok('now' in reserved && Math.abs(reserved.now - now()) < 60_000)
  })

  test('a warning is taken once in a window', async () => {
    const { store, hold, look, tenant, accounts } = payerOf(database(), [budget('a', { limit: { usd: 1 }, warn_at: 0.5 })])
    await hold(usd(100))
    const warning = { account: accounts[0]!, state: (await look())[0]!, at: now() }
    const taken = await Promise.all([store.warn(tenant, warning), store.warn(tenant, warning)])
    assert.deepEqual(taken.filter(Boolean).length, 1)
    assert.equal((await look())[0]!.isWarned, true)
    const sending = createBudgetStore(database(), warningJob)
    const count = async () =>
      (await database().jobs.states({ now: now(), running: new Map() })).find(({ kind }) => kind === 'budget_warning')?.due ?? 0
    const before = await count()
    assert.equal(await sending.warn(tenant, warning), false)
    assert.equal(await count(), before)
    const other = payerOf(database(), [budget('b', { scope: 'service', limit: { usd: 1 }, warn_at: 0.5 })], { tenant })
    await other.hold(usd(100))
    const ofOther = { account: other.accounts[0]!, state: (await other.look())[0]!, at: now() }
    const isFirst = await sending.warn(tenant, ofOther)
    assert.equal(await count(), before + (isFirst ? 1 : 0))
  })

  test('no order of calls commits more than a limit, and each reservation is settled once', () => spendAtRandom(database()))
}

/** Callers of one tenant hold and settle random amounts at the same time, and some settlements come twice or from a takeover. */
async function spendAtRandom(database: Database): Promise<void> {
  const tenant = randomUUID()
  const budgets = [
    budget('caller', { limit: { usd: 0.000_002, tokens: 1500 } }),
    budget('run', { scope: 'run', window: undefined, limit: { usd: 0.000_000_9 } }),
    budget('tenant', { scope: 'tenant', window: 'month', timezone: 'Asia/Kathmandu', limit: { usd: 0.000_003 } }),
  ]
  const callers = ['a', 'b', 'c'].map((owner) => payerOf(database, budgets, { tenant, owner }))
  let settled = 0
  const settle = createSettle(database)
  const call = async (turn: number) => {
    const { store, hold, look, payer } = callers[turn % callers.length]!
    const id = await hold(usd(Math.floor(Math.random() * 200)))
    for (const { spent, reserved, limit } of await look()) {
      assert.ok(spent.nanoUsd + reserved.nanoUsd <= limit.nanoUsd!)
      if (limit.tokens !== undefined) assert.ok(spent.tokens + reserved.tokens <= limit.tokens)
    }
    if (id === undefined) return
    const cost = usd(0)
    const settlements = [{ id, cost }]
    if (turn % 7 === 0) await Promise.all([takeOver(payer), finish(store, settlements)])
    else await Promise.all([finish(store, settlements), finish(store, settlements)])
    settled += 1
  }
  const takeOver = ({ owner, requestId }: Payer) =>
    database
      .forTenant(tenant)
      .unit((connection) => settle(connection, earlierFences({ tenant, owner: owner!, request_id: requestId!, fence: 2 })))
  const finish = (store: BudgetStore, settlements: Parameters<BudgetStore['settle']>[1]) => store.settle(tenant, settlements)
  for (let round = 0; round < 30; round++) await Promise.all(Array.from({ length: 12 }, (_, index) => call(round * 12 + index)))
  assert.ok(settled > 50, String(settled))
  const open = await database
    .forTenant(tenant)
    .read.execute<{ n: number }>('select count(*) as n from budget_reservations where tenant = ' + (database.isShared ? '$1' : '?'), [
      tenant,
    ])
  assert.equal(open.rows[0]!.n, 0)
  for (const { look } of callers)
    for (const { spent, reserved, estimated } of await look()) assert.deepEqual([reserved, spent], [usd(0), estimated])
}
