import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Artifact } from '../../src/agent/messages.ts'
import type { Database } from '../../src/store/database.ts'
import { createArtifactStore } from '../../src/store/sessions/artifacts.ts'
import { createRetentionStore } from '../../src/store/sessions/retention.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { ai, endOf, failed, hour, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('files of messages', registerArtifactLists)

const owner = 'agent-core ann'

let fileCount = 0

/** A file whose id is greater than the ids of earlier files. */
function fileOf(name: string): Artifact {
  fileCount += 1
  const id = `${String(fileCount).padStart(8, '0')}-${randomUUID().slice(9)}`
  return { id, name, type: 'text/plain', size: 3_000_000_000, sha256: 'ab', tool: 'write_file', createdAt: hour }
}

function registerArtifactLists(database: () => Database): void {
  function filesOf() {
    const { tenant, store, start } = storeOf(database())
    const artifacts = createArtifactStore(database())
    const chat = async (sessionId: string, names: string[], by = owner) => {
      const { run, turn } = await start({ sessionId, owner: by })
      const files = names.map(fileOf)
      const message = { ...ai('done'), data: { requestId: run.requestId, artifacts: files } }
      await store.finish(run, 1, endOf(turn, { message }))
      return { run, turn, files }
    }
    const list = (by = owner, change: { tenant?: string; limit?: number } = {}) =>
      artifacts.list({ tenant: change.tenant ?? tenant, owner: by }, { limit: change.limit ?? 10, before: undefined })
    const namesOf = async (by = owner) => (await list(by)).map(({ name, sessionId }) => `${name} ${sessionId}`)
    return { tenant, store, start, artifacts, chat, list, namesOf }
  }

  test('files are stored with their message, and listed per owner, newest first', async () => {
    const { tenant, artifacts, chat, list, namesOf } = filesOf()
    const { run, turn, files } = await chat('s', ['a', 'b'])
    await chat('t', ['c'])
    await chat('s', ['d'], 'agent-core bob')
    assert.deepEqual(await namesOf(), ['c t', 'b s', 'a s'])
    assert.deepEqual((await list())[2], { ...files[0], session: turn.session, sessionId: 's', requestId: run.requestId })
    const [first, second] = await list(owner, { limit: 2 })
    const rest = await artifacts.list({ tenant, owner }, { limit: 2, before: second })
    assert.deepEqual(
      [first, second, ...rest].map((file) => file!.name),
      ['c', 'b', 'a'],
    )
    assert.deepEqual(await list(owner, { tenant: randomUUID() }), [])
    const find = (by: string, anyOwner: boolean, of = tenant) => artifacts.find({ tenant: of, owner: by }, files[0]!.id, { anyOwner })
    assert.equal((await find(owner, false))?.name, 'a')
    assert.equal(await find('agent-core bob', false), undefined)
    assert.equal((await find('agent-core bob', true))?.name, 'a')
    assert.equal(await find(owner, true, randomUUID()), undefined)
  })

  test('a run without a message stores no files, and a resumed run stores each file once', async () => {
    const { store, start, namesOf } = filesOf()
    const { run, turn } = await start()
    await store.finish(run, 1, endOf(turn, failed))
    assert.deepEqual(await namesOf(), [])
    const file = fileOf('a')
    const withFile = { message: { ...ai('part'), data: { requestId: run.requestId, artifacts: [file] } } }
    const by = { holder: 'p2', queueOrder: 9, now: hour, messages: run.messages }
    const again = await store.takeOver(run, { fence: 1, status: 'error' }, by)
    assert.ok(again?.kind === 'running')
    await store.finish(run, again.fence, endOf(again.turn, { ...withFile, status: 'cancelled', continuable: true }))
    const last = await store.takeOver(run, { fence: again.fence, status: 'cancelled' }, by)
    assert.ok(last?.kind === 'running')
    await store.finish(run, last.fence, endOf(last.turn, withFile))
    assert.deepEqual(await namesOf(), ['a s'])
  })

  test('a fork has the files of its messages, and deleted sessions have none', async () => {
    const { tenant, chat, namesOf } = filesOf()
    await chat('s', ['a'])
    await chat('s', ['b'])
    const sessions = createSessionStore(database())
    const source = (await sessions.find({ tenant, owner }, 's', { anyOwner: false }))!
    const fork = { tenant, owner, sessionId: 'f', key: randomUUID(), checkpointId: randomUUID(), messageIndex: 2, now: hour + 5 }
    assert.equal(await sessions.fork(source, fork), 'done')
    assert.deepEqual(await namesOf(), ['b s', 'a s', 'a f'])
    await sessions.remove({ tenant, owner }, 's', { jobId: randomUUID(), now: hour })
    assert.deepEqual(await namesOf(), ['a f'])
  })

  test('files leave the list when their session expires, not when their run does', async () => {
    const { tenant, chat, namesOf } = filesOf()
    await chat('s', ['a'])
    const retention = createRetentionStore(database())
    await retention.remove('runs', tenant, hour * 2, { limit: 10, now: hour })
    assert.deepEqual(await namesOf(), ['a s'])
    await retention.remove('sessions', tenant, hour * 2, { limit: 10, now: hour })
    assert.deepEqual(await namesOf(), [])
  })
}
