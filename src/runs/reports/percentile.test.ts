import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mean, percentile } from './percentile.ts'

test('a percentile is one of the values', () => {
  const hundred = Array.from({ length: 100 }, (_, n) => n + 1)
  assert.deepEqual([percentile(hundred, 0.5), percentile(hundred, 0.95), percentile(hundred, 1)], [50, 95, 100])
  assert.deepEqual([percentile([7], 0.5), percentile([7], 0.95), percentile([1, 2], 0.5), percentile([1, 2], 0.95)], [7, 7, 1, 2])
})

test('without values, percentile and mean are 0', () => {
  assert.deepEqual([percentile([], 0.95), mean([]), mean([1, 2, 6])], [0, 0, 3])
})
