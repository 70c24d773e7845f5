import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSearch } from './search.ts'

const handbook = {
  id: 'handbook',
  version: '1',
  title: 'Handbook',
  passages: [
    { heading: 'Leave', text: 'Everybody has 25 days of annual leave.', data: { page: 3 } },
    { heading: 'Travel', text: 'Trains before planes.' },
  ],
}

test('a hit names its document, position and data', async () => {
  const retriever = await createSearch().open('docs')
  await retriever.put(handbook)
  const [hit] = await retriever.search('days of leave', { limit: 1 })
  const { score, ...rest } = hit!
  assert.ok(score > 0)
  assert.deepEqual(rest, { document: 'handbook', position: 0, ...handbook.passages[0]! })
})

test('a document is replaced as a whole, and a removed document is never found', async () => {
  const retriever = await createSearch().open('docs')
  await retriever.put(handbook)
  await retriever.put({ ...handbook, version: '2', passages: [{ heading: 'Food', text: 'Lunch is free.' }] })
  assert.deepEqual([...retriever.versions()], [['handbook', '2']])
  assert.deepEqual(await retriever.search('trains', { limit: 5 }), [])
  assert.equal((await retriever.search('lunch', { limit: 5 })).length, 1)
  await retriever.remove(['handbook', 'unknown'])
  assert.deepEqual(await retriever.search('lunch', { limit: 5 }), [])
  assert.equal(retriever.versions().size, 0)
})

test('documents that are not visible influence neither hits nor scores', async () => {
  const [alone, shared] = [await createSearch().open('docs'), await createSearch().open('docs')]
  await alone.put(handbook)
  await shared.put(handbook)
  for (let number = 0; number < 20; number++) {
    await shared.put({ id: `secret${number}`, version: '1', passages: [{ heading: 'Leave', text: 'leave leave of absence' }] })
  }
  const isVisible = (id: string) => id === 'handbook'
  assert.deepEqual(await shared.search('annual leave', { limit: 5, isVisible }), await alone.search('annual leave', { limit: 5 }))
})
