import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { BudgetSpent } from '../agent/meter.ts'
import type { Embedder, ModelMeter } from '../agent/model.ts'
import type { Retriever } from './retriever.ts'
import { createSearch, type SearchOptions } from './search.ts'
import { createVectorMemory, type VectorStore } from './vectors.ts'

const topics = ['holiday vacation leave', 'bicycle bike', 'parking car']

/** An encoder whose vectors name the topics of a text. */
function topicEncoder(name = 'topics'): Embedder & { texts: string[] } {
  const texts: string[] = []
  return {
    name,
    texts,
    knows: (text) => !text.includes('und'),
    async embed(batch) {
      texts.push(...batch)
      return batch.map((text) => topics.map((topic) => (topic.split(' ').some((word) => text.toLowerCase().includes(word)) ? 1 : 0.01)))
    },
  }
}

function createStore(): VectorStore & { vectors: Map<string, Int8Array> } {
  const vectors = new Map<string, Int8Array>()
  return {
    ...createVectorMemory(),
    vectors,
    find: async (encoder, hashes) =>
      new Map(
        hashes.flatMap((hash) => {
          const vector = vectors.get(`${encoder} ${hash}`)
          return vector ? [[hash, vector] as const] : []
        }),
      ),
    add: async (encoder, added) => added.forEach((vector, hash) => vectors.set(`${encoder} ${hash}`, vector)),
    remove: async (hashes) => {
      for (const key of vectors.keys()) if (hashes.some((hash) => key.endsWith(` ${hash}`))) vectors.delete(key)
    },
  }
}

async function openWith(t: TestContext, options: SearchOptions): Promise<Retriever> {
  const search = createSearch(options)
  t.after(() => search.close())
  const retriever = await search.open('docs')
  await retriever.put({ id: 'leave', version: '1', passages: [{ heading: 'Leave', text: 'Everybody has 25 days of annual leave.' }] })
  await retriever.put({ id: 'bikes', version: '1', passages: [{ heading: 'Bicycles', text: 'Bicycles stand in the yard.' }] })
  return retriever
}

async function isReady(retriever: Retriever): Promise<void> {
  retriever.prepare()
  while (retriever.progress().state !== 'ready') await new Promise((resolve) => setTimeout(resolve, 2))
}

const idsOf = async (retriever: Retriever, query: string) => (await retriever.search(query, { limit: 5 })).map(({ document }) => document)

test('passages are found by their meaning, once they have vectors', async (t) => {
  const encoder = topicEncoder()
  const retriever = await openWith(t, { encoder: () => encoder })
  assert.deepEqual(retriever.progress(), { name: 'docs', documents: 2, passages: 2, embedded: 0, encoder: 'topics', state: 'waiting' })
  assert.deepEqual(encoder.texts, [], 'nothing is encoded before the first search')
  assert.deepEqual(await idsOf(retriever, 'vacation'), [])
  await isReady(retriever)
  assert.deepEqual(await idsOf(retriever, 'vacation'), ['leave'])
  assert.deepEqual(await idsOf(retriever, 'annual leave'), ['leave'])
  await retriever.put({ id: 'cars', version: '1', passages: [{ heading: 'Cars', text: 'Cars stand on level 2.' }] })
  await isReady(retriever)
  assert.deepEqual(await idsOf(retriever, 'where is the parking'), ['cars'])
})

test('a text is encoded once, and its vector goes with the text', async (t) => {
  const [store, encoder] = [createStore(), topicEncoder()]
  const first = await openWith(t, { encoder: () => encoder, store })
  await isReady(first)
  assert.equal(store.vectors.size, 2)
  const second = await openWith(t, { encoder: () => encoder, store })
  assert.deepEqual(await idsOf(second, 'vacation'), ['leave'], 'stored vectors serve the first search')
  assert.deepEqual(encoder.texts.filter((text) => text !== 'vacation').length, 2)
  await second.remove(['leave'])
  assert.equal(store.vectors.size, 1)
})

