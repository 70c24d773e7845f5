import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account, AccountState } from './budget.ts'
import { canPay, leftIn, refuse } from './refusal.ts'

const account = (scope: Account['scope'], more: Partial<Account> = {}): Account => ({
  budget: 'b',
  scope,
  window: 'day',
  subject: 's',
  windowStart: 0,
  resetsAt: 10_500,
  limit: { nanoUsd: 2_000_000 },
  warnAt: undefined,
  onExceeded: 'pause',
  ...more,
})
const zero = { nanoUsd: 0, tokens: 0 }
const state = (more: Partial<AccountState> = {}): AccountState => ({
  key: { budget: 'b', scope: 'caller', subject: 's', windowStart: 0 },
  spent: { nanoUsd: 1_000_000, tokens: 30 },
  reserved: { nanoUsd: 500_000, tokens: 10 },
  overrun: zero,
  estimated: zero,
  limit: { nanoUsd: 2_000_000 },
  override: undefined,
  isWarned: false,
  ...more,
})

test('what is left is the limit without what is spent and reserved, part by part', () => {
  assert.deepEqual(leftIn(state()), { nanoUsd: 500_000 })
  assert.deepEqual(leftIn(state({ limit: { tokens: 35 } })), { tokens: -5 })
  assert.equal(canPay(state(), { nanoUsd: 500_000, tokens: 1_000_000 }), true)
  assert.equal(canPay(state(), { nanoUsd: 500_001, tokens: 0 }), false)
  assert.equal(canPay(state({ limit: { nanoUsd: 9_000_000, tokens: 40 } }), { nanoUsd: 0, tokens: 1 }), false)
})

test('a refusal tells the caller of own amounts, and nothing of what a tenant or the service spends', () => {
  const needed = { nanoUsd: 700_000, tokens: 300 }
  const own = refuse(account('caller'), state(), needed, 1_000)
  assert.deepEqual(own.details, {
    ...own.details,
    budget: 'b',
    scope: 'caller',
    window: 'day',
    limit: { usd: 0.002 },
    spent: { usd: 0.001 },
    reserved: { usd: 0.0005 },
    resets_at: '1970-01-01T00:00:10.500Z',
  })
  assert.deepEqual([own.needed, own.onExceeded, own.retryAfter], [{ usd: 0.0007 }, 'pause', 10])
  for (const scope of ['tenant', 'service'] as const) {
    const { details, message } = refuse(account(scope), state(), needed, 1_000)
    assert.deepEqual(
      Object.keys(details ?? {}).filter((key) => ['limit', 'spent', 'reserved'].includes(key)),
      [],
      scope,
    )
    assert.doesNotMatch(message, /0\.00/)
  }
})

test('a window that never ends has no time to try again; one that ends at once has a second', () => {
  const endless = refuse(account('session', { resetsAt: undefined, window: undefined }), state(), zero, 1_000)
  assert.deepEqual([endless.resetsAt, endless.retryAfter, endless.message], [undefined, undefined, 'Budget b is used up.'])
  assert.equal(refuse(account('caller'), state(), zero, 10_499.9).retryAfter, 1)
})

test('a limit below what the shortest answer costs never pays: no time is named, and no amount of a tenant', () => {
  const needed = { nanoUsd: 2_000_001, tokens: 300 }
  const never = refuse(account('caller'), state(), needed, 1_000)
  const text = 'Budget b can never pay for this call, whose shortest answer costs more than the limit.'
  assert.deepEqual([never.retryAfter, never.details['resets_at'], never.message], [undefined, undefined, text])
  assert.deepEqual(never.details['limit'], { usd: 0.002 })
  assert.equal(refuse(account('tenant'), state(), needed, 1_000).details['limit'], undefined)
  // An override that is lower than agent.yaml has an end.
  const lowered = state({ limit: { nanoUsd: 1_000_000 }, override: { limit: { nanoUsd: 1_000_000 }, until: 9_000, by: 'ann' } })
  assert.equal(refuse(account('caller'), lowered, { nanoUsd: 1_500_000, tokens: 300 }, 1_000).retryAfter, 10)
})
