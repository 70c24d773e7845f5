import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelError } from '../agent/model.ts'
import { toModelError, toSilenceError, toStatusError, toStreamError } from './failures.ts'
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

test('the words of the provider behind OpenRouter are reported', () => {
  const messageFor = (raw: unknown) => {
    const body = JSON.stringify({ error: { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'DeepSeek' } } })
    return toStatusError(origin, { ...answer, body }).message
  }
  assert.equal(messageFor('Too long.'), 'openai m answered 400: Too long.')
  assert.equal(messageFor('{"error":{"message":"Too long.","type":"invalid_request_error"}}'), 'openai m answered 400: Too long.')
  for (const raw of [undefined, '', 3, {}]) assert.equal(messageFor(raw), 'openai m answered 400: Provider returned error')
})

const retryInfo = (retryDelay: unknown) => ({
  error: {
    code: 429,
    message: 'Quota exceeded.',
    status: 'RESOURCE_EXHAUSTED',
    details: [{ '@type': 'type.googleapis.com/google.rpc.Help' }, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
  },
})
const limited = (body: unknown, headers = {}) => toStatusError(origin, { status: 429, headers, now: 0, body: JSON.stringify(body) })

test('the delay in the body of Google is a wait, also in an array', () => {
  assert.equal(limited(retryInfo('4s')).retryAfterMs, 4000)
  assert.equal(limited([retryInfo('12.3456s')]).retryAfterMs, 12_346)
  assert.equal(limited(retryInfo('4s'), { 'retry-after': '7' }).retryAfterMs, 7000)
  for (const delay of ['4', 'soon', -1, null, '-4s']) assert.equal(limited(retryInfo(delay)).retryAfterMs, undefined)
})

test('output of the model that the server could not read is worth another attempt', () => {
  const failure = (code: string) => ({
    error: { message: 'Failed.', type: 'invalid_request_error', code, failed_generation: '<function=x>' },
  })
  const codeOf = (code: string) => toStatusError(origin, { ...answer, body: JSON.stringify(failure(code)) }).code
  assert.deepEqual(['tool_use_failed', 'json_validate_failed'].map(codeOf), ['unavailable', 'unavailable'])
  assert.equal(codeOf('context_length_exceeded'), 'refused')
})

test('an attempt is free where the provider has refused it or was not reached, and not where the model may have worked', () => {
  const isFree = (status: number, body = '{}') => toStatusError(origin, { ...answer, status, body }).isFree
  for (const status of [301, 400, 401, 403, 404, 409, 413, 429, 500, 502, 503, 529]) assert.equal(isFree(status), true, String(status))
  for (const status of [200, 204, 408, 504, 524]) assert.equal(isFree(status), false, String(status))
  assert.equal(isFree(400, '{"error":{"code":"tool_use_failed"}}'), false)
  const broken = (code: string, hasBegun = false) => {
    const error = toModelError(origin, new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }), hasBegun)
    return (error as ModelError).isFree
  }
  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED']) assert.equal(broken(code), true, code)
  for (const code of ['ECONNRESET', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_SOCKET', 'ETIMEDOUT']) assert.equal(broken(code), false, code)
  assert.equal(broken('ECONNREFUSED', true), false)
  const sdk = (name: string) => (toModelError(origin, Object.assign(new Error('no'), { name }), false) as ModelError).isFree
  assert.deepEqual([sdk('AI_UnsupportedFunctionalityError'), sdk('AI_TypeValidationError')], [true, false])
  const timeouts = { connectMs: 1, firstTokenMs: 1, idleMs: 1 }
  assert.deepEqual([toSilenceError(origin, timeouts, false).isFree, toStreamError(origin, 'no').isFree], [false, false])
})
