import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toStatusError, toStreamError } from './failures.ts'
import { workSince } from '../../test/fixtures/work-meter.ts'

const origin = { label: 'openai m', secrets: ['sk-secret'] }
const answer = { status: 400, headers: {}, now: 0 }

test('a long message of a provider is shortened quickly', () => {
  const work = workSince()
  const { message } = toStatusError(origin, { ...answer, body: 'http://a'.repeat(8192) })
  assert.ok(message.length < 300)
  assert.ok(work() < 100)
})

test('a secret at the cut of a message is not shown in part', () => {
  for (const spaces of [4090, 4095, 65_530]) {
    const { message } = toStatusError(origin, { ...answer, body: `no${' '.repeat(spaces)}sk-secret` })
    assert.doesNotMatch(message, /sk-/)
  }
})

test('an endlessly nested error is reported without a message', () => {
  const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  assert.equal(toStreamError(origin, deep).message, 'openai m broke off its answer')
})
