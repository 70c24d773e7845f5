import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createScale } from './scale.ts'

const second = 1000
const near = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`)

test('without idle gaps, places are in proportion to time', () => {
  const { place, stretches } = createScale({ start: 0, end: 10 * second }, [{ start: 0, end: 10 * second }])
  assert.equal(stretches.length, 1)
  near(place(2.5 * second), 0.25)
})

test('a night between two parts of work takes a small share of the width', () => {
  const night = 10 * 3600 * second
  const work = [
    { start: 0, end: 2 * second },
    { start: 2 * second + night, end: 4 * second + night },
  ]
  const { place, stretches } = createScale({ start: 0, end: 4 * second + night }, work)
  assert.deepEqual(
    stretches.map(({ isIdle }) => isIdle),
    [false, true, false],
  )
  near(place(2 * second), 0.48)
  near(place(2 * second + night), 0.52)
  near(place(4 * second + night), 1)
})

test('a short pause is not compressed', () => {
  const work = [
    { start: 0, end: second },
    { start: 2 * second, end: 3 * second },
  ]
  assert.equal(createScale({ start: 0, end: 3 * second }, work).stretches.length, 1)
})

test('many gaps leave most of the width to the work', () => {
  const work = Array.from({ length: 50 }, (_, index) => ({ start: index * 100 * second, end: index * 100 * second + second }))
  const { stretches } = createScale({ start: 0, end: 49 * 100 * second + second }, work)
  const idle = stretches.filter(({ isIdle }) => isIdle).reduce((sum, { from, to }) => sum + to - from, 0)
  near(idle, 0.4)
})

test('a run in which nothing worked, and one without a duration, have a scale', () => {
  near(createScale({ start: 0, end: 60 * second }, []).place(30 * second), 0.5)
  assert.equal(createScale({ start: 5, end: 5 }, []).place(5), 0)
})

test('times outside are clamped', () => {
  const { place } = createScale({ start: 10, end: 20 }, [])
  assert.deepEqual([place(0), place(100)], [0, 1])
})
