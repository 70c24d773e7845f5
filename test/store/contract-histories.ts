import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { HeldRun, NewRun, RunStore, Turn } from '../../src/runs/run-store.ts'
import type { Connection, Database } from '../../src/store/database.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { ai, deleteSession, endOf, failed, hour, human, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('histories of runs', registerHistories)

/** A database that counts the messages that it reads. */
function counting(database: Database): { database: Database; readSince(): number } {
  let count = 0
  const counted = ({ execute }: Connection): Connection => ({
    async execute<R>(sql: string, values: readonly unknown[]) {
      const result = await execute<R>(sql, values)
      if (sql.includes('from "messages"')) count += result.rows.length
      return result
    },
  })
  const { embedded } = database
  const counter: Database = {
    ...database,
    forTenant: (tenant) => ({ ...database.forTenant(tenant), read: counted(database.forTenant(tenant).read) }),
    ...(embedded && { embedded: { ...embedded, readCommitted: counted(embedded.readCommitted) } }),
  }
  return { database: counter, readSince: () => [count, (count = 0)][0]! }
}

/** What a run is told of its session. The messages of a run are kept for the next run, and the next run reads only those behind. */
function registerHistories(database: () => Database): void {
  const setUp = async () => {
    const { tenant, newRun } = storeOf(database())
    const replica = () => createRunStore(database())
    const told = async (store: RunStore, run: HeldRun, turn: Turn, from = turn.windowStart) =>
      (await store.historyOfRun(run, turn, from)).map(({ content }) => content)
    const begin = async (store: RunStore, question: string, change: Partial<NewRun> = {}) => {
      const run = newRun({ messages: [human(question)], ...change })
      return { run, turn: await running(store, run) }
    }
    const answerOf = ({ requestId }: NewRun, text: string) => ({ ...ai(text), data: { requestId, model: 'm' } })
    /** A turn with its end, and the messages that its run was told. */
    const ask = async (store: RunStore, question: string, end: Parameters<typeof endOf>[1] = {}) => {
      const { run, turn } = await begin(store, question)
      const messages = await told(store, run, turn)
      await store.finish(run, 1, endOf(turn, { ...end, message: answerOf(run, `${question}!`) }))
      return { run, turn, messages }
    }
    const remove = async (index: number) => {
      const sessions = createSessionStore(database())
      const session = (await sessions.find({ tenant, owner: 'agent-core ann' }, 's', { anyOwner: false }))!
      return sessions.removeMessage(session, { index, nameOf: String, checkpointId: randomUUID(), jobId: randomUUID(), now: hour })
    }
    const brought = ['a', 'b', 'c', 'd', 'e'].flatMap((question) => [human(question), ai(`${question}!`)])
    const first = await begin(replica(), '', { messages: [...brought, human('f')] })
    await replica().finish(first.run, 1, endOf(first.turn, { message: ai('f!') }))
    const before = [...brought.map(({ content }) => content), 'f', 'f!']
    return { tenant, newRun, replica, told, begin, ask, answerOf, remove, before, key: first.turn.session }
  }

  test('a run reads the messages since the last run of the session only', async () => {
    const { ask, before } = await setUp()
    const { database: watched, readSince } = counting(database())
    const store = createRunStore(watched)
    await ask(store, 'g')
    assert.equal(readSince(), 13)
    for (const question of ['h', 'i']) {
      const { messages } = await ask(store, question)
      assert.equal(messages.at(-1), question)
      assert.equal(readSince(), 3)
    }
    assert.deepEqual((await ask(store, 'j')).messages, [...before, 'g', 'g!', 'h', 'h!', 'i', 'i!', 'j'])
  })

  test('a run is told the turns of other processes in between', async () => {
    const { ask, before, replica } = await setUp()
    const [one, two] = [replica(), replica()]
    await ask(one, 'g')
    await ask(two, 'h')
    assert.deepEqual((await ask(one, 'i')).messages, [...before, 'g', 'g!', 'h', 'h!', 'i'])
    assert.deepEqual((await ask(two, 'j')).messages, [...before, 'g', 'g!', 'h', 'h!', 'i', 'i!', 'j'])
  })

  test('a run is not told a message that was removed between the turns, by whatever process', async () => {
    const { ask, before, replica, remove } = await setUp()
    const store = replica()
    await ask(store, 'g')
    for (const index of [2, 3]) assert.equal(await remove(index), true)
    const left = [...before.slice(0, 2), ...before.slice(4)]
    assert.deepEqual((await ask(store, 'h')).messages, [...left, 'g', 'g!', 'h'])
    await ask(replica(), 'i')
    for (const index of [4, 5]) assert.equal(await remove(index), true)
    assert.deepEqual((await ask(store, 'j')).messages, [...before.slice(0, 2), ...before.slice(6), 'g', 'g!', 'h', 'h!', 'i', 'i!', 'j'])
  })

  test('a run that ended without a read keeps nothing that was changed before', async () => {
    const { ask, begin, before, replica, remove } = await setUp()
    const store = replica()
    await ask(store, 'g')
    for (const index of [2, 3]) await remove(index)
    const { run, turn } = await begin(store, 'h')
    await store.finish(run, 1, endOf(turn))
    assert.deepEqual((await ask(store, 'i')).messages, [...before.slice(0, 2), ...before.slice(4), 'g', 'g!', 'h', 'answer', 'i'])
  })

  test('a window that has moved is told from its start, and earlier messages are told again when it moves back', async () => {
    const { begin, told, before, replica } = await setUp()
    const store = replica()
    const { run, turn } = await begin(store, 'g')
    for (const from of [0, 2, 0]) assert.deepEqual(await told(store, run, turn, from), [...before.slice(from), 'g'])
    assert.deepEqual(
      (await store.historyOfRun(run, turn, 0, 1)).map(({ content }) => content),
      ['a'],
    )
  })

  test('the answer of a repeated run replaces the part that was there before', async () => {
    const { ask, before, replica, told } = await setUp()
    const store = replica()
    const { run } = await ask(store, 'g', failed)
    const taken = await store.takeOver(run, { fence: 1, status: 'error' }, { holder: 'process-1', queueOrder: 1, now: hour, messages: [] })
    assert.ok(taken?.kind === 'running')
    const again = { ...run, fence: taken.fence }
    assert.deepEqual(await told(store, again, taken.turn), [...before, 'g'])
    await store.finish(run, taken.fence, endOf(taken.turn, { message: ai('whole') }))
    assert.deepEqual((await ask(store, 'h')).messages, [...before, 'g', 'whole', 'h'])
  })

  test('a process that has lost a run keeps none of its messages for a later run', async () => {
    const { begin, told, ask, answerOf, before, replica, remove } = await setUp()
    const [one, two] = [replica(), replica()]
    const { run, turn } = await begin(one, 'g')
    await told(one, run, turn)
    const taken = await two.takeOver(run, { fence: 1, status: 'running' }, { holder: 'p2', queueOrder: 1, now: hour, messages: [] })
    assert.ok(taken?.kind === 'running')
    await two.finish(run, taken.fence, endOf(taken.turn, { ...failed, message: answerOf(run, 'part') }))
    for (const index of [2, 3]) assert.equal(await remove(index), true)
    await assert.rejects(one.finish(run, 1, endOf(turn)), { name: 'FenceLost' })
    const back = await one.takeOver(run, { fence: taken.fence, status: 'error' }, { holder: 'p1', queueOrder: 1, now: hour, messages: [] })
    assert.ok(back?.kind === 'running')
    await one.finish(run, back.fence, endOf(back.turn, { message: ai('g!') }))
    assert.deepEqual((await ask(one, 'h')).messages, [...before.slice(0, 2), ...before.slice(4), 'g', 'g!', 'h'])
  })

  test('a deleted session is told to no run, and no session to another tenant', async () => {
    const { ask, told, tenant, newRun, replica, key } = await setUp()
    const store = replica()
    const { run, turn } = await ask(store, 'g')
    assert.deepEqual(await told(store, { ...run, tenant: `not ${tenant}` }, turn), [])
    await deleteSession(database(), key)
    assert.deepEqual(await told(store, run, turn), [])
    const anew = newRun()
    assert.deepEqual(await told(store, anew, await running(store, anew)), ['hello'])
  })
}
