import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Database } from '../../src/store/database.ts'
import { createNewId } from '../../src/service/new-id.ts'
import { createKnowledgeStore } from '../../src/store/documents/knowledge.ts'
import { createUploadStore } from '../../src/store/documents/uploads.ts'
import { hour, jobsOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('knowledge', registerKnowledgeContract)

const newId = createNewId()
const quotas = { ownerBytes: 100, tenantBytes: 1000 }

function registerKnowledgeContract(database: () => Database): void {
  function storeOf() {
    const [store, uploads, tenant] = [createKnowledgeStore(database()), createUploadStore(database()), randomUUID()]
    const scope = { kind: 'knowledge', tenant } as const
    const add = async (name = 'a.txt', options: { replaces?: boolean } = {}) => {
      const [owner, id] = ['agent-core ann', newId()]
      await uploads.reserve({ tenant, owner, id, isKnowledge: true, size: 5, now: hour, until: hour + 1000 }, quotas)
      const file = { name, type: 'text/plain', size: 5, sha256: `hash of ${name}`, createdAt: hour, expiresAt: undefined }
      await uploads.complete({ tenant, owner, id, purpose: 'knowledge', ...file }, options)
      return id
    }
    const remove = (id: string) => uploads.remove(scope, id, hour)
    return { store, tenant, add, remove }
  }

  test('a complete upload of a document waits to be indexed, with a job', async () => {
    const { store, tenant, add } = storeOf()
    const id = await add()
    assert.deepEqual(await store.statesOf(tenant, [id, randomUUID()]), new Map([[id, { state: 'waiting' }]]))
    assert.deepEqual(await store.changes(tenant), { revision: 0, removals: 0, unfinished: 1 })
    const jobs = (await jobsOf(database(), tenant)).filter(({ kind }) => kind === 'knowledge_document')
    assert.deepEqual(
      jobs.map(({ data }) => JSON.parse(data)),
      [{ id }],
    )
    assert.deepEqual(await store.statesOf(randomUUID(), [id]), new Map())
    assert.equal(await store.begin(randomUUID(), id), false)
  })

  test('ready documents are listed in the order in which they became ready, also for concurrent changes', async () => {
    const { store, tenant, add } = storeOf()
    const ids = await Promise.all(['a', 'b', 'c'].map((name) => add(name)))
    await Promise.all(ids.map((id) => store.begin(tenant, id)))
    assert.deepEqual((await store.statesOf(tenant, ids)).get(ids[0]!), { state: 'indexing' })
    await Promise.all(ids.map((id) => store.complete(tenant, id, { metadata: { title: 'Ä\u0000', level: 3 }, passages: 7 })))
    assert.deepEqual((await store.statesOf(tenant, ids)).get(ids[0]!), { state: 'ready', passages: 7 })
    const [first, ...others] = await store.readyAfter(tenant, 0, 10)
    assert.deepEqual([first?.revision, ...others.map(({ revision }) => revision)], [1, 2, 3])
    assert.equal(first?.metadata['level'], 3)
    assert.match(first?.version ?? '', /^hash of [abc]$/)
    assert.equal((await store.readyAfter(tenant, 1, 1)).length, 1)
    assert.deepEqual(await store.changes(tenant), { revision: 3, removals: 0, unfinished: 0 })
    assert.deepEqual(await store.ids(tenant), new Set(ids))
    assert.ok(((await store.counts()).get('ready') ?? 0) >= 3)
  })

  test('a document that is ready replaces earlier ones of its name, if it was added to do so', async () => {
    const { store, tenant, add } = storeOf()
    const [first, other, second] = [await add(), await add('b.txt'), await add()]
    const third = await add('a.txt', { replaces: true })
    const fourth = await add()
    assert.deepEqual(await store.replacedBy(tenant, third), [])
    for (const id of [second, third, fourth]) {
      await store.begin(tenant, id)
      await store.complete(tenant, id, { metadata: {}, passages: 0 })
    }
    assert.deepEqual(new Set(await store.replacedBy(tenant, third)), new Set([first, second]))
    for (const id of [first, other, fourth]) assert.deepEqual(await store.replacedBy(tenant, id), [])
    assert.deepEqual(await store.replacedBy(randomUUID(), third), [])
    assert.deepEqual([await store.countAfter(tenant, 0), await store.countAfter(tenant, 2)], [3, 1])
  })

  test('a document that failed has the reason, and is not begun again', async () => {
    const { store, tenant, add } = storeOf()
    const id = await add()
    assert.equal(await store.begin(tenant, id), true)
    await store.fail(tenant, id, 'It is\u0000 broken.')
    assert.deepEqual((await store.statesOf(tenant, [id])).get(id), { state: 'failed', error: 'It is\uFFFD broken.' })
    assert.equal(await store.begin(tenant, id), false)
    assert.equal(await store.complete(tenant, id, { metadata: {}, passages: 0 }), false)
    assert.deepEqual(await store.readyAfter(tenant, 0, 10), [])
  })

  test('a removed document is gone with its upload, and counted', async () => {
    const { store, tenant, add, remove } = storeOf()
    const [id, other] = [await add(), await add('b')]
    await store.begin(tenant, id)
    await remove(id)
    assert.equal(await store.complete(tenant, id, { metadata: {}, passages: 0 }), false)
    assert.deepEqual(await store.ids(tenant), new Set([other]))
    assert.equal((await store.changes(tenant)).removals, 1)
    await remove(randomUUID())
    assert.equal((await store.changes(tenant)).removals, 1)
  })
}
