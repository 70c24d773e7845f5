import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { SessionMoved } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createEchoStore } from '../../src/store/runs/logs.ts'
import { createConversationStore } from '../../src/store/sessions/conversations.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, hour, human, newRun, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('conversations', registerConversationContract)

/** Sessions that callers make and continue at a certain message, and what routes repeat about a run. */
function registerConversationContract(database: () => Database): void {
  test('a session is created with messages and metadata, and grows without a run', async () => {
    const { tenant, store } = storeOf(database())
    const [sessions, conversations] = [createSessionStore(database()), createConversationStore(database())]
    const owner = 'agent-core ann'
    const first = { role: 'human' as const, content: 'one', createdAt: hour, data: undefined }
    const ids = { sessionId: 'made', key: randomUUID(), checkpointId: randomUUID(), shortName: 'one' }
    await conversations.create({ tenant, owner, ...ids, metadata: { topic: 'a' }, messages: [first], createdAt: hour, updatedAt: hour })
    const again = { ...ids, key: randomUUID(), metadata: {}, messages: [first, first], createdAt: hour, updatedAt: hour }
    assert.equal(await conversations.create({ tenant, owner, ...again }), false)
    const session = (await sessions.find({ tenant, owner }, 'made', { anyOwner: false }))!
    assert.deepEqual([session.messageCount, await conversations.metadata(session)], [1, { topic: 'a' }])
    assert.equal(await conversations.setMetadata(session, { topic: 'b' }), true)
    assert.deepEqual(await conversations.metadata(session), { topic: 'b' })
    const change = { now: hour + 1, checkpointId: randomUUID(), shortName: 'ignored' }
    assert.equal(await conversations.append(session, [first, first], change), 1)
    assert.equal((await sessions.messages(tenant, session.key)).length, 3)
    await assert.rejects(conversations.append(session, [first], { ...change, isFirst: true }), { code: 'session_exists' })
    assert.equal((await sessions.find({ tenant, owner }, 'made', { anyOwner: false }))!.messageCount, 3)
    const begun = await store.begin(newRun({ tenant, owner, sessionId: 'made' }))
    assert.ok(begun.kind === 'running' && begun.turn.messageIndex === 3)
    await assert.rejects(conversations.append(session, [first], change), { code: 'session_busy' })
    assert.equal(await conversations.setMetadata({ ...session, owner: 'agent-core eve' }, {}), false)
    await sessions.remove({ tenant, owner }, 'made', { jobId: randomUUID(), now: hour })
    assert.equal(await conversations.append(session, [first], change), undefined)
  })

  test('a run begins behind a certain message, or stores nothing', async () => {
    const { start, store, tenant } = storeOf(database())
    const { run, turn } = await start()
    const next = (afterMessages: number) => newRun({ tenant, sessionId: run.sessionId, messages: [human('next')], afterMessages })
    const busy = next(2)
    await assert.rejects(store.begin(busy), SessionMoved)
    await store.finish(run, 1, endOf(turn))
    await assert.rejects(store.begin(next(1)), SessionMoved)
    assert.equal(await store.find(busy), undefined)
    const begun = await store.begin(next(2))
    assert.ok(begun.kind === 'running' && begun.turn.messageIndex === 2)
  })

  test('what a route repeats is kept with the run, replaced while the run waits, and removed after its end', async () => {
    const { start, store } = storeOf(database())
    const echoes = createEchoStore(database())
    const { run, turn } = await start()
    const stored = (await store.find(run))!
    assert.equal(await echoes.replace({ ...stored, request: stored.request! }, { part: 2 }), false)
    await store.finish(run, 1, endOf(turn, { continuable: true, log: { input: 'hello', events: [], echo: { part: 1 } } }))
    assert.deepEqual((await store.find(run))?.log?.echo, { part: 1 })
    await echoes.remove(run)
    const { log, request, continuable } = (await store.find(run))!
    assert.deepEqual({ log, request, continuable }, { log: { input: 'hello', events: [] }, request: undefined, continuable: false })
  })
}
