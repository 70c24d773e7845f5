import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../random.ts'
import { slopeOf } from './slope.ts'

test('a line is found exactly, and the interval of noisy lines holds the true slope in 95 of 100 cases', () => {
  assert.deepEqual(slopeOf([0, 1, 2, 3].map((x) => ({ x, y: 5 + 2 * x }))), { slope: 2, margin: 0 })
  const random = createRandom(7)
  const noise = () => Array.from({ length: 12 }, random).reduce((total, one) => total + one, -6)
  let held = 0
  for (let times = 0; times < 1000; times++) {
    const { slope, margin } = slopeOf(Array.from({ length: 8 }, (_, x) => ({ x, y: 0.5 * x + noise() })))
    if (Math.abs(slope - 0.5) <= margin) held++
  }
  assert.ok(held > 925 && held < 975, `${held} of 1000`)
})
