import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mix } from './rank.ts'

const ids = [1, 2, 3, 4]
const cosines = (values: Record<number, number>) => (id: number) => values[id]
const order = (hits: readonly { id: number }[]) => hits.map(({ id }) => id)

test('a passage with all words of the query comes before one that is only near', () => {
  const hits = mix(ids, { words: new Map([[1, 1]]), cosineOf: cosines({ 1: 0.5, 2: 0.6 }) }, 10)
  assert.deepEqual(order(hits), [1, 2])
})

test('a near passage comes before one with few words of the query', () => {
  const hits = mix(ids, { words: new Map([[1, 0.2]]), cosineOf: cosines({ 1: 0.1, 2: 0.6 }) }, 10)
  assert.deepEqual(order(hits), [2, 1])
})

test('passages without a word of the query are hits only if they are near, and not far behind the best', () => {
  assert.deepEqual(mix(ids, { words: new Map(), cosineOf: cosines({ 1: 0.15, 2: -0.5 }) }, 10), [])
  const hits = mix(ids, { words: new Map([[1, 0.5]]), cosineOf: cosines({ 1: 0.7, 2: 0.3, 3: 0.65 }) }, 10)
  assert.deepEqual(order(hits), [1, 3])
})

test('a passage without a vector is ranked by its words, and without a query vector so are all', () => {
  const words = new Map([
    [1, 1],
    [2, 0.5],
  ])
  const [first] = mix(ids, { words, cosineOf: cosines({ 2: 0.2 }) }, 10)
  assert.deepEqual(first, { id: 1, score: 0.5 })
  assert.deepEqual(mix(ids, { words }, 10), [
    { id: 1, score: 0.5 },
    { id: 2, score: 1 / 17 },
  ])
})

test('related words change the order of hits, and alone make none', () => {
  const words = new Map([
    [1, 0.3],
    [2, 0.3],
  ])
  const related = new Map([
    [2, 0.5],
    [3, 0.9],
  ])
  assert.deepEqual(order(mix(ids, { words, related }, 10)), [2, 1])
  assert.deepEqual(order(mix(ids, { words: new Map(), related, cosineOf: cosines({ 1: 0.55, 2: 0.5, 3: 0.15 }) }, 10)), [2, 1])
})

test('scores are between 0 and 1, the best come first, and equal scores are in the order of ids', () => {
  const words = new Map([
    [4, 2.2],
    [3, 2.2],
    [1, 0.1],
  ])
  const hits = mix(ids, { words, cosineOf: cosines({ 1: 1, 2: 1, 3: 1, 4: 1 }) }, 3)
  assert.deepEqual(order(hits), [3, 4, 1])
  assert.ok(hits.every(({ score }) => score > 0 && score <= 1))
})
