import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { MemoryTier } from '../../src/search/memory-tier.ts'
import type { SearchDocument, Tier } from '../../src/search/retriever.ts'
import { createSearch } from '../../src/search/search.ts'
import { toByteVector } from '../../src/search/vectors.ts'
import { createDiskProcess, openDiskTier, type DiskProcess } from '../../src/search/disk/disk-tier.ts'

let folder: string
let disk: DiskProcess
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'disk-tier-'))
  disk = createDiskProcess()
})
after(async () => {
  await disk.close()
  await rm(folder, { recursive: true })
})

const words = 'leave holiday travel train hotel bicycle parking invoice salary badge visitor kitchen policy policies traveller'.split(' ')
const at = (seed: number) => words[(seed * 7919) % words.length]!

/** Documents whose passages have words and vectors that follow from their number. */
function documentOf(number: number, version = '1'): SearchDocument {
  const passages = Array.from({ length: 3 }, (_, position) => {
    const seed = number * 3 + position
    return { heading: at(seed), text: `${at(seed + 1)} ${at(seed * 5 + 2)} text${seed} ${version}`, data: { page: position } }
  })
  return { id: `doc${number}`, version, title: at(number), passages }
}

const vectorOf = (text: string) => toByteVector(words.map((word) => (text.includes(word) ? 1 : 0.05)))

async function embedAll(tier: Tier): Promise<void> {
  for (;;) {
    const missing = await tier.missing('test', 7)
    if (missing.length === 0) return
    await tier.setVectors('test', new Map(missing.map(({ hash, text }) => [hash, text.includes('hotel') ? null : vectorOf(text).values])))
  }
}

test('an index on disk answers like an index in memory, also after its process has ended', async () => {
  const [memory, tier] = [new MemoryTier(), await openDiskTier(path.join(folder, 'same.db'), disk)]
  for (const each of [memory, tier]) {
    for (let number = 0; number < 40; number++) await each.put(documentOf(number))
    await each.remove(['doc3', 'doc4', 'unknown'])
    await each.put(documentOf(7, '2'))
    await embedAll(each)
    await each.put(documentOf(41))
  }
  const ended = createDiskProcess()
  const again = await openDiskTier(path.join(folder, 'same.db'), ended)
  assert.deepEqual(again.counts('test'), memory.counts('test'))
  assert.deepEqual(new Map(again.versions()), new Map(memory.versions()))
  const queries = ['holiday policy', 'travel', 'bicycle parking in the kitchen', 'unknown', 'text21']
  const visibilities = [undefined, (id: string) => Number(id.slice(3)) % 3 === 0, () => false]
  for (const query of queries) {
    for (const isVisible of visibilities) {
      for (const vector of [undefined, { encoder: 'test', ...vectorOf(query) }, { encoder: 'other', ...vectorOf(query) }]) {
        const options = { limit: 200, vector, ...(isVisible && { isVisible }) }
        const byId = (hits: Awaited<ReturnType<Tier['search']>>) =>
          hits
            .map((hit) => ({ ...hit, score: hit.score.toFixed(6) }))
            .toSorted((a, b) => b.score.localeCompare(a.score) || a.document.localeCompare(b.document) || a.position - b.position)
        const expected = byId(await memory.search(query, options))
        assert.deepEqual(byId(await tier.search(query, options)), expected, query)
        assert.deepEqual(byId(await again.search(query, options)), expected, query)
      }
    }
  }
  await ended.close()
})

test('thousands of passages, added and removed in groups, are found as in memory', async () => {
  const [memory, tier] = [new MemoryTier(), await openDiskTier(path.join(folder, 'many.db'), disk)]
  for (const each of [memory, tier]) {
    for (let first = 0; first < 1000; first += 100) {
      await each.put(...Array.from({ length: 100 }, (_, index) => documentOf(first + index)))
    }
    await each.remove(Array.from({ length: 300 }, (_, index) => `doc${index * 3}`))
    // Ids of removed passages are used again, in every block.
    await each.put(...Array.from({ length: 200 }, (_, index) => documentOf(index * 4, '2')))
  }
  assert.deepEqual(tier.counts(undefined), memory.counts(undefined))
  for (const query of ['holiday policy', 'text1500 hotel', 'text2999', 'kitchen 2']) {
    const byId = async (each: Tier) =>
      (await each.search(query, { limit: 4000 })).map((hit) => `${hit.document} ${hit.position} ${hit.score.toFixed(9)}`).toSorted()
    const expected = await byId(memory)
    assert.ok(expected.length > 0, query)
    assert.deepEqual(await byId(tier), expected, query)
  }
})

test('hashes of texts that no document has any longer are reported', async () => {
  for (const tier of [new MemoryTier(), await openDiskTier(path.join(folder, 'hashes.db'), disk)]) {
    await tier.put(documentOf(1))
    const [kept, ...replaced] = (await tier.missing('test', 10)).map(({ hash }) => hash)
    const [first] = documentOf(1).passages
    assert.deepEqual((await tier.put({ ...documentOf(1), version: '2', passages: [first!] })).sort(), replaced.sort())
    assert.deepEqual(await tier.remove(['doc1']), [kept])
  }
})

test('a damaged index is made anew', async () => {
  const file = path.join(folder, 'damaged.db')
  await writeFile(file, 'no database '.repeat(500))
  const tier = await openDiskTier(file, disk)
  assert.equal(tier.versions().size, 0)
  await tier.put(documentOf(1))
  assert.equal((await tier.search('text4', { limit: 5 })).length, 1)
})

test('passages move to disk when they become many, and are there after a restart', async (t) => {
  const options = { folder: path.join(folder, 'moving'), maxInMemory: 20 }
  const open = async () => {
    const search = createSearch(options)
    t.after(() => search.close())
    return { search, retriever: await search.open('docs') }
  }
  const { search, retriever } = await open()
  await Promise.all(Array.from({ length: 12 }, (_, number) => retriever.put(documentOf(number))))
  assert.equal((await readdir(path.join(options.folder, 'search'))).filter((name) => name.endsWith('.db')).length, 1)
  assert.equal(retriever.progress().passages, 36)
  assert.equal((await retriever.search('text5', { limit: 5 }))[0]?.document, 'doc1')
  await search.close()
  const { retriever: restarted } = await open()
  assert.equal(restarted.versions().size, 12)
  await restarted.remove(['doc1'])
  assert.equal((await restarted.search('text5', { limit: 5 })).length, 0)
})
