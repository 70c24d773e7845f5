import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Budget } from '../configuration/budget-schema.ts'
import { accountsOf, toLimit } from './accounts.ts'
import { type Payer, serviceTenant } from './budget.ts'

const at = Date.parse('2026-11-28T12:00:00Z')
const budget = (scope: Budget['scope'], more: Partial<Budget> = {}): Budget => ({
  name: scope,
  scope,
  timezone: 'UTC',
  limit: { usd: 1 },
  on_exceeded: 'stop',
  ...(scope === 'run' || scope === 'session' ? {} : { window: 'day' as const }),
  ...more,
})
const all = (['tenant', 'session', 'service', 'run', 'caller'] as const).map((scope) => budget(scope))
const payer: Payer = { tenant: 'acme', owner: 'i ann', requestId: 'r1', session: 'key', roles: ['user'], operation: 'chain' }
const subjects = (of: Payer, budgets = all) => Object.fromEntries(accountsOf(budgets, of, at).map(({ scope, subject }) => [scope, subject]))

test('each scope has its own subject, and windows are in the order of their keys', () => {
  assert.deepEqual(subjects(payer), { caller: 'i ann', run: 'r1 i ann', service: '*', session: 'key', tenant: 'acme' })
  assert.deepEqual(
    accountsOf(all, payer, at).map(({ budget: name }) => name),
    ['caller', 'run', 'service', 'session', 'tenant'],
  )
  const [day, run] = accountsOf([budget('caller'), budget('run')], payer, at)
  assert.deepEqual([day?.windowStart, day?.resetsAt], [Date.parse('2026-11-28T00:00:00Z'), Date.parse('2026-11-29T00:00:00Z')])
  assert.deepEqual([run?.windowStart, run?.resetsAt], [0, undefined])
})

test('work without a run, a session or a caller is counted where its subject is known', () => {
  assert.deepEqual(subjects({ tenant: 'acme', operation: 'search' }), { service: '*', tenant: 'acme' })
  assert.deepEqual(subjects({ tenant: 'acme', owner: 'i ann', operation: 'retain' }), { caller: 'i ann', service: '*', tenant: 'acme' })
  assert.deepEqual(subjects({ tenant: serviceTenant, operation: 'search' }), { service: '*' })
})

test('a match leaves calls out by tenant, operation and role; a call whose roles are unknown counts', () => {
  const counts = (match: Budget['match'], of: Partial<Payer> = {}) =>
    accountsOf([budget('tenant', { match })], { ...payer, ...of }, at).length === 1
  assert.deepEqual([counts({ tenants: ['acme'] }), counts({ tenants: ['beta'] })], [true, false])
  assert.deepEqual([counts({ operations: ['chain', 'summary'] }), counts({ operations: ['summary'] })], [true, false])
  assert.deepEqual([counts({ roles: ['admin'] }), counts({ roles: ['admin', 'user'] })], [false, true])
  assert.equal(counts({ roles: ['admin'] }, { roles: undefined }), true)
  assert.equal(counts({ roles: ['admin'] }, { roles: [] }), false)
})

test('limits are whole units, exact where they are, and never above what is configured', () => {
  assert.deepEqual(toLimit({ usd: 0.1 }), { nanoUsd: 100_000_000 })
  assert.deepEqual(toLimit({ usd: 1.1, tokens: 7 }), { nanoUsd: 1_100_000_000, tokens: 7 })
  assert.deepEqual(toLimit({ usd: 0.0000000019 }), { nanoUsd: 1 })
  assert.deepEqual(toLimit({ usd: 0 }), { nanoUsd: 0 })
  assert.deepEqual(toLimit({ usd: 1_000_000 }), { nanoUsd: 1_000_000_000_000_000 })
})
