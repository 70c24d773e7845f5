import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Embedder } from '../agent/model.ts'
import { createMemoryCache } from './memory-cache.ts'
import type { Memory, MemoryKind, Origin } from './memory.ts'
import { createRecall, type RecallOptions } from './recall.ts'

const caller = { tenant: 't', owner: 'o' }

function memory(content: string, change: { kind?: MemoryKind; origin?: Origin; at?: number; vector?: number[] } = {}): Memory {
  const { kind = 'fact', origin = 'user', at = 0, vector } = change
  const values = vector && { model: 'e', values: Float32Array.from(vector) }
  return { id: content, kind, origin, content, createdAt: at, updatedAt: at, vector: values }
}

/** What is recalled of these memories, line by line. */
async function recalled(memories: Memory[], question: string, options: Partial<RecallOptions> = {}): Promise<string[]> {
  const faults: unknown[] = []
  const cache = createMemoryCache({ version: async () => 1, all: async () => ({ version: 1, memories }) }, { now: () => 0 })
  const recall = createRecall({ now: () => 0, onFault: (error) => faults.push(error) })
  const found = await recall(cache.get(caller)!, question, {
    limit: 8,
    embedder: undefined,
    signal: new AbortController().signal,
    ...options,
  })
  return (found?.text ?? '').split('\n').filter((line) => line.startsWith('- '))
}

const many = Array.from({ length: 30 }, (_, at) => memory(`Nothing of note ${at}.`, { at }))

test('preferences come first, then matches, then the latest statements', async () => {
  const memories = [memory('The user lives in Rome.'), ...many, memory('The user wants tables.', { kind: 'preference' })]
  assert.deepEqual(await recalled(memories, 'Where do I live?', { limit: 4 }), [
    '- Preference: The user wants tables.',
    '- The user lives in Rome.',
    '- Nothing of note 29.',
    '- Nothing of note 28.',
  ])
})

test('preferences leave room for matches', async () => {
  const preferences = Array.from({ length: 10 }, (_, at) => memory(`The user likes thing ${at}.`, { kind: 'preference', at }))
  const lines = await recalled([...preferences, memory('The user lives in Rome.')], 'Where do I live?', { limit: 4 })
  assert.deepEqual([lines.length, lines[2]], [4, '- The user lives in Rome.'])
})

test("memories of tools appear only when they match, under their own heading, and not among the user's statements", async () => {
  const memories = [memory('The user lives in Rome.'), memory('sales wants ISO dates.', { kind: 'lesson', origin: 'tool' })]
  assert.deepEqual(await recalled(memories, 'Where do I live?'), ['- The user lives in Rome.'])
  assert.deepEqual(await recalled(memories, 'sales by date'), ['- The user lives in Rome.', '- Lesson: sales wants ISO dates.'])
  assert.deepEqual(await recalled(memories, 'sales by date', { withoutTools: true }), ['- The user lives in Rome.'])
  const cache = createMemoryCache({ version: async () => 1, all: async () => ({ version: 1, memories }) }, { now: () => 0 })
  const recall = createRecall({ now: () => 0, onFault: assert.fail })
  const found = await recall(cache.get(caller)!, 'sales', { limit: 8, embedder: undefined, signal: new AbortController().signal })
  assert.deepEqual(found?.statements, ['The user lives in Rome.'])
})

test('the number and the characters of shown memories are limited', async () => {
  assert.equal((await recalled(many, 'note', { limit: 5 })).length, 5)
  assert.deepEqual(await recalled(many, 'note', { limit: 0 }), [])
  const long = Array.from({ length: 30 }, (_, at) => memory(`${'x'.repeat(390)} ${at}`))
  assert.ok((await recalled(long, 'x', { limit: 30 })).join('').length < 4500)
})

/** Two directions: cats, and all else. */
function embedder(change: Partial<Embedder> = {}): Embedder & { asked: string[] } {
  const asked: string[] = []
  return {
    name: 'e',
    asked,
    embed: async (texts) => {
      asked.push(...texts)
      return texts.map((text) => (text.includes('pet') ? [1, 0] : [0, 1]))
    },
    ...change,
  }
}

const cat = memory('The user keeps a tomcat.', { vector: [1, 0] })

test('search by meaning finds a memory without a word of the question', async () => {
  assert.ok(!(await recalled([cat, ...many], 'Which pet do I have?', { limit: 2 })).some((line) => line.includes('tomcat')))
  const lines = await recalled([cat, ...many], 'Which pet do I have?', { limit: 2, embedder: embedder() })
  assert.equal(lines[0], '- The user keeps a tomcat.')
})

test('no embedder is asked when all memories are shown anyway, or none has its vector', async () => {
  const one = embedder()
  await recalled([cat], 'pet', { embedder: one })
  await recalled(many, 'pet', { embedder: one, limit: 2 })
  await recalled([cat, ...many], 'pet', { embedder: { ...one, name: 'other' }, limit: 2 })
  assert.deepEqual(one.asked, [])
})

test('a failing or hanging embedder falls back to search by words', async () => {
  const failing = embedder({ embed: () => Promise.reject(new Error('down')) })
  const lines = await recalled([cat, ...many], 'tomcat', { limit: 2, embedder: failing })
  assert.equal(lines[0], '- The user keeps a tomcat.')
  const started = performance.now()
  const hanging = embedder({ embed: () => new Promise(() => {}) })
  assert.equal((await recalled([cat, ...many], 'tomcat', { limit: 2, embedder: hanging }))[0], '- The user keeps a tomcat.')
  assert.ok(performance.now() - started < 10_000)
})

test('a failed embedder is not asked for a while', async () => {
  const clock = { now: 0 }
  const cache = createMemoryCache({ version: async () => 1, all: async () => ({ version: 1, memories: [cat, ...many] }) }, { now: () => 0 })
  const recall = createRecall({ now: () => clock.now, onFault: () => undefined })
  let asked = 0
  const failing = embedder({
    embed: () => {
      asked++
      return Promise.reject(new Error('down'))
    },
  })
  for (const now of [0, 1, 29_999, 30_000]) {
    clock.now = now
    await recall(cache.get(caller)!, 'pet', { limit: 2, embedder: failing, signal: new AbortController().signal })
  }
  assert.equal(asked, 2)
})

test('a failing store fails no chat', async () => {
  const faults: unknown[] = []
  const cache = createMemoryCache(
    { version: () => Promise.reject(new Error('disk')), all: () => Promise.reject(new Error('disk')) },
    { now: () => 0 },
  )
  const recall = createRecall({ now: () => 0, onFault: (error) => faults.push(error) })
  assert.equal(await recall(cache.get(caller)!, 'x', { limit: 8, embedder: undefined, signal: new AbortController().signal }), undefined)
  assert.equal(faults.length, 1)
})
