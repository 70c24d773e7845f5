import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryCache } from './memory-cache.ts'
import type { Memory } from './memory.ts'

const ann = { tenant: 't', owner: 'ann' }

function memory(content: string): Memory {
  return { id: content, kind: 'fact', origin: 'user', content, createdAt: 0, updatedAt: 0, vector: undefined }
}

/** A store of one caller that counts what it is asked. */
function counted() {
  const state = { version: 0, memories: [] as Memory[], asked: { version: 0, all: 0 }, now: 0 }
  const store = {
    async version() {
      state.asked.version++
      return state.version
    },
    async all() {
      state.asked.all++
      return { version: state.version, memories: state.memories }
    },
  }
  const cache = createMemoryCache(store, { now: () => state.now, freshMs: 1000, maxSize: 10_000 })
  const contents = async () => (await cache.get(ann))?.memories.map(({ content }) => content)
  return { state, cache, contents }
}

test('a caller without memories costs one small query per interval and no wait', async () => {
  const { state, cache, contents } = counted()
  assert.equal(await contents(), undefined)
  for (let chat = 0; chat < 100; chat++) assert.equal(cache.get(ann), undefined)
  assert.deepEqual(state.asked, { version: 1, all: 0 })
  state.now = 1001
  assert.equal(await contents(), undefined)
  assert.deepEqual(state.asked, { version: 2, all: 0 })
})

test('memories are read again after a change, and only then', async () => {
  const { state, contents } = counted()
  Object.assign(state, { version: 1, memories: [memory('one')] })
  for (let chat = 0; chat < 3; chat++) assert.deepEqual(await contents(), ['one'])
  assert.equal(state.asked.all, 1)
  Object.assign(state, { version: 2, memories: [] })
  assert.equal(await contents(), undefined)
  assert.equal(state.asked.all, 2)
})

test('memories of another process appear after a while, those of this process at once', async () => {
  const { state, cache, contents } = counted()
  await contents()
  Object.assign(state, { version: 1, memories: [memory('one')] })
  assert.equal(cache.get(ann), undefined)
  state.now = 1001
  assert.deepEqual(await contents(), ['one'])
  const other = counted()
  await other.contents()
  Object.assign(other.state, { version: 1, memories: [memory('two')] })
  other.cache.invalidate(ann)
  assert.deepEqual(await other.contents(), ['two'])
})

test('a result read before a change is not cached', async () => {
  const { state, cache, contents } = counted()
  const early = cache.get(ann)
  cache.invalidate(ann)
  Object.assign(state, { version: 1, memories: [memory('one')] })
  await early
  assert.deepEqual(await contents(), ['one'])
})

test('concurrent reads share one query, and the cache stays small', async () => {
  const { state, cache, contents } = counted()
  await Promise.all(Array.from({ length: 20 }, contents))
  assert.equal(state.asked.version, 1)
  for (let at = 0; at < 1000; at++) await cache.get({ tenant: 't', owner: `other ${at}` })
  const before = state.asked.version
  await contents()
  assert.equal(state.asked.version, before + 1)
})
