import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { FenceLost, type Delivery } from '../../src/runs/run-store.ts'
import type { RunKey } from '../../src/runs/run.ts'
import type { MessageMode } from '../../src/runs/steering/run-messages.ts'
import type { Database } from '../../src/store/database.ts'
import { ai, endOf, failed, hour, human, runJobsOf, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('messages to runs', registerMessageContract)

const step = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
const code = (name: string) => (error: unknown) => (error as { code?: string }).code === name

function registerMessageContract(database: () => Database): void {
  function setUp() {
    const own = storeOf(database())
    const send = async (run: RunKey, text: string, mode: MessageMode = 'steer', id: string = randomUUID()) => {
      const key = { tenant: run.tenant, owner: run.owner, requestId: run.requestId }
      return { id, ...(await own.store.addMessage(key, { id, mode, text, now: hour + 1 })) }
    }
    const textsOf = async (run: RunKey) => (await own.store.openMessages(run)).map(({ text }) => text)
    const next = (run: RunKey, id: string) => ({ tenant: run.tenant, owner: run.owner, requestId: id })
    return { ...own, send, textsOf, next }
  }

  test('a message is stored once, in order, and also acknowledged after the end', async () => {
    const { store, start, send, textsOf } = setUp()
    const { run, turn } = await start()
    const first = await send(run, 'one')
    assert.deepEqual([first.position, (await send(run, 'two', 'follow_up')).position], [1, 2])
    assert.equal((await send(run, 'one', 'steer', first.id)).position, 1)
    await assert.rejects(send(run, 'other', 'steer', first.id), code('request_id_reused'))
    await assert.rejects(send(run, 'one', 'steer', run.requestId), code('request_id_reused'))
    assert.deepEqual(await textsOf(run), ['one', 'two'])
    await store.finish(run, 1, endOf(turn))
    assert.equal((await send(run, 'one', 'steer', first.id)).position, 1)
    await assert.rejects(send(run, 'late'), code('run_ended'))
  })

  test('another owner and another tenant find no run, and ten messages may wait', async () => {
    const { store, start, send, next } = setUp()
    const { run } = await start()
    const message = { id: randomUUID(), mode: 'steer', text: 'x', now: hour } as const
    assert.equal(await store.addMessage({ ...next(run, run.requestId), owner: 'agent-core bob' }, message), undefined)
    assert.equal(await store.addMessage({ ...next(run, run.requestId), tenant: randomUUID() }, message), undefined)
    for (let n = 0; n < 10; n++) await send(run, `message ${n}`)
    await assert.rejects(send(run, 'one more'), code('rate_limited'))
  })

  test('a delivery stores the checkpoint, the messages of the session and the mark together', async () => {
    const { store, tenant, start, send, textsOf } = setUp()
    const { run, turn } = await start()
    await send(run, 'one')
    await send(run, 'two')
    const messages = [ai('so far'), human('one')]
    const delivery: Delivery = { session: turn.session, rank: 1, messages, messageCount: 3, now: hour + 2 }
    await assert.rejects(store.checkpoint(run, 7, 1, step, { delivery }), FenceLost)
    assert.deepEqual([await textsOf(run), (await store.history(tenant, turn.session, 0)).length], [['one', 'two'], 1])
    await store.checkpoint(run, 1, 1, step, { delivery })
    assert.deepEqual(await textsOf(run), ['two'])
    assert.deepEqual(
      (await store.history(tenant, turn.session, 0)).map(({ content }) => content),
      ['hello', 'so far', 'one'],
    )
    const [one, two] = await store.messagesTo(run)
    assert.deepEqual([one?.deliveredAt, one?.deliveredTo, two?.deliveredAt], [hour + 2, run.requestId, undefined])
    assert.equal((await store.find(run))?.openMessages, 1)
  })

  for (const [title, end, texts] of [
    ['a failure', failed, []],
    ['a partial answer', { status: 'cancelled', finishReason: 'cancelled', message: ai('broken off') }, ['broken off']],
  ] as const) {
    test(`${title} leaves the messages of a delivery whose commit had no answer in the session, for the next run`, async () => {
      const { store, tenant, start, send } = setUp()
      const { run, turn } = await start()
      await send(run, 'one')
      const messages = [ai('so far'), human('one')]
      await store.checkpoint(run, 1, 1, step, { delivery: { session: turn.session, rank: 1, messages, messageCount: 3, now: hour + 2 } })
      // The process counts the messages that it knows of.
      await store.finish(run, 1, endOf(turn, end))
      const next = { ...run, requestId: randomUUID(), queueOrder: run.queueOrder + 1, messages: [human('again')] }
      const begun = await store.begin(next)
      assert.equal(begun.kind === 'running' && begun.turn.messageCount, 4 + texts.length)
      assert.deepEqual(
        (await store.history(tenant, turn.session, 0)).map(({ content }) => content),
        ['hello', 'so far', 'one', ...texts, 'again'],
      )
    })
  }

  for (const [title, end] of [
    ['an answer', {}],
    ['a failure', failed],
    ['a cancellation', { status: 'cancelled', finishReason: 'cancelled', message: undefined }],
  ] as const) {
    test(`${title} with messages that wait begins the next run of the session, in order`, async () => {
      const { store, tenant, start, send, textsOf, next } = setUp()
      const { run, turn } = await start()
      const other = await store.begin({ ...run, requestId: randomUUID(), queueOrder: run.queueOrder + 1 })
      assert.equal(other.kind, 'waiting')
      const { id } = await send(run, 'one')
      await send(run, 'two', 'follow_up')
      const request = { messages: [{ role: 'user' as const, content: 'hello' }], filters: [], headers: { stix: 'a' }, roles: ['user'] }
      const continued = await store.finish(run, 1, endOf(turn, { ...end, request }))
      assert.deepEqual(continued, { ...next(run, id), holder: '' })
      const stored = await store.find(next(run, id))
      assert.deepEqual(
        [stored?.status, stored?.operation, stored?.continues, stored?.openMessages],
        ['pending', 'chain_async', run.requestId, 1],
      )
      assert.deepEqual(stored?.request, { ...request, messages: [{ role: 'user', content: 'one' }] })
      assert.deepEqual(await textsOf(next(run, id)), ['two'])
      assert.equal((await store.find(run))?.openMessages, undefined)
      assert.deepEqual(
        (await runJobsOf(database(), tenant)).map(({ requestId }) => requestId),
        [id],
      )
      assert.deepEqual(
        (await store.messagesTo(run)).map(({ deliveredTo, deliveredAt }) => [deliveredTo, deliveredAt !== undefined]),
        [
          [id, true],
          [id, false],
        ],
      )
    })
  }

  test('messages to a run that leaves the queue of its session begin a run, and a request can be repeated', async () => {
    const { store, start, send, textsOf, next } = setUp()
    const { run } = await start()
    const queued = { ...run, requestId: randomUUID(), queueOrder: run.queueOrder + 1 }
    await store.begin(queued)
    const { id } = await send(queued, 'one')
    await store.leaveQueue(queued, hour + 5)
    assert.deepEqual([(await store.find(queued))?.continuable, (await store.find(next(run, id)))?.status], [true, 'pending'])
    assert.deepEqual(await textsOf(queued), [])
    // The repeat leaves the queue as well, and keeps the positions of its messages.
    const by = { holder: 'process-2', queueOrder: queued.queueOrder + 1, now: hour + 6, messages: queued.messages }
    assert.equal((await store.takeOver(queued, { fence: 1, status: 'error' }, by))?.kind, 'waiting')
    await store.leaveQueue({ ...queued, fence: 2 }, hour + 7)
    assert.deepEqual([(await store.find(queued))?.continuable, (await store.messagesTo(queued)).length], [true, 1])
  })

  test('a chat that has taken the request id of a message does not stop the end of the run', async () => {
    const { store, start, send, next } = setUp()
    const { run, turn } = await start()
    const { id } = await send(run, 'one')
    await store.begin({ ...run, requestId: id, sessionId: 'another', sessionKey: randomUUID() })
    const continued = await store.finish(run, 1, endOf(turn))
    assert.notEqual(continued?.requestId, id)
    assert.equal((await store.find(next(run, continued!.requestId)))?.request?.messages[0]?.content, 'one')
  })
}
