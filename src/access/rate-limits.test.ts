import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequestLimits, limitOf, type RateLimits } from './rate-limits.ts'

const ann = { tenant: 't', owner: 'agent-core ann', roles: ['user'] }

function limitsOf(first: RateLimits) {
  const state = { limits: first, at: 1000 }
  const { take } = createRequestLimits({ limits: () => state.limits, now: () => state.at })
  return { state, take, wait: (caller = ann) => take(caller)?.retryAfter }
}

test('a sliding minute holds as many requests as the limit says, and refused ones are not counted', () => {
  const { state, wait } = limitsOf({ user: { requests_per_minute: 2 } })
  assert.equal(wait(), undefined)
  state.at += 20_000
  assert.equal(wait(), undefined)
  state.at += 10_500
  for (let n = 0; n < 50; n += 1) assert.equal(wait(), 30)
  state.at += 29_499
  assert.equal(wait(), 1)
  state.at += 1
  assert.equal(wait(), undefined)
  assert.equal(wait(), 20)
  state.at += 20_000
  assert.equal(wait(), undefined)
})

test('callers are counted one by one, and tenants too', () => {
  const { wait } = limitsOf({ default: { requests_per_minute: 1 } })
  const callers = [ann, { ...ann, owner: 'agent-core bob' }, { ...ann, tenant: 'u' }]
  for (const caller of callers) assert.equal(wait(caller), undefined)
  for (const caller of callers) assert.equal(wait(caller), 60)
})

test('the refusal is rate_limited', () => {
  const { take } = limitsOf({ default: { requests_per_minute: 1 } })
  take(ann)
  assert.equal(take(ann)?.code, 'rate_limited')
})

test('current limits apply, also to earlier requests', () => {
  const { state, wait } = limitsOf({})
  for (let n = 0; n < 5; n += 1) assert.equal(wait(), undefined)
  state.limits = { default: { requests_per_minute: 4 } }
  for (let n = 0; n < 4; n += 1) assert.equal(wait(), undefined)
  state.limits = { default: { requests_per_minute: 2 } }
  assert.equal(wait(), 60)
  state.limits = { default: { requests_per_minute: 5 } }
  assert.equal(wait(), undefined)
  assert.equal(wait(), 60)
})

test('many requests over a long time are counted right', () => {
  const { state, wait } = limitsOf({ default: { requests_per_minute: 600 } })
  let taken = 0
  for (let n = 0; n < 60_000; n += 1) {
    state.at += 10
    if (wait() === undefined) taken += 1
  }
  assert.equal(taken, 6000)
})

test('the most generous of the roles counts, and one without an entry has the default', () => {
  const limits = { default: { concurrent_runs: 2 }, power: { concurrent_runs: 9 }, free: { requests_per_minute: 1 } }
  const of = (...roles: string[]) => limitOf(limits, { ...ann, roles }, 'concurrent_runs')
  assert.deepEqual([of('user'), of('user', 'power'), of('power', 'user'), of(), of('free', 'user')], [2, 9, 9, 2, undefined])
  assert.equal(limitOf({ power: { concurrent_runs: 9 } }, { ...ann, roles: ['user', 'power'] }, 'concurrent_runs'), undefined)
  assert.equal(limitOf({ default: { concurrent_runs: 3 } }, { ...ann, roles: ['constructor'] }, 'concurrent_runs'), 3)
  assert.equal(limitOf({ default: { concurrent_runs: 3 } }, { tenant: 't', owner: 'o' }, 'concurrent_runs'), 3)
})
