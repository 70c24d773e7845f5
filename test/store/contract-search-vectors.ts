import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { Database } from '../../src/store/database.ts'
import { createVectorStore } from '../../src/store/documents/search-vectors.ts'
import { storeContract } from './suites.ts'

storeContract('vectors for search', registerVectorContract)

const vector = (seed: number) => Int8Array.from({ length: 512 }, (_, index) => ((index * seed) % 255) - 127)

function registerVectorContract(database: () => Database): void {
  afterEach(async () => {
    for (const table of ['search_vectors', 'search_leases']) {
      await database().all.unit((connection) => connection.execute(`delete from ${table}`, []).then(() => undefined))
    }
  })

  test('vectors are found by encoder and hash, and removed by hash', async () => {
    const store = createVectorStore(database(), 'a')
    const many = new Map(Array.from({ length: 250 }, (_, index) => [`hash${index}`, vector(index)]))
    await store.add('small', many)
    await store.add('small', new Map([['hash1', vector(99)]]))
    await store.add('large', new Map([['hash1', vector(7)]]))
    const hashes = [...many.keys(), 'unknown']
    assert.deepEqual(await store.find('small', hashes), many)
    assert.deepEqual(await store.find('large', hashes), new Map([['hash1', vector(7)]]))
    await store.remove(['hash1', 'unknown'])
    assert.deepEqual([...(await store.find('large', hashes)).keys()], [])
    assert.equal((await store.find('small', hashes)).size, 249)
    assert.deepEqual(await store.find('small', []), new Map())
  })

  test('vectors that nobody has read for 90 days are removed', async () => {
    const store = createVectorStore(database(), 'a')
    await store.add('small', new Map(['read', 'unread'].map((hash) => [hash, vector(3)])))
    const aged = `update search_vectors set used_at = used_at - ${91 * 86_400_000}`
    await database().all.unit((connection) => connection.execute(aged, []).then(() => undefined))
    assert.equal((await store.find('small', ['read'])).size, 1)
    await store.removeUnused()
    assert.deepEqual([...(await store.find('small', ['read', 'unread'])).keys()], ['read'])
  })

  test('of the processes that share a database, one at a time may encode', async () => {
    const { isShared } = database()
    const [store, other] = [createVectorStore(database(), 'a'), createVectorStore(database(), 'b')]
    assert.equal(await store.claim('small', 60_000), true)
    assert.equal(await store.claim('small', 60_000), true)
    assert.equal(await other.claim('small', 60_000), !isShared)
    assert.equal(await other.claim('large', 60_000), true)
    await other.release('small')
    assert.equal(await other.claim('small', 60_000), !isShared)
    await store.release('small')
    assert.equal(await other.claim('small', -1), true)
    assert.equal(await store.claim('small', 60_000), true, 'the lease of a lost process ends')
  })
}
