import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { accountsOf, toAccount } from '../../src/budgets/accounts.ts'
import type { Limit } from '../../src/budgets/budget.ts'
import { createOverrideRules } from '../../src/budgets/overrides.ts'
import type { Budget } from '../../src/configuration/budget-schema.ts'
import { ServiceError } from '../../src/errors.ts'
import { createBudgetStore } from '../../src/store/budgets/budgets.ts'
import { createOverrideStore } from '../../src/store/budgets/overrides.ts'
import { createWindowList } from '../../src/store/budgets/windows-list.ts'
import type { Database } from '../../src/store/database.ts'
import { storeContract } from './suites.ts'

storeContract('overrides of budgets', registerOverrideContract)

const defaults = { timezone: 'UTC', on_exceeded: 'stop' } as const
const callerDay: Budget = { ...defaults, name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.000_000_1 } }
const tenantMonth: Budget = { ...defaults, name: 'tenant-month', scope: 'tenant', window: 'month', limit: { usd: 0.000_000_5 } }
const service: Budget = { ...defaults, name: randomUUID(), scope: 'service', window: 'month', limit: { usd: 1 } }
const run: Budget = { ...defaults, name: 'run', scope: 'run', limit: { usd: 1, tokens: 100 } }
const all = [callerDay, tenantMonth, service, run]

/** A tenant of its own, with an administrator and the windows of one run. */
function setup(database: Database, { budgets = all, adminTenant = 'default' } = {}) {
  const tenant = randomUUID()
  const store = { ...createBudgetStore(database), ...createOverrideStore(database) }
  const rules = createOverrideRules({ store, budgets: () => budgets, adminTenant })
  const payer = { tenant, owner: 'issuer ann', requestId: randomUUID(), operation: 'chain' }
  const accounts = accountsOf(budgets, payer, Date.now())
  const admin = { tenant, sub: 'boss', roles: ['admin'] }
  const accountOf = ({ name }: Budget) => accounts.find(({ budget }) => budget === name)!
  const set = async (budget: Budget, limit: Limit, { until = Date.now() + 1000, caller = admin } = {}) => {
    const account = accountOf(budget)
    return store.override(tenant, account, await rules.replace(caller, account, { limit, until }))
  }
  const raise = async (budget: Budget, more: Limit) => {
    const account = accountOf(budget)
    return store.override(tenant, account, await rules.raise(admin, account, more))
  }
  const hold = async (nanoUsd: number, budget: Budget) => {
    const reservation = { id: randomUUID(), ...payer, fence: 1, holder: 'alive', createdAt: Date.now() }
    const reserved = await store.reserve({ ...reservation, accounts: [accountOf(budget)], amount: { nanoUsd, tokens: 1 } })
    return reserved.isHeld
  }
  const limitOf = async (budget: Budget) => (await store.look(tenant, [accountOf(budget)]))[0]!.limit.nanoUsd
  return { tenant, store, rules, admin, accountOf, set, raise, hold, limitOf }
}

const refusedWith = (code: string, loc?: unknown[]) => (error: unknown) => {
  assert.ok(error instanceof ServiceError)
  assert.equal(error.code, code)
  if (loc) assert.deepEqual(error.faults[0]?.loc, loc)
  return true
}

