import assert from 'node:assert/strict'
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { test } from 'node:test'
import type { Database } from '../../src/store/database.ts'
import { createRetentionStore } from '../../src/store/sessions/retention.ts'
import { createUploadStore, existingUploads } from '../../src/store/documents/uploads.ts'
import type { Reservation, Upload, UploadScope } from '../../src/uploads/upload-store.ts'
import { hour, jobsOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('uploads', registerUploadContract)

const quotas = { ownerBytes: 100, tenantBytes: 250 }
const page = { limit: 10, order: 'newest_first', after: undefined } as const

function registerUploadContract(database: () => Database): void {
  /** The store, and what a tenant that no other test has does with it. */
  function storeOf() {
    const store = createUploadStore(database())
    const tenant = randomUUID()
    const ann: UploadScope & { kind: 'own' } = { kind: 'own', tenant, owner: 'agent-core ann' }
    const documents: UploadScope = { kind: 'knowledge', tenant }
    // Ids of one millisecond are in no order.
    const prefix = randomUUIDv7().slice(0, -4)
    let count = 0
    const newId = () => `${prefix}${String(count++).padStart(4, '0')}`
    const reservationOf = (change: Partial<Reservation> = {}): Reservation => {
      return { ...ann, id: newId(), isKnowledge: false, size: 10, now: hour, until: hour + 1000, ...change }
    }
    const add = async (change: Partial<Upload> = {}) => {
      const purpose = change.purpose ?? 'user_data'
      const reservation = reservationOf({ isKnowledge: purpose === 'knowledge', ...(change.owner ? { owner: change.owner } : {}) })
      await store.reserve(reservation, quotas)
      const upload: Upload = {
        ...{ tenant, owner: reservation.owner, id: reservation.id, purpose, name: 'a.txt', type: 'text/plain', size: 5 },
        ...{ sha256: 'ab', createdAt: hour, expiresAt: undefined },
        ...change,
      }
      assert.equal(await store.complete(upload), true)
      return upload
    }
    return { store, tenant, ann, documents, reservationOf, add }
  }

  test('a completed upload is found by its owner alone, and documents by the tenant alone', async () => {
    const { store, tenant, ann, documents, add } = storeOf()
    const own = await add({ name: 'Ä\u0000.txt', expiresAt: hour + 5 })
    const document = await add({ purpose: 'knowledge' })
    assert.deepEqual(await store.find(ann, own.id, hour), { ...own, name: 'Ä\uFFFD.txt' })
    assert.deepEqual(await store.find(documents, document.id, hour), document)
    assert.equal(await store.find(ann, document.id, hour), undefined)
    assert.equal(await store.find(documents, own.id, hour), undefined)
    for (const other of [
      { ...ann, owner: 'agent-core bob' },
      { ...ann, tenant: randomUUID() },
    ]) {
      assert.equal(await store.find(other, own.id, hour), undefined)
      assert.deepEqual(await store.list(other, page, hour), [])
      assert.equal(await store.remove(other, own.id, hour), false)
    }
    assert.equal(await store.find({ ...documents, tenant: randomUUID() }, document.id, hour), undefined)
    assert.deepEqual(await existingUploads(database(), [own.id, tenant]), new Set([own.id]))
  })

  test('an upload that is arriving, or has expired, is not found', async () => {
    const { store, ann, reservationOf, add } = storeOf()
    const arriving = reservationOf()
    await store.reserve(arriving, quotas)
    assert.equal(await store.find(ann, arriving.id, hour), undefined)
    const short = await add({ expiresAt: hour + 5 })
    assert.ok(await store.find(ann, short.id, hour + 4))
    assert.equal(await store.find(ann, short.id, hour + 5), undefined)
    assert.deepEqual(await store.list(ann, page, hour + 5), [])
    assert.equal(await store.remove(ann, short.id, hour + 5), false)
    await store.cancel(arriving)
    assert.equal(await store.complete({ ...short, id: arriving.id }), false)
  })

  test('pages go either way, narrowed to a purpose', async () => {
    const { store, ann, add } = storeOf()
    const ids: string[] = []
    for (const purpose of ['vision', 'user_data', 'user_data', 'vision', 'user_data']) ids.push((await add({ purpose })).id)
    await add({ purpose: 'knowledge' })
    await add({ owner: 'agent-core bob' })
    const listed = async (change: object) => (await store.list(ann, { ...page, ...change }, hour)).map(({ id }) => ids.indexOf(id))
    assert.deepEqual(await listed({}), [4, 3, 2, 1, 0])
    assert.deepEqual(await listed({ limit: 2, after: ids[4] }), [3, 2])
    assert.deepEqual(await listed({ order: 'oldest_first', limit: 2, after: ids[1] }), [2, 3])
    assert.deepEqual(await listed({ purpose: 'user_data' }), [4, 2, 1])
  })

  test('quotas of owner and tenant count stored and arriving bytes, also of concurrent uploads', async () => {
    const { store, reservationOf } = storeOf()
    const grants = await Promise.all(Array.from({ length: 8 }, () => store.reserve(reservationOf({ size: 30 }), quotas)))
    assert.deepEqual(
      grants.map(({ bytes }) => bytes).toSorted((a, b) => a - b),
      [0, 0, 0, 0, 10, 30, 30, 30],
    )
    assert.equal(grants.find(({ bytes }) => bytes === 10)?.limitedBy, 'ownerBytes')
    const bob = { owner: 'agent-core bob' }
    assert.deepEqual(await store.reserve(reservationOf({ ...bob, size: 90 }), quotas), { bytes: 90, limitedBy: undefined })
    assert.deepEqual(await store.reserve(reservationOf({ isKnowledge: true, size: 90 }), quotas), { bytes: 60, limitedBy: 'tenantBytes' })
    assert.deepEqual(await store.reserve(reservationOf({ ...bob, size: 90 }), quotas), { bytes: 0, limitedBy: 'tenantBytes' })
    const other = storeOf()
    await other.add({ purpose: 'knowledge', size: 200 })
    await other.add({ size: 40 })
    assert.deepEqual(await other.store.reserve(other.reservationOf({ size: 90 }), quotas), { bytes: 10, limitedBy: 'tenantBytes' })
  })

  test('removed, expired and broken uploads leave a job for their bytes, and free their quota', async () => {
    const { store, tenant, ann, documents, reservationOf, add } = storeOf()
    const idsOfJobs = async () => {
      const jobs = (await jobsOf(database(), tenant)).filter(({ kind }) => kind === 'upload_deleted')
      return jobs.map(({ data }) => (JSON.parse(data) as { id: string }).id).toSorted()
    }
    const [own, document, short] = [await add(), await add({ purpose: 'knowledge' }), await add({ expiresAt: hour + 5 })]
    const broken = reservationOf({ size: 70 })
    await store.reserve(broken, quotas)
    assert.equal(await store.remove(ann, own.id, hour), true)
    assert.equal(await store.remove(ann, own.id, hour), false)
    assert.equal(await store.remove(documents, document.id, hour), true)
    assert.deepEqual(await idsOfJobs(), [own.id, document.id].toSorted())
    assert.deepEqual(await store.reserve(reservationOf({ size: 100, now: hour + 1000, until: hour + 1000 }), quotas), {
      bytes: 100,
      limitedBy: undefined,
    })
    while ((await store.removeExpired(hour + 1000, 1)) > 0);
    const expired = await idsOfJobs()
    for (const { id } of [own, document, short, broken]) assert.ok(expired.includes(id))
    assert.deepEqual(await store.reserve(reservationOf({ size: 100 }), quotas), { bytes: 100, limitedBy: undefined })
  })

  test('retention removes old uploads, and keeps documents', async () => {
    const { store, tenant, ann, documents, add } = storeOf()
    const retention = createRetentionStore(database())
    const [old, young, document] = [await add(), await add({ createdAt: hour + 100 }), await add({ purpose: 'knowledge' })]
    const tenants: string[] = []
    for await (const name of retention.tenants('uploads', hour + 50)) tenants.push(name)
    assert.ok(tenants.includes(tenant))
    assert.equal(await retention.count('uploads', tenant, hour + 50, 0), 1)
    assert.equal(await retention.remove('uploads', tenant, hour + 50, { limit: 10, now: hour + 200 }), 1)
    assert.equal(await store.find(ann, old.id, hour), undefined)
    assert.ok(await store.find(ann, young.id, hour))
    assert.ok(await store.find(documents, document.id, hour))
  })
}
