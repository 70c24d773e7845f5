import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDocumentCache, readDocument } from './document-text.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'document-cache-'))
after(() => rm(folder, { recursive: true }))

async function createCounted(maxCharacters?: number) {
  const reads: string[] = []
  const cache = createDocumentCache(maxCharacters, (file) => {
    reads.push(path.basename(file))
    return readDocument(file)
  })
  return {
    reads,
    read: async (name: string) => (await cache.read(path.join(folder, name), { tenant: 'default', owner: 'agent-core ann' })).text,
  }
}

test('a document is parsed once until it changes, even for simultaneous reads', async () => {
  const { reads, read } = await createCounted()
  await writeFile(path.join(folder, 'a.txt'), 'one')
  assert.deepEqual(await Promise.all([read('a.txt'), read('a.txt')]), ['one', 'one'])
  assert.equal(await read('a.txt'), 'one')
  assert.deepEqual(reads, ['a.txt'])
  await writeFile(path.join(folder, 'a.txt'), 'changed')
  assert.equal(await read('a.txt'), 'changed')
  assert.deepEqual(reads, ['a.txt', 'a.txt'])
})

test('the least recently read document is evicted', async () => {
  const { reads, read } = await createCounted(25)
  for (const name of ['b.txt', 'c.txt', 'd.txt']) await writeFile(path.join(folder, name), 'x'.repeat(10))
  for (const name of ['b.txt', 'c.txt', 'b.txt', 'd.txt', 'b.txt', 'c.txt']) await read(name)
  assert.deepEqual(reads, ['b.txt', 'c.txt', 'd.txt', 'c.txt'])
})

test('a failure is not cached', async () => {
  const { reads, read } = await createCounted()
  await writeFile(path.join(folder, 'e.pdf'), 'broken')
  await assert.rejects(read('e.pdf'))
  await assert.rejects(read('e.pdf'))
  assert.equal(reads.length, 2)
})
