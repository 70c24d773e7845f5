import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Image } from '../src/agent/messages.ts'
import type { NewRun } from '../src/runs/run-store.ts'
import type { Database } from '../src/store/database.ts'
import { endOf, hour, human, running, storeOf } from './store-fixture.ts'

const images: Image[] = [
  { mediaType: 'image/png', data: 'AAAA' },
  { mediaType: 'image/jpeg', data: 'BBBB'.repeat(300_000) },
  { mediaType: 'image/png', data: 'CCCC' },
]

/** The images of human messages, on every database. */
export function registerImageContract(database: () => Database): void {
  const setUp = () => {
    const { newRun, ...rest } = storeOf(database())
    const named = images.map((_, at) => ({ name: `${at}.png`, mediaType: 'image/png' }))
    const pictured = (change: Partial<NewRun> = {}) => {
      const run = newRun(change)
      return { ...run, request: { ...run.request, images: named }, images }
    }
    return { ...rest, newRun, pictured }
  }

  test('images are kept with the run that brought them, in order, for their session and tenant alone', async () => {
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

  test('a run that waits has its images when its turn comes, also in another process', async () => {
    const { store, tenant, start, pictured } = setUp()
    const first = await start()
    const second = pictured({ messages: [human('second')] })
    assert.equal((await store.begin(second)).kind, 'waiting')
    const from = { fence: 1, status: 'pending' as const }
    await store.takeOver(second, from, { holder: 'process-2', place: second.place, now: hour, messages: second.messages })
    await store.finish(first.run, 1, endOf(first.turn))
    const turn = await store.takeTurn({ ...second, fence: 2 }, second.messages, hour)
    assert.deepEqual((await store.images(tenant, turn!.session, [second.requestId])).get(second.requestId), images)
  })

  test('a request that left the line leaves no images, and may come again with them', async () => {
    const { store, tenant, start, pictured } = setUp()
    const { turn } = await start()
    const waiting = pictured()
    assert.equal((await store.begin(waiting)).kind, 'waiting')
    await store.leaveLine(waiting, hour)
    assert.equal((await store.images(tenant, turn.session, [waiting.requestId])).size, 0)
    assert.equal((await store.begin(waiting)).kind, 'waiting')
    assert.equal((await store.images(tenant, turn.session, [waiting.requestId])).get(waiting.requestId)?.length, 3)
  })

  test('a request id that is known brings no images', async () => {
    const { store, tenant, start, pictured } = setUp()
    const { run, turn } = await start()
    assert.equal((await store.begin(pictured({ requestId: run.requestId }))).kind, 'known')
    assert.equal((await store.images(tenant, turn.session, [run.requestId])).size, 0)
  })
}
