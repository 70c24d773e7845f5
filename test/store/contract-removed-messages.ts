import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { SessionMessage } from '../../src/sessions/session-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createMemoryStore } from '../../src/store/memory/memories.ts'
import { createConversationStore, createSummaryStore } from '../../src/store/sessions/conversations.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { ai, endOf, hour, human, jobsOf, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('removed messages', registerRemovedMessages)

const owner = 'agent-core ann'
const nameOf = (question: string) => question.slice(0, 40)

/** Messages that are removed from sessions. */
function registerRemovedMessages(database: () => Database): void {
  const setUp = async () => {
    const parts = storeOf(database())
    const { tenant, start, store } = parts
    const sessions = createSessionStore(database())
    const secret = `s${randomUUID().replaceAll('-', '')}`
    const image = { mediaType: 'image/png', data: `bytes-of-${secret}` }
    const picture = { name: `${secret}.png`, mediaType: 'image/png' }
    const artifact = { id: randomUUID(), name: 'a.txt', type: 'text/plain', size: 1, sha256: 'x', tool: 'make', createdAt: hour }
    const question = `Q ${secret}`
    const messages = [{ ...human(question), data: { requestId: 'r1', images: [picture], system: 'Speak French.' } }]
    const first = await start({ owner, requestId: 'r1', sessionId: 's', shortName: nameOf(question), messages, images: [image] })
    const call = { id: 'c', name: 'look', arguments: '{}' }
    const transcript = [
      { role: 'assistant', text: '', toolCalls: [call] },
      { role: 'tool', callId: 'c', name: 'look', text: `found ${secret}`, isError: false },
      { role: 'assistant', text: `A ${secret}`, toolCalls: [] },
    ]
    const answer = { ...ai(`A ${secret}`), data: { requestId: 'r1', model: 'm', transcript, artifacts: [artifact] } }
    const log = { input: question, events: [], echo: { input: [question] } }
    await store.finish(first.run, 1, endOf(first.turn, { message: answer, log } as never))
    const second = await start({ owner, requestId: 'r2', sessionId: 's', messages: [human('second?')] })
    const finishSecond = () =>
      store.finish(second.run, 1, endOf(second.turn, { message: { ...ai('second.'), data: { requestId: 'r2', model: 'm' } } }))
    const find = async () => (await sessions.find({ tenant, owner }, 's', { anyOwner: false }))!
    const remove = async (index: number, change: object = {}) =>
      sessions.removeMessage(
        { ...(await find()), ...change },
        { index, nameOf, checkpointId: randomUUID(), jobId: randomUUID(), now: hour + 9 },
      )
    /** Tables with the secret text, read whole. */
    const tablesWithSecret = async () => {
      const { db } = database()
      const tables = (await db.introspection.getTables()).filter(
        ({ schema }) => schema === undefined || !schema.startsWith('agent_core_jobs'),
      )
      const found = []
      for (const { name } of tables)
        if (
          JSON.stringify(
            await db
              .selectFrom(name as never)
              .selectAll()
              .execute(),
          ).includes(secret)
        )
          found.push(name)
      return found
    }
    return { ...parts, sessions, secret, key: first.turn.session, finishSecond, find, remove, tablesWithSecret, artifact }
  }

  test('a removed turn leaves its places, and no text of it in any table', async () => {
    const { tenant, store, sessions, key, finishSecond, find, remove, tablesWithSecret, artifact } = await setUp()
    await finishSecond()
    assert.deepEqual((await tablesWithSecret()).sort(), ['media', 'messages', 'runs', 'sessions'])
    assert.equal(await remove(0), true)
    assert.equal((await find()).shortName, 'second?')
    assert.equal((await store.find({ tenant, owner, requestId: 'r2' }))?.messageIndex, 2)
    await assert.rejects(store.find({ tenant, owner, requestId: 'r1' }), { code: 'gone' })
    assert.equal(await remove(0), false)
    assert.deepEqual(
      (await store.history(tenant, key, 0)).map(({ idx, role, content }) => [idx, role, content.slice(0, 2)]),
      [
        [0, 'human', '(T'],
        [1, 'ai', 'A '],
        [2, 'human', 'se'],
        [3, 'ai', 'se'],
      ],
    )
    assert.equal(await remove(1), true)
    assert.deepEqual(await tablesWithSecret(), [])
    assert.deepEqual(
      (await sessions.messages(tenant, key)).map(({ index, content }) => [index, content]),
      [
        [2, 'second?'],
        [3, 'second.'],
      ],
    )
    assert.equal(await sessions.message(tenant, key, 1), undefined)
    const { messageCount, updatedAt } = await find()
    assert.deepEqual([messageCount, updatedAt], [4, hour + 9])
    const jobs = (await jobsOf(database(), tenant)).filter(({ kind }) => kind === 'session_deleted')
    assert.deepEqual(
      jobs.map(({ data }) => JSON.parse(data)),
      [{ session: key, files: [artifact.id] }],
    )
    assert.deepEqual((await store.history(tenant, key, 0))[0]?.data, { deleted: true, system: 'Speak French.' }, 'system messages stay')
  })

  test('a message is removed for its owner alone, at its place, and not while a run has the session', async () => {
    const { tenant, remove, finishSecond, sessions, key } = await setUp()
    await assert.rejects(remove(1), { code: 'session_busy' })
    await finishSecond()
    assert.equal(await remove(1, { owner: 'agent-core bob' }), false)
    assert.equal(await remove(1, { tenant: randomUUID() }), false)
    for (const index of [4, 2 ** 31, 1e9]) assert.equal(await remove(index), false)
    assert.equal((await sessions.messages(tenant, key)).length, 4)
    const removed = await Promise.all([remove(1), remove(1)])
    assert.deepEqual(
      removed.toSorted((a, b) => Number(a) - Number(b)),
      [false, true],
    )
  })

  test('a summary that covers the message is made anew, also one that is being made', async () => {
    const { tenant, store, key, remove, finishSecond } = await setUp()
    await finishSecond()
    const summaries = createSummaryStore(database(), store)
    const before = (await summaries.window(tenant, key))!
    assert.equal(await remove(0), true)
    assert.equal(await summaries.moveWindow(tenant, key, { ...before, end: 2, summary: { text: 'old' } }), false)
    const after = (await summaries.window(tenant, key))!
    assert.equal(await summaries.moveWindow(tenant, key, { ...after, end: 2, summary: { text: 'new' } }), true)
    const extended = (await summaries.window(tenant, key))!
    assert.equal(await remove(1), true)
    // Another process has moved the window to the same place meanwhile.
    assert.equal(await summaries.moveWindow(tenant, key, { ...after, deleted: 2, end: 2, summary: { text: '' } }), true)
    const move = { ...extended, earlier: extended.summary, end: 4, summary: { text: 'new, with the deleted message' } }
    assert.equal(await summaries.moveWindow(tenant, key, move), false)
    assert.equal(await remove(3), true)
    const shown = { ...(await summaries.window(tenant, key))!, end: 4, earlier: { text: '' }, summary: { text: 'all' } }
    assert.deepEqual([shown.start, shown.deleted], [2, 1])
    assert.equal(await summaries.moveWindow(tenant, key, shown), true)
    assert.equal(await remove(2), true)
    const { start, summary } = (await summaries.window(tenant, key))!
    assert.deepEqual([start, summary], [0, undefined])
  })

  test('memories that were learned from the turn alone are forgotten, and nothing is learned from the turn later', async () => {
    const { tenant, key, remove, finishSecond } = await setUp()
    await finishSecond()
    const memories = createMemoryStore(database())
    const caller = { tenant, owner }
    const add = (content: string) => ({
      kind: 'add' as const,
      memory: {
        id: randomUUID(),
        kind: 'fact' as const,
        origin: 'user' as const,
        content,
        createdAt: hour,
        updatedAt: hour,
        vector: undefined,
      },
    })
    const source = (messageIndex: number, madeBy: string) => ({ session: key, sessionId: 's', messageIndex, madeBy })
    const both = add('both')
    await memories.apply(caller, 0, [add('first'), both], source(0, 'retain r1'), hour)
    await memories.apply(caller, 1, [add('second'), { kind: 'confirm', id: both.memory.id }], source(2, 'retain r2'), hour)
    assert.equal(await remove(1), true)
    assert.deepEqual((await memories.all(caller)).memories.map(({ content }) => content).sort(), ['both', 'second'])
    const { version } = await memories.all(caller)
    assert.equal(await memories.apply(caller, version, [add('late')], source(0, 'retain r1'), hour), 'gone')
    assert.equal(await memories.material(caller, 'r1').catch(() => undefined), undefined)
  })

  test('forks and later messages keep the places, and a search finds what is left', async () => {
    const { tenant, store, sessions, secret, key, find, remove, finishSecond } = await setUp()
    await finishSecond()
    const search = (word: string) =>
      sessions
        .search({ tenant, owner }, { words: [word], limit: 9, anyOwner: false, before: undefined })
        .then((found) => found.sessions.length)
    assert.equal(await search(secret), 1)
    for (const index of [0, 1]) assert.equal(await remove(index), true)
    assert.deepEqual([await search(secret), await search('second')], [0, 1])
    const fork = { tenant, owner, sessionId: 'f', key: randomUUID(), checkpointId: randomUUID(), messageIndex: 3, now: hour }
    assert.equal(await sessions.fork(await find(), fork), 'done')
    assert.deepEqual(
      (await sessions.messages(tenant, fork.key)).map(({ index }) => index),
      [2],
    )
    const added: SessionMessage = { role: 'human', content: 'third?', createdAt: hour, data: undefined }
    const change = { now: hour, checkpointId: randomUUID(), shortName: '' }
    assert.equal(await createConversationStore(database()).append(await find(), [added], change), 4)
    assert.deepEqual(
      (await store.history(tenant, key, 0)).map(({ idx }) => idx),
      [0, 2, 3, 4],
    )
  })
}