test('a new encoder gives all passages new vectors', async (t) => {
  let encoder = topicEncoder('first')
  const retriever = await openWith(t, { encoder: () => encoder })
  await isReady(retriever)
  encoder = topicEncoder('second')
  assert.notEqual(retriever.progress().state, 'ready')
  await isReady(retriever)
  assert.deepEqual([...encoder.texts].sort(), ['Bicycles. Bicycles stand in the yard.', 'Leave. Everybody has 25 days of annual leave.'])
  assert.deepEqual(await idsOf(retriever, 'bike'), ['bikes'])
})

test('texts and queries in other languages are searched by their words', async (t) => {
  const encoder = topicEncoder()
  const retriever = await openWith(t, { encoder: () => encoder })
  await retriever.put({ id: 'german', version: '1', passages: [{ heading: 'Urlaub', text: 'Jeder hat Urlaub und holiday' }] })
  await isReady(retriever)
  assert.ok(!encoder.texts.some((text) => text.includes('Urlaub')))
  assert.deepEqual(await idsOf(retriever, 'Urlaub und vacation'), ['german'])
  assert.deepEqual(await idsOf(retriever, 'vacation'), ['leave'])
})

test('a search does not wait for a slow or broken encoder', async (t) => {
  const working = topicEncoder()
  let encoder: Embedder = working
  const faults: unknown[] = []
  const retriever = await openWith(t, { encoder: () => encoder, queryMs: 20, onFault: (error) => faults.push(error) })
  await isReady(retriever)
  encoder = { ...working, embed: () => new Promise(() => {}) }
  const startedAt = performance.now()
  assert.deepEqual(await idsOf(retriever, 'annual leave'), ['leave'])
  assert.ok(performance.now() - startedAt < 1000)
  encoder = { ...working, embed: () => Promise.reject(new Error('broken')) }
  assert.deepEqual(await idsOf(retriever, 'annual leave, please'), ['leave'])
  assert.match(String(faults), /broken/)
})

test('while vectors of passages are being made, a search waits only briefly for its own', async (t) => {
  const working = topicEncoder()
  let encoder: Embedder = working
  const retriever = await openWith(t, { encoder: () => encoder, queryMs: 10_000 })
  await isReady(retriever)
  encoder = { ...working, embed: () => new Promise(() => {}) }
  await retriever.put({ id: 'cars', version: '1', passages: [{ heading: 'Parking', text: 'Cars stand behind the house.' }] })
  const startedAt = performance.now()
  assert.deepEqual(await idsOf(retriever, 'annual leave'), ['leave'])
  assert.ok(performance.now() - startedAt < 3000)
})

test('an encoder that fails while passages are indexed is reported, and words are searched', async (t) => {
  const encoder: Embedder = { ...topicEncoder(), embed: () => Promise.reject(new Error('no memory')) }
  const retriever = await openWith(t, { encoder: () => encoder })
  retriever.prepare()
  while (retriever.progress().state !== 'failed') await new Promise((resolve) => setTimeout(resolve, 2))
  assert.equal(retriever.progress().reason, 'no memory')
  assert.deepEqual(await idsOf(retriever, 'annual leave'), ['leave'])
})

test('another process encodes: its vectors are taken over', async (t) => {
  const [store, encoder] = [createStore(), topicEncoder()]
  let isClaimed = true
  const other = { ...store, claim: async () => !isClaimed }
  const retriever = await openWith(t, { encoder: () => encoder, store: other, pollMs: 5 })
  retriever.prepare()
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal(retriever.progress().state, 'indexing')
  assert.deepEqual(encoder.texts, [])
  isClaimed = false
  await isReady(retriever)
  assert.equal(store.vectors.size, 2)
})

test('hidden documents influence neither hits nor scores by meaning', async (t) => {
  const encoder = topicEncoder()
  const [alone, shared] = [await openWith(t, { encoder: () => encoder }), await openWith(t, { encoder: () => encoder })]
  for (let number = 0; number < 20; number++) {
    await shared.put({ id: `secret${number}`, version: '1', passages: [{ heading: 'Leave', text: 'vacation in secret' }] })
  }
  await Promise.all([isReady(alone), isReady(shared)])
  const isVisible = (id: string) => !id.startsWith('secret')
  assert.deepEqual(await shared.search('vacation', { limit: 5, isVisible }), await alone.search('vacation', { limit: 5 }))
})

