import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toStatusError, toStreamError } from './failures.ts'
import { workSince } from '../../test/fixtures/work-meter.ts'

const origin = { label: 'openai m', secrets: ['sk-secret'] }
const answer = { status: 400, headers: {}, now: 0 }

test('a long message of a provider costs little to shorten', () => {
  const work = workSince()
  const { message } = toStatusError(origin, { ...answer, body: 'http://a'.repeat(8192) })
  assert.ok(message.length < 300)
  assert.ok(work() < 100)
})

test('a secret where a message is cut is not told in part', () => {
  for (const spaces of [4090, 4095, 65_530]) {
    const { message } = toStatusError(origin, { ...answer, body: `no${' '.repeat(spaces)}sk-secret` })
    assert.doesNotMatch(message, /sk-/)
  }
})

test('an error that is nested without end is told without words', () => {
  const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  assert.equal(toStreamError(origin, deep).message, 'openai m broke off its answer')
})
