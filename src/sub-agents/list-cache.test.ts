import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createListCache } from './list-cache.ts'

const ann = { tenant: 't', owner: 'ann' }

test('a list is read once, and again after a change', async () => {
  let reads = 0
  const cache = createListCache(async () => [++reads])
  assert.deepEqual([await cache.get(ann), await cache.get(ann), await cache.get({ ...ann, tenant: 'other' })], [[1], [1], [2]])
  cache.invalidate(ann)
  assert.deepEqual([await cache.get(ann), await cache.get({ ...ann, tenant: 'other' })], [[3], [2]])
})

test('a list read during a change is not cached', async () => {
  const reading = [Promise.withResolvers<number[]>(), Promise.withResolvers<number[]>()]
  let reads = 0
  const cache = createListCache(() => reading[reads++]!.promise)
  const first = cache.get(ann)
  cache.invalidate(ann)
  reading[0]!.resolve([1])
  reading[1]!.resolve([2])
  assert.deepEqual({ first: await first, get: await cache.get(ann) }, { first: [1], get: [2] })
})
