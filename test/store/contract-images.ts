import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Image, ToolImage } from '../../src/agent/messages.ts'
import { FenceLost, type NewRun } from '../../src/runs/run-store.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import type { Database } from '../../src/store/database.ts'
import { ai, endOf, hour, human, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('images', registerImageContract)

const owner = 'agent-core ann'

const images: Image[] = [
  { mediaType: 'image/png', data: 'AAAA' },
  { mediaType: 'image/jpeg', data: 'BBBB'.repeat(300_000) },
  { mediaType: 'image/png', data: 'CCCC' },
]

/** The images of human messages, on every database. */
function registerImageContract(database: () => Database): void {
  const setUp = () => {
    const { newRun, ...rest } = storeOf(database())
    const named = images.map((_, at) => ({ name: `${at}.png`, mediaType: 'image/png' }))
    const pictured = (change: Partial<NewRun> = {}) => {
      const run = newRun(change)
      return { ...run, request: { ...run.request, images: named }, images }
    }
    return { ...rest, newRun, pictured }
  }

  test('images are stored in order with their run, for their session and tenant only', async () => {
    const { store, tenant, pictured, newRun } = setUp()
    const first = pictured()
    const turn = await running(store, first)
    await store.finish(first, 1, endOf(turn))
    const second = { ...newRun(), images: images.slice(0, 1) }
    await running(store, second)
    const found = await store.images(tenant, turn.session, [first.requestId, second.requestId, 'unknown'])
    assert.deepEqual(Object.fromEntries(found), { [first.requestId]: images, [second.requestId]: images.slice(0, 1) })
    assert.deepEqual([...(await store.images(tenant, turn.session, [first.requestId])).keys()], [first.requestId])
    assert.equal((await store.images('other', turn.session, [first.requestId])).size, 0)
    assert.equal((await store.images(tenant, 'other', [first.requestId])).size, 0)
  })

  test('a waiting run has its images when it starts, also in another process', async () => {
    const { store, tenant, start, pictured } = setUp()
    const first = await start()
    const second = pictured({ messages: [human('second')] })
    assert.equal((await store.begin(second)).kind, 'waiting')
    const from = { fence: 1, status: 'pending' as const }
    await store.takeOver(second, from, { holder: 'process-2', queueOrder: second.queueOrder, now: hour, messages: second.messages })
    await store.finish(first.run, 1, endOf(first.turn))
    const turn = await store.takeTurn({ ...second, fence: 2 }, second.messages, hour)
    assert.deepEqual((await store.images(tenant, turn!.session, [second.requestId])).get(second.requestId), images)
  })

  test('a request that left the queue leaves no images, and may be sent again with images', async () => {
    const { store, tenant, start, pictured } = setUp()
    const { turn } = await start()
    const waiting = pictured()
    assert.equal((await store.begin(waiting)).kind, 'waiting')
    await store.leaveQueue(waiting, hour)
    assert.equal((await store.images(tenant, turn.session, [waiting.requestId])).size, 0)
    assert.equal((await store.begin(waiting)).kind, 'waiting')
    assert.equal((await store.images(tenant, turn.session, [waiting.requestId])).get(waiting.requestId)?.length, 3)
  })

  test('a known request id stores no images', async () => {
    const { store, tenant, start, pictured } = setUp()
    const { run, turn } = await start()
    assert.equal((await store.begin(pictured({ requestId: run.requestId }))).kind, 'known')
    assert.equal((await store.images(tenant, turn.session, [run.requestId])).size, 0)
  })

  const picture = (requestId: string, n: number, data: string): ToolImage => ({
    mediaType: 'image/png',
    data,
    name: `${n}.png`,
    requestId,
    n,
  })
  const bytesOf = async ({ store, tenant }: ReturnType<typeof setUp>, session: string, images: readonly ToolImage[]) =>
    Object.fromEntries(await store.mediaBytes(tenant, session, images))

  test('images of results are stored beside those of the question, and a number can be reused', async () => {
    const own = setUp()
    const { store, tenant, pictured } = own
    const run = pictured()
    const turn = await running(store, run)
    const { requestId } = run
    const first = picture(requestId, 100, 'AAAA')
    const second = picture(requestId, 101, 'BBBB'.repeat(300_000))
    await store.keepResultImages(run, 1, turn.session, [first, second])
    await store.keepResultImages(run, 1, turn.session, [{ ...first, data: 'CCCC' }])
    assert.deepEqual(await bytesOf(own, turn.session, [first, second, picture('unknown', 100, '')]), {
      [`${requestId} 100`]: 'CCCC',
      [`${requestId} 101`]: second.data,
    })
    assert.deepEqual((await store.images(tenant, turn.session, [requestId])).get(requestId), images)
    assert.equal((await store.mediaBytes('other', turn.session, [first])).size, 0)
    assert.equal((await store.mediaBytes(tenant, turn.session, [])).size, 0)
    await assert.rejects(store.keepResultImages(run, 2, turn.session, [second]), FenceLost)
  })

  test('images without a message are deleted at the end of the run unless the run can be resumed', async () => {
    for (const continuable of [false, true]) {
      const own = setUp()
      const { store, tenant, pictured } = own
      const run = pictured()
      const turn = await running(store, run)
      const image = picture(run.requestId, 100, 'AAAA')
      await store.keepResultImages(run, 1, turn.session, [image])
      await store.finish(run, 1, endOf(turn, { dropsResultImages: true, continuable }))
      assert.equal(Object.keys(await bytesOf(own, turn.session, [image])).length, continuable ? 1 : 0)
      assert.equal((await store.images(tenant, turn.session, [run.requestId])).get(run.requestId)?.length, 3)
    }
  })

  test('a fork has the result images of its messages, and a deleted session has none', async () => {
    const own = setUp()
    const { store, tenant, start } = own
    const { run, turn } = await start()
    const image = picture(run.requestId, 100, 'AAAA')
    await store.keepResultImages(run, 1, turn.session, [image])
    const result = { role: 'tool' as const, callId: 'c', name: 'look', text: 'Seen.', isError: false, images: [{ ...image, data: '' }] }
    const message = { ...ai('two'), data: { requestId: run.requestId, transcript: [result] } }
    await store.finish(run, 1, endOf(turn, { message }))
    const sessions = createSessionStore(database())
    const from = (await sessions.find({ tenant, owner }, run.sessionId, { anyOwner: false }))!
    const fork = { tenant, owner, sessionId: 'fork', key: randomUUID(), checkpointId: 'c', messageIndex: 2, now: hour }
    assert.equal(await sessions.fork(from, fork), 'done')
    assert.deepEqual(await bytesOf(own, fork.key, [image]), { [`${run.requestId} 100`]: 'AAAA' })
    assert.equal(await sessions.remove({ tenant, owner }, run.sessionId, { jobId: randomUUID(), now: hour }), true)
    assert.deepEqual(await bytesOf(own, turn.session, [image]), {})
    assert.deepEqual(await bytesOf(own, fork.key, [image]), { [`${run.requestId} 100`]: 'AAAA' })
  })
}
