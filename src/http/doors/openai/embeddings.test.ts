import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Embedder } from '../../../agent/model.ts'
import { createEmbeddings } from './embeddings.ts'

const embedder: Embedder = { name: 'test', embed: async (texts) => texts.map(({ length }) => [length, -0.5, 1e21, 1e-7]) }
const { signal } = new AbortController()

test('an answer takes memory until it is read or abandoned', async () => {
  const embeddings = createEmbeddings(8)
  const ask = (...input: string[]) => embeddings.create(embedder, { model: 'm', input }, signal)
  const [first, second] = [await ask('a'), await ask('bc')]
  await assert.rejects(ask('d'), { code: 'overloaded' })
  assert.deepEqual(JSON.parse(await text(first)), {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1, -0.5, 1e21, 1e-7] }],
    model: 'm',
    usage: { prompt_tokens: 0, total_tokens: 0 },
  })
  const third = await ask('d')
  await assert.rejects(ask('e'), { code: 'overloaded' })
  second.destroy()
  third.destroy()
  await new Promise((resolve) => third.once('close', resolve))
  assert.equal(JSON.parse(await text(await ask('f', 'g'))).data.length, 2)
})

test('an answer that fails takes no memory', async () => {
  const embeddings = createEmbeddings(4 * 200)
  let calls = 0
  const failing: Embedder = {
    ...embedder,
    embed: async (texts, ...rest) => (calls++ % 2 === 0 ? embedder.embed(texts, ...rest) : Promise.reject(new Error('gone'))),
  }
  for (const _ of [1, 2, 3]) await assert.rejects(embeddings.create(failing, { model: 'm', input: Array(200).fill('a') }, signal), /gone/)
})
