import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../errors.ts'
import { faultOf, RetryableFault, withRetries } from './faults.ts'

const errorOf = (of: object) => Object.assign(new Error('message'), of)

test('faults distinguish broken connections, refusals by the server, and other errors', () => {
  const expected = [
    [errorOf({ code: 'EPIPE', syscall: 'write' }), 'lost'],
    [errorOf({ code: 'ENOTFOUND', syscall: 'getaddrinfo' }), 'lost'],
    [new Error('Connection terminated unexpectedly'), 'lost'],
    [new Error('Query read timeout'), 'lost'],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'lost'],
    [errorOf({ code: '57P01' }), 'lost'],
    [errorOf({ code: '08006' }), 'lost'],
    [errorOf({ code: '40P01' }), 'undone'],
    [errorOf({ code: '57014' }), 'refused'],
    [errorOf({ code: '53100' }), 'refused'],
    [errorOf({ code: '53300' }), 'lost'],
    [errorOf({ code: '23505' }), undefined],
    [errorOf({ code: 'gone' }), undefined],
    [new TypeError('x is not a function'), undefined],
    ['text', undefined],
  ] as const
  for (const [error, fault] of expected) assert.equal(faultOf(error), fault, String(error))
})

test('attempts are repeated until one succeeds or the time is over; other errors are thrown at once', async () => {
  let attempts = 0
  const cause = new Error('cause')
  const value = await withRetries(60_000, async () => {
    if (++attempts < 3) throw new RetryableFault(cause)
    return attempts
  })
  assert.equal(value, 3)
  const away = (error: unknown) => error instanceof ServiceError && error.code === 'store_unavailable' && error.cause === cause
  await assert.rejects(
    withRetries(0, () => Promise.reject(new RetryableFault(cause))),
    away,
  )
  await assert.rejects(
    withRetries(60_000, () => Promise.reject(new TypeError('no'))),
    TypeError,
  )
})