function registerOverrideContract(database: () => Database): void {
  test('an override counts from the next reservation until it is cleared, also in a window that nobody has entered', async () => {
    const { store, tenant, accountOf, set, hold } = setup(database())
    assert.equal(await hold(200, callerDay), false)
    const until = Date.now() + 60_000
    const state = await set(callerDay, { nanoUsd: 300 }, { until })
    assert.deepEqual([state.limit, state.override], [{ nanoUsd: 300 }, { limit: { nanoUsd: 300 }, until, by: 'boss' }])
    assert.equal(await hold(200, callerDay), true)
    const cleared = await store.override(tenant, accountOf(callerDay), () => undefined)
    assert.deepEqual([cleared.limit, cleared.override, cleared.reserved.nanoUsd], [{ nanoUsd: 100 }, undefined, 200])
    assert.equal(await hold(1, callerDay), false)
  })

  test('an override ends at its time', async () => {
    const { set, limitOf } = setup(database())
    await set(callerDay, { nanoUsd: 300 }, { until: Date.now() + 700 })
    assert.equal(await limitOf(callerDay), 300)
    const deadline = Date.now() + 20_000
    while ((await limitOf(callerDay)) !== 100) assert.ok(Date.now() < deadline)
  })

  test('limits that are raised at the same time add up', async () => {
    const { raise, accountOf } = setup(database())
    await Promise.all([raise(callerDay, { nanoUsd: 20 }), raise(callerDay, { nanoUsd: 30 })])
    const state = await raise(callerDay, { nanoUsd: 1 })
    assert.deepEqual([state.limit, state.override!.until], [{ nanoUsd: 151 }, accountOf(callerDay).resetsAt])
    const ofRun = await raise(run, { tokens: 11 })
    assert.deepEqual(ofRun.limit, { nanoUsd: 10 ** 9, tokens: 111 })
  })

  test("a caller's limit is never above that of the tenant in force, which may be raised itself", async () => {
    const { tenant, set, store, raise, limitOf } = setup(database())
    await assert.rejects(set(callerDay, { nanoUsd: 501 }), refusedWith('above_tenant_budget'))
    await assert.rejects(raise(callerDay, { nanoUsd: 401 }), refusedWith('above_tenant_budget'))
    assert.equal(await limitOf(callerDay), 100)
    await set(callerDay, { nanoUsd: 500 })
    const service = createOverrideRules({ store, budgets: () => all, adminTenant: tenant })
    const account = accountsOf(all, { tenant, operation: 'chain' }, Date.now()).find(({ scope }) => scope === 'tenant')!
    const caller = { tenant, sub: 'root', roles: ['admin'] }
    await store.override(tenant, account, await service.replace(caller, account, { limit: { nanoUsd: 600 }, until: Date.now() + 60_000 }))
    await set(callerDay, { nanoUsd: 600 })
    assert.equal(await limitOf(callerDay), 600)
  })

  test("a tenant's limit of shorter windows, or of some operations alone, does not bound the limit of its callers", async () => {
    const hourly: Budget = { ...tenantMonth, name: 'hourly', window: 'hour' }
    const experiments: Budget = { ...tenantMonth, name: 'experiments', match: { operations: ['experiment'] } }
    const elsewhere: Budget = { ...tenantMonth, name: 'elsewhere', match: { tenants: ['acme'] } }
    const { set, limitOf } = setup(database(), { budgets: [callerDay, hourly, experiments, elsewhere] })
    await set(callerDay, { nanoUsd: 501 })
    assert.equal(await limitOf(callerDay), 501)
  })

  test("limits of tenants and of the service are changed from the administrators' tenant, the others by the tenant's admin", async () => {
    const { set, admin, tenant } = setup(database())
    for (const budget of [tenantMonth, service]) await assert.rejects(set(budget, { nanoUsd: 1 }), refusedWith('forbidden'))
    const caller = { ...admin, roles: ['user'] }
    for (const budget of [callerDay, run]) await assert.rejects(set(budget, { nanoUsd: 1 }, { caller }), refusedWith('forbidden'))
    const home = setup(database(), { adminTenant: tenant })
    const root = { tenant, sub: 'root', roles: ['admin'] }
    assert.equal((await home.set(tenantMonth, { nanoUsd: 700 }, { caller: root })).limit.nanoUsd, 700)
    assert.equal((await home.set(service, { nanoUsd: 7 }, { caller: root })).limit.nanoUsd, 7)
  })

  test('windows are listed by name and subject, each once, with the ids and owners of runs and sessions', async () => {
    const { tenant, store, hold } = setup(database())
    const one = setup(database())
    await hold(1, callerDay)
    await hold(1, run)
    await one.hold(1, run)
    const page = { owner: undefined, requestId: undefined, sessionId: undefined, except: [], after: undefined, limit: 10, now: Date.now() }
    const accounts = [callerDay, run].map((budget) => toAccount(budget, '', Date.now()))
    const { list } = createWindowList(database())
    const windows = await list(tenant, { ...page, accounts })
    assert.deepEqual(
      windows.map(({ account, state, owner }) => [account.budget, owner, state.reserved.nanoUsd]),
      [
        ['caller-day', { tenant, owner: 'issuer ann' }, 1],
        ['run', { tenant, owner: 'issuer ann' }, 1],
      ],
    )
    const { account, id } = windows[1]!
    assert.equal(account.subject, `${id} issuer ann`)
    const [first] = await list(tenant, { ...page, accounts, limit: 1 })
    assert.deepEqual(await list(tenant, { ...page, accounts, after: first!.account }), [windows[1]])
    assert.deepEqual(await list(tenant, { ...page, accounts, except: [first!.account] }), [windows[1]])
    // Nobody has stored the run, so no caller owns it.
    assert.deepEqual(await list(tenant, { ...page, accounts: accounts.slice(1), owner: 'issuer ann', requestId: id }), [])
    assert.deepEqual(await store.look(tenant, [account]), [windows[1]!.state])
  })

  test('an override ends with its window, begins now, and has no part that agent.yaml does not limit', async () => {
    const { set, accountOf, limitOf } = setup(database())
    const end = accountOf(callerDay).resetsAt!
    await assert.rejects(set(callerDay, { nanoUsd: 1 }, { until: end + 1 }), refusedWith('validation', ['body', 'until']))
    await assert.rejects(set(callerDay, { nanoUsd: 1 }, { until: Date.now() - 5000 }), refusedWith('validation', ['body', 'until']))
    await assert.rejects(set(callerDay, { tokens: 1 }), refusedWith('validation', ['body', 'limit', 'tokens']))
    assert.equal(await limitOf(callerDay), 100)
    assert.equal((await set(callerDay, { nanoUsd: 1 }, { until: end })).limit.nanoUsd, 1)
  })
}