test('one name is one index, which closes with its last user', async () => {
  const search = createSearch()
  const [first, second] = await Promise.all([search.open('docs'), search.open('docs')])
  await first.put({ id: 'a', version: '1', passages: [{ heading: '', text: 'tea' }] })
  await first.close()
  await first.close()
  assert.deepEqual(await idsOf(second, 'tea'), ['a'])
  await second.close()
  assert.deepEqual(search.progress(), [])
  await search.close()
})

test('a search waits neither for the passages of another index nor for a slow store', async (t) => {
  let isEncoding = false
  const slow: Embedder = { ...topicEncoder(), embed: () => ((isEncoding = true), new Promise(() => {})) }
  const store = createStore()
  const search = createSearch({ encoder: () => slow, store, queryMs: 50 })
  t.after(() => search.close())
  const passages = [{ heading: 'Leave', text: 'Everybody has 25 days of annual leave.' }]
  const [first, second] = [await search.open('first'), await search.open('second')]
  for (const retriever of [first, second]) await retriever.put({ id: 'leave', version: '1', passages })
  first.prepare()
  while (!isEncoding) await new Promise((resolve) => setTimeout(resolve, 1))
  const startedAt = performance.now()
  assert.deepEqual(await idsOf(second, 'annual leave'), ['leave'])
  store.find = () => new Promise(() => {})
  const third = await search.open('third')
  await third.put({ id: 'leave', version: '1', passages })
  assert.deepEqual(await idsOf(third, 'annual leave'), ['leave'])
  assert.ok(performance.now() - startedAt < 2000)
})

test('where no budget pays for vectors, words alone are searched and the progress says why; other tenants are not held up', async (t) => {
  const refusal = { budget: 'b', onExceeded: 'stop' as const, needed: {}, resetsAt: undefined, details: {} }
  const poor = { holdTexts: () => Promise.reject(new BudgetSpent('Budget b is used up.', refusal)) }
  const rich = { holdTexts: async () => ({ end: () => undefined }) }
  const metersOf: Record<string, object> = { poor, rich }
  const inner = topicEncoder()
  const encoder: Embedder = {
    ...inner,
    async embed(texts, signal, options) {
      await options?.meter?.holdTexts({ name: 'e' }, texts)
      return inner.embed(texts, signal)
    },
  }
  const faults: unknown[] = []
  const meterOf = (tenant: string | undefined) => metersOf[tenant ?? ''] as ModelMeter | undefined
  const search = createSearch({ encoder: () => encoder, meterOf, onFault: (error) => faults.push(error) })
  t.after(() => search.close())
  const [first, second, own] = [
    await search.open('a', { tenant: 'poor' }),
    await search.open('b', { tenant: 'rich' }),
    await search.open('c'),
  ]
  for (const retriever of [first, second, own])
    await retriever.put({ id: 'leave', version: '1', passages: [{ heading: 'Leave', text: 'Everybody has 25 days of annual leave.' }] })
  assert.deepEqual(await idsOf(first, 'annual leave'), ['leave'])
  while (first.progress().state !== 'failed') await new Promise((resolve) => setTimeout(resolve, 2))
  const startedAt = performance.now()
  await isReady(second)
  await isReady(own)
  assert.ok(performance.now() - startedAt < 15_000, 'a tier that waits for its next attempt holds up no other')
  assert.equal(first.progress().reason, 'Budget b is used up.')
  // The meter of the run pays for the query, in place of the tenant's; a run without money does not keep the encoder from others.
  const found = await second.search('a vacation', { limit: 5, meter: poor as unknown as ModelMeter })
  assert.deepEqual(found, [])
  assert.deepEqual(await idsOf(second, 'vacation'), ['leave'])
  assert.equal(faults.length, 1)
})
