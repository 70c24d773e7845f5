import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Image } from '../../src/agent/messages.ts'
import { firstQuestionFile, imageKey } from '../../src/runs/attachments/result-images.ts'
import type { NewRun } from '../../src/runs/run-store.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import type { Database } from '../../src/store/database.ts'
import { endOf, hour, human, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('files', registerFileContract)

const owner = 'agent-core ann'

const files: Image[] = [
  { mediaType: 'application/pdf', data: 'DDDD'.repeat(300_000) },
  { mediaType: 'audio/mpeg', data: 'EEEE' },
]
const references = files.map(({ mediaType }, at) => ({ name: `${at}`, mediaType, size: 3, tokens: 1 }))

/** The files of human messages that a model reads itself, on every database. */
function registerFileContract(database: () => Database): void {
  const setUp = () => {
    const { newRun, ...rest } = storeOf(database())
    const withFiles = (change: Partial<NewRun> = {}): NewRun => {
      const run = newRun(change)
      return { ...run, request: { ...run.request, files: references }, files }
    }
    const bytesOf = async (session: string, requestId: string, tenant: string = rest.tenant) => {
      const places = files.map((_, index) => ({ requestId, n: firstQuestionFile + index }))
      const bytes = await rest.store.mediaBytes(tenant, session, places)
      return places.flatMap((place) => bytes.get(imageKey(place)) ?? [])
    }
    return { ...rest, withFiles, bytesOf }
  }
  const datas = files.map(({ data }) => data)

  test('files of a question are stored beside its images, for their session and tenant only', async () => {
    const { store, tenant, withFiles, bytesOf } = setUp()
    const images = [{ mediaType: 'image/png', data: 'AAAA' }]
    const run = { ...withFiles(), images }
    const turn = await running(store, run)
    const { requestId } = run
    assert.deepEqual(await bytesOf(turn.session, requestId), datas)
    assert.deepEqual((await store.images(tenant, turn.session, [requestId])).get(requestId), images)
    assert.deepEqual(await bytesOf(turn.session, requestId, 'other'), [])
    assert.deepEqual(await bytesOf('other', requestId), [])
    await store.finish(run, 1, endOf(turn, { dropsResultImages: true }))
    assert.deepEqual(await bytesOf(turn.session, requestId), datas)
  })

  test('a request that left the queue leaves no files', async () => {
    const { store, start, withFiles, bytesOf } = setUp()
    const { turn } = await start()
    const waiting = withFiles()
    assert.equal((await store.begin(waiting)).kind, 'waiting')
    assert.deepEqual(await bytesOf(turn.session, waiting.requestId), datas)
    await store.leaveQueue({ ...waiting, fence: 1 }, hour)
    assert.deepEqual(await bytesOf(turn.session, waiting.requestId), [])
  })

  test('a fork has the files of its messages, and a deleted session has none', async () => {
    const { store, tenant, withFiles, bytesOf } = setUp()
    const message = { ...human('What is it?'), data: { requestId: 'r', files: references } }
    const run = withFiles({ requestId: 'r', messages: [message] })
    const turn = await running(store, run)
    await store.finish(run, 1, endOf(turn))
    const sessions = createSessionStore(database())
    const from = (await sessions.find({ tenant, owner }, run.sessionId, { anyOwner: false }))!
    const fork = { tenant, owner, sessionId: 'fork', key: randomUUID(), checkpointId: 'c', messageIndex: 1, now: hour }
    assert.equal(await sessions.fork(from, fork), 'done')
    assert.equal(await sessions.remove({ tenant, owner }, run.sessionId, { jobId: randomUUID(), now: hour }), true)
    assert.deepEqual(await bytesOf(turn.session, 'r'), [])
    assert.deepEqual(await bytesOf(fork.key, 'r'), datas)
  })
}
