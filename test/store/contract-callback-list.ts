import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callbackJob } from '../../src/runs/callbacks/callbacks.ts'
import type { CallbackPage } from '../../src/runs/callbacks/callback-list.ts'
import type { NewRun } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createCallbackListStore, createCallbackStore } from '../../src/store/runs/callbacks.ts'
import { createNotificationStore } from '../../src/store/runs/notifications.ts'
import { hour, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

function callbacksOf(database: Database) {
  const { store, newRun, tenant } = storeOf(database)
  const callbacks = createCallbackStore(database)
  const notifications = createNotificationStore(database)
  const list = createCallbackListStore(database)
  const ann = { tenant, owner: 'agent-core ann' }
  const add = async (requestId: string, change: Partial<NewRun> = {}) => {
    const event = { key: `${change.owner} ${requestId}`, id: 'e', callbackUrl: 'https://x/hook' }
    const run = newRun({ requestId, sessionId: requestId, operation: 'chain_async', event, ...change })
    await store.begin(run)
    return run
  }
  const pageOf = (page: Partial<CallbackPage>) =>
    list.list(ann, { status: undefined, limit: 100, anyOwner: true, before: undefined, ...page })
  const idsOf = async (page: Partial<CallbackPage> = {}) => (await pageOf(page)).map(({ requestId }) => requestId)
  return { callbacks, notifications, list, ann, add, pageOf, idsOf, tenant }
}

storeContract('the list of callbacks', (database) => {
  test('callbacks are listed by owner, status and time, in pages without gaps', async () => {
    const { callbacks, list, ann, add, pageOf, idsOf } = callbacksOf(database())
    const runs = []
    for (const [n, time] of [1, 2, 2, 3].entries()) runs.push(await add(`r${n}`, { now: hour + time }))
    await add('r1', { now: hour + 2, owner: 'idp bob' })
    await callbacks.record(runs[0]!, 0, { at: 1, status: 200 }, { status: 'delivered' })
    await callbacks.record(runs[1]!, 0, { at: 1, status: 500 }, { status: 'failed' })
    const whole = ['r3', 'r2', 'r1', 'r1', 'r0']
    assert.deepEqual(await idsOf(), whole)
    assert.deepEqual(await idsOf({ anyOwner: false }), ['r3', 'r2', 'r1', 'r0'])
    for (const anyOwner of [true, false]) {
      assert.deepEqual(await idsOf({ anyOwner, status: 'delivered' }), ['r0'])
      assert.deepEqual(await idsOf({ anyOwner, status: 'failed' }), ['r1'])
      assert.deepEqual(await idsOf({ anyOwner, status: 'gone' }), [])
    }
    assert.deepEqual(await idsOf({ status: 'pending' }), ['r3', 'r2', 'r1'])
    const pages: string[] = []
    let before: CallbackPage['before']
    for (;;) {
      const page = await pageOf({ limit: 2, before })
      pages.push(...page.map(({ requestId }) => requestId))
      before = page.at(-1)
      if (!before) break
    }
    assert.deepEqual(pages, whole)
    const anyPage = { status: undefined, limit: 9, anyOwner: true, before: undefined }
    assert.deepEqual(await list.list({ ...ann, tenant: 'other' }, anyPage), [])
  })

  test('notifications of tasks are listed with the callbacks, in pages without gaps', async () => {
    const { callbacks, notifications, add, pageOf } = callbacksOf(database())
    const config = { url: 'https://ann:hidden@x/a2a', links: false }
    const [first, second] = [await add('r1'), await add('r2')]
    await add('r3', { owner: 'idp bob', notifications: [{ ...config, id: 'b' }] })
    for (const run of [first, second])
      for (const id of ['a', 'b']) await notifications.add(run, { ...config, id }, { max: 9, now: run.now })
    const namesOf = async (page: Partial<CallbackPage>) =>
      (await pageOf(page)).map(({ requestId, configId }) => `${requestId} ${configId || 'callback'}`)
    const whole = ['r3 b', 'r3 callback', 'r2 b', 'r2 a', 'r2 callback', 'r1 b', 'r1 a', 'r1 callback']
    assert.deepEqual(await namesOf({}), whole)
    assert.deepEqual(await namesOf({ anyOwner: false }), whole.slice(2))
    assert.deepEqual(await namesOf({ status: 'pending' }), whole)
    for (let at = 0; at < whole.length; at++) {
      const page = await pageOf({ limit: at + 1 })
      assert.deepEqual(await namesOf({ before: page.at(-1) }), whole.slice(at + 1))
    }

    await notifications.record(first, 'a', 0, { at: 1, status: 500, requestBody: 'sent' }, { status: 'pending', nextAt: hour })
    await notifications.record(first, 'a', 0, { at: 2, status: 410 }, { status: 'gone' })
    await callbacks.record(first, 0, { at: 1, status: 410 }, { status: 'gone' })
    for (const anyOwner of [true, false]) assert.deepEqual(await namesOf({ status: 'gone', anyOwner }), ['r1 a', 'r1 callback'])
    const [listed] = await pageOf({ status: 'gone' })
    assert.deepEqual(listed, {
      ...{ tenant: first.tenant, owner: first.owner, requestId: 'r1', configId: 'a', eventId: '', url: 'https://x/a2a', status: 'gone' },
      attempts: [
        { at: 1, status: 500, requestBody: 'sent' },
        { at: 2, status: 410 },
      ],
      ...{ createdAt: first.now, nextAttemptAt: undefined },
    })
    // A new address begins without attempts.
    await notifications.add(first, { ...config, id: 'a', url: 'https://y' }, { max: 9, now: first.now })
    assert.deepEqual(
      (await pageOf({})).flatMap(({ url, attempts }) => (url.startsWith('https://y') ? [attempts] : [])),
      [[]],
    )
  })

  test('the next attempt is listed until the last, and again after a resend', async () => {
    const { callbacks, add, pageOf } = callbacksOf(database())
    const run = await add('r')
    const next = async () => (await pageOf({}))[0]?.nextAttemptAt
    assert.equal(await next(), undefined)
    await callbacks.record(run, 0, { at: 1, status: 500 }, { status: 'pending', nextAt: hour + 7 })
    assert.equal(await next(), hour + 7)
    await callbacks.record(run, 0, { at: 2, status: 500 }, { status: 'failed' })
    assert.equal(await next(), undefined)
    await callbacks.restart(run, (round) => callbackJob(run, { id: `${run.sessionKey} ${round}`, round, now: hour + 9 }))
    assert.equal(await next(), hour + 9)
    // An attempt of the first round that ends late does not know the plan of the second.
    await callbacks.record(run, 0, { at: 3, status: 500 }, { status: 'failed' })
    assert.equal(await next(), hour + 9)
  })

  test('the answers of the last ten attempts are kept', async () => {
    const { callbacks, add, pageOf } = callbacksOf(database())
    const run = await add('r')
    for (let at = 1; at <= 12; at++) await callbacks.record(run, 0, { at, status: 500, responseBody: `no ${at}` }, { status: 'pending' })
    const { attempts } = (await pageOf({}))[0]!
    assert.deepEqual(
      attempts.map(({ responseBody }) => responseBody),
      [undefined, undefined, ...Array.from({ length: 10 }, (_, n) => `no ${n + 3}`)],
    )
  })

  test('the runs of callbacks are found by their keys, and no others', async () => {
    const { list, add, ann, tenant } = callbacksOf(database())
    const [first] = [await add('r1'), await add('r2'), await add('r1', { owner: 'idp bob' })]
    const runs = await list.runsOf(tenant, [first, { ...ann, requestId: 'none' }])
    assert.deepEqual(
      runs.map(({ requestId, owner }) => [requestId, owner]),
      [['r1', ann.owner]],
    )
  })
})
