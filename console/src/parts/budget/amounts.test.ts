import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAmounts, formatPart, sharesOf } from './amounts.ts'

test('amounts are written with their unit, small costs with their digits', () => {
  assert.equal(formatAmounts({ usd: 0.0042, tokens: 1200 }), '$0.0042 and 1,200 tokens')
  assert.equal(formatAmounts({ tokens: 1 }), '1 token')
  assert.equal(formatPart('usd', -0.5), '-$0.50')
})

test('spent and reserved fill a bar together, never beyond its end', () => {
  assert.deepEqual(sharesOf(2, 1, 0.5), { spent: 50, reserved: 25 })
  assert.deepEqual(sharesOf(2, 1.5, 1), { spent: 75, reserved: 25 })
  assert.deepEqual(sharesOf(2, 3, 1), { spent: 100, reserved: 0 })
  assert.deepEqual(sharesOf(0, 0, 0), { spent: 100, reserved: 0 })
})
