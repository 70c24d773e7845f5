import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Change, Memory } from '../../src/memory/memory.ts'
import type { Database } from '../../src/store/database.ts'
import { createFeedbackStore } from '../../src/store/memory/feedback.ts'
import { createMemoryStore, forgetSession } from '../../src/store/memory/memories.ts'
import { ai, deleteSession, endOf, hour, human, jobsOf, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('memories and feedback', registerMemoryContract)

/** Registers what holds of memories and feedback on every database. */
function registerMemoryContract(database: () => Database): void {
  test('memories are stored with their sources, and listed newest first in pages', async () => {
    const { store, learn, who } = await memoriesOf(database())
    assert.equal(await store.version(who), 0)
    assert.deepEqual((await store.all(who)).memories, [])
    const added = ['one', 'two', 'three'].map((content) => fact(content))
    assert.equal(await learn(0, added.map(add)), 'done')
    assert.deepEqual(await store.all(who), { version: 1, memories: added })
    const page = await store.page(who, { limit: 2, before: undefined })
    assert.deepEqual(
      page.map(({ content, sources }) => [content, sources]),
      ['three', 'two'].map((content) => [content, [{ sessionId: 's', messageIndex: 0 }]]),
    )
    assert.deepEqual(
      (await store.page(who, { limit: 2, before: page[1]!.id })).map(({ content }) => content),
      ['one'],
    )
  })

  test('a confirmed memory gets another source; the same source counts once', async () => {
    const { store, learn, who, second } = await memoriesOf(database())
    const memory = fact('tea')
    await learn(0, [add(memory)])
    const again = await second()
    for (const version of [1, 2]) await learn(version, [{ kind: 'confirm', id: memory.id }], again)
    const [kept] = await store.page(who, { limit: 9, before: undefined })
    assert.deepEqual(kept!.sources, [
      { sessionId: 's2', messageIndex: 0 },
      { sessionId: 's', messageIndex: 0 },
    ])
    assert.equal(kept!.updatedAt, hour + 9)
  })

  test('a change with an old version is refused, and of two concurrent changes one is refused', async () => {
    const { store, learn, who } = await memoriesOf(database())
    const both = await Promise.all(['a', 'b'].map((content) => learn(0, [add(fact(content))])))
    assert.deepEqual(both.sort(), ['done', 'moved'])
    assert.equal((await store.all(who)).memories.length, 1)
    assert.equal(await store.version(who), 1)
    assert.equal(await learn(0, [add(fact('late'))]), 'moved')
    assert.equal(await learn(1, [add(fact('now'))]), 'done')
  })

  test('nothing is learned from a deleted session or from a session of another caller', async () => {
    const { store, learn, who, source } = await memoriesOf(database())
    const other = { tenant: who.tenant, owner: 'agent-core bob' }
    assert.equal(await store.apply(other, 0, [add(fact('x'))], source, hour), 'gone')
    await deleteSession(database(), source.session)
    assert.equal(await learn(0, [add(fact('x'))]), 'gone')
    assert.deepEqual(await store.all(who), { version: 0, memories: [] })
  })

  test('deleting a session deletes the memories without another source', async () => {
    const { store, learn, who, source, second } = await memoriesOf(database())
    const [gone, stays] = [fact('only here'), fact('said twice')]
    await learn(0, [add(gone), add(stays)])
    await learn(1, [{ kind: 'confirm', id: stays.id }], await second())
    await database().all.unit((connection) => forgetSession(connection, database().db, who, source.session))
    assert.deepEqual(
      (await store.page(who, { limit: 9, before: undefined })).map(({ content, sources }) => [content, sources.length]),
      [['said twice', 1]],
    )
    assert.equal(await store.version(who), 3)
  })

  test('a caller can delete only own memories', async () => {
    const { store, learn, who } = await memoriesOf(database())
    const [one, two] = [fact('one'), fact('two')]
    await learn(0, [add(one), add(two)])
    for (const other of [
      { tenant: who.tenant, owner: 'agent-core bob' },
      { tenant: randomUUID(), owner: who.owner },
    ]) {
      assert.equal(await store.delete(other, one.id), false)
      assert.deepEqual((await store.all(other)).memories, [])
    }
    assert.equal(await store.delete(who, one.id), true)
    assert.equal(await store.delete(who, one.id), false)
    assert.deepEqual(
      (await store.all(who)).memories.map(({ content }) => content),
      ['two'],
    )
  })

  test('memories of an earlier feedback are retracted unless they have another source', async () => {
    const { store, learn, who, source, second } = await memoriesOf(database())
    const feedback = { ...source, madeBy: 'feedback r' }
    const [own, shared] = [fact('too long'), fact('too loud')]
    await learn(0, [add(own), add(shared)], feedback)
    await learn(1, [{ kind: 'confirm', id: shared.id }], await second())
    assert.equal(await store.hasTaken(who, source.session, 'feedback r'), true)
    await learn(2, [{ kind: 'retract', madeBy: 'feedback r' }, add(fact('too short'))], feedback)
    const left = await store.page(who, { limit: 9, before: undefined })
    assert.deepEqual(
      left.map(({ content, sources }) => [content, sources[0]!.sessionId]),
      [
        ['too short', 's'],
        ['too loud', 's2'],
      ],
    )
    assert.equal(await store.hasTaken(who, source.session, 'retain r'), false)
  })

  test('vectors are read back unchanged', async () => {
    const { store, learn, who } = await memoriesOf(database())
    const [with1, without] = [fact('with', { model: 'e', values: new Float32Array([0.5, -0.25]) }), fact('without')]
    await learn(0, [add(with1), add(without)])
    assert.deepEqual((await store.all(who)).memories, [with1, without])
    const vector = { model: 'f', values: new Float32Array([1, 2, 3]) }
    await store.setVectors(who, new Map([[without.id, vector]]))
    assert.deepEqual((await store.all(who)).memories[1]!.vector, vector)
  })

  test('a caller reads the question and steps of an own run while its session exists', async () => {
    const { store, who, source, requestId } = await memoriesOf(database())
    const material = await store.material(who, requestId)
    const { madeBy: _, ...place } = source
    assert.deepEqual(material, {
      ...place,
      question: 'hello',
      steps: [{ tool: 'look', input: { at: 'a' }, status: 'error', output: { error: 'no' } }],
    })
    assert.equal(await store.material({ ...who, owner: 'agent-core bob' }, requestId), undefined)
    await deleteSession(database(), source.session)
    assert.equal(await store.material(who, requestId), undefined)
  })

  test('feedback replaces earlier feedback, adds a job, and needs an own chat that has ended', async () => {
    const { who, requestId, start } = await memoriesOf(database())
    const feedback = createFeedbackStore(database())
    const given = { requestId, score: -0.5, comment: 'too long', createdAt: hour }
    assert.equal(await feedback.save(who, given, randomUUID()), 'saved')
    assert.deepEqual(await feedback.find(who, requestId), given)
    const better = { requestId, score: 1, comment: undefined, createdAt: hour + 1 }
    assert.equal(await feedback.save(who, better, randomUUID()), 'saved')
    assert.deepEqual(await feedback.find(who, requestId), better)
    assert.deepEqual(
      (await jobsOf(database(), who.tenant)).map(({ kind, data }) => [kind, JSON.parse(data)]),
      Array(2).fill(['feedback', { owner: who.owner, requestId }]),
    )
    assert.equal(await feedback.save({ ...who, owner: 'agent-core bob' }, given, randomUUID()), 'unknown')
    const { run } = await start({ sessionId: 's3' })
    assert.equal(await feedback.save(who, { ...given, requestId: run.requestId }, randomUUID()), 'running')
    const tool = await start({ sessionId: 's4', operation: 'tool_execute' })
    assert.equal(await feedback.save(who, { ...given, requestId: tool.run.requestId }, randomUUID()), 'unknown')
  })
}

/** A caller with a run that has ended, whose message is the source of what is learned. */
async function memoriesOf(database: Database) {
  const { tenant, start, store: runs } = storeOf(database)
  const store = createMemoryStore(database)
  const first = await start()
  const { owner, requestId } = first.run
  const who = { tenant, owner }
  const steps = [{ tool: 'look', tool_input: { at: 'a' }, status: 'error', output: { error: 'no' }, type: 'tool_call' }] as never
  await runs.finish(first.run, 1, endOf(first.turn, { message: { ...ai('answer'), data: { requestId, steps } } }))
  const source = { session: first.turn.session, sessionId: 's', messageIndex: 0, madeBy: `retain ${requestId}` }
  return {
    store,
    who,
    source,
    requestId,
    start,
    learn: (seen: number, changes: Change[], from = source) => {
      const now = from === source ? hour : hour + 9
      return store.apply(who, seen, changes, from, now)
    },
    async second() {
      const { turn } = await start({ sessionId: 's2', messages: [human('again')] })
      return { session: turn.session, sessionId: 's2', messageIndex: 0, madeBy: 'retain r2' }
    },
  }
}

let facts = 0

function fact(content: string, vector?: Memory['vector']): Memory {
  // Of two UUIDs of one millisecond either may be the greater.
  const id = `${String((facts += 1)).padStart(8, '0')}-${randomUUID()}`
  return { id, kind: 'fact', origin: 'user', content, createdAt: hour, updatedAt: hour, vector }
}

function add(memory: Memory): Change {
  return { kind: 'add', memory }
}
