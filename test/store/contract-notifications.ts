import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobData } from '../../src/runs/jobs.ts'
import type { NotificationConfig } from '../../src/runs/run-store.ts'
import type { RunKey } from '../../src/runs/run.ts'
import { query, type Database } from '../../src/store/database.ts'
import { createSecretBox } from '../../src/store/secrets/secret-box.ts'
import { createNotificationStore } from '../../src/store/runs/notifications.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { endOf, hour, jobsOf, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

const config: NotificationConfig = {
  id: 'a',
  url: 'https://ann:hidden@x/hook',
  token: 'known',
  authentication: { scheme: 'Bearer', credentials: 'secret' },
  links: true,
}
const limits = { max: 2, now: hour }

function notificationsOf(database: Database) {
  const stored = storeOf(database)
  const notifications = createNotificationStore(database)
  const dueOf = async () => {
    const jobs = (await jobsOf(database, stored.tenant)).filter(({ kind }) => kind === 'notification')
    return jobs
      .map(({ data }) => JSON.parse(data) as JobData['notification'])
      .map(({ id, round }) => `${id} ${round}`)
      .sort()
  }
  const statesOf = async (key: RunKey) => (await notifications.list(key)).map(({ id, status, round }) => `${id} ${status} ${round}`)
  return { ...stored, notifications, dueOf, statesOf }
}

storeContract('push notifications of tasks', (database) => {
  test('a config is stored with its run, and its notification is queued with the end of the run', async () => {
    const { store, newRun, notifications, dueOf, statesOf } = notificationsOf(database())
    const run = newRun({ requestId: 'r1', notifications: [config] })
    const turn = await running(store, run)
    assert.deepEqual(await notifications.find(run, 'a'), { ...config, status: 'waiting', round: 0, tries: 0 })
    assert.deepEqual(await dueOf(), [])
    await store.finish(run, 1, endOf(turn))
    assert.deepEqual([await dueOf(), await statesOf(run)], [['a 1'], ['a pending 1']])
    assert.equal(await notifications.find({ ...run, owner: 'agent-core bob' }, 'a'), undefined)
    await notifications.record(run, 'a', 0, { at: 1, status: 500 }, { status: 'failed' })
    assert.deepEqual(await statesOf(run), ['a pending 1'])
    await notifications.record(run, 'a', 1, { at: 2, status: 204 }, { status: 'delivered' })
    assert.deepEqual(await statesOf(run), ['a delivered 1'])
  })

  test('a config that is added to a running run is notified at its end, one of an ended run at once', async () => {
    const { store, start, notifications, dueOf, statesOf } = notificationsOf(database())
    const { run, turn } = await start({ requestId: 'r1' })
    await notifications.add(run, config, limits)
    assert.deepEqual(await dueOf(), [])
    await store.finish(run, 1, endOf(turn))
    assert.deepEqual(await dueOf(), ['a 1'])
    await notifications.add(run, { ...config, id: 'b' }, limits)
    assert.deepEqual(await dueOf(), ['a 1', 'b 1'])
    await assert.rejects(notifications.add(run, { ...config, id: 'c' }, limits), /2 push notification configs/)
    await notifications.add(run, { ...config, url: 'https://y/hook' }, limits)
    assert.equal((await notifications.find(run, 'a'))?.url, 'https://y/hook')
    await notifications.remove(run, 'a')
    await notifications.remove(run, 'a')
    assert.deepEqual(await statesOf(run), ['b pending 1'])
    await assert.rejects(notifications.add({ ...run, requestId: 'none' }, config, limits), /no run none/)
  })

  test('a run that waits for a decision notifies, as does a run that ends without its turn', async () => {
    const { store, start, newRun, notifications, dueOf } = notificationsOf(database())
    const { run, turn } = await start({ requestId: 'r1', notifications: [config] })
    const data = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
    const log = { input: '', events: [] }
    const calls = [{ callId: 'c', tool: 'send', input: {}, by: 'caller' as const }]
    const times = { ranMs: 1, now: hour, expiresAt: hour * 2 }
    await store.interrupt(run, 1, { session: turn.session, sessionId: run.sessionId, step: 1, data, log, calls, jobs: [], ...times })
    assert.deepEqual(await dueOf(), ['a 1'])
    await start({ requestId: 'r2', sessionId: 't' })
    const waiting = newRun({ requestId: 'r3', sessionId: 't', notifications: [{ ...config, id: 'b' }] })
    assert.equal((await store.begin(waiting)).kind, 'waiting')
    await store.leaveQueue({ ...waiting, fence: 1 }, hour, { status: 'cancelled', continuable: false, error: undefined, log, jobs: [] })
    assert.deepEqual(await dueOf(), ['a 1', 'b 1'])
    await notifications.record(run, 'a', 1, { at: 1, status: 410 }, { status: 'gone' })
  })

  test('the secrets of a receiver are encrypted', async () => {
    const { newRun, tenant } = notificationsOf(database())
    const [older, newer] = ['an old secret key of 32 characters', 'a new secret key of 32 characters!']
    const box = createSecretBox([older])
    const run = newRun({ requestId: 'r1', notifications: [config] })
    await running(createRunStore(database(), { box }), run)
    const rows = async () => {
      const stored = database().db.selectFrom('task_notifications').select(['sealed', 'url']).where('tenant', '=', tenant)
      return (await query(database().all.read, stored)).rows
    }
    const [row] = await rows()
    assert.equal(row!.url, 'https://x/hook')
    const first = row!.sealed
    assert.doesNotMatch(first, /secret|known|hidden/)
    const both = createSecretBox([newer, older])
    assert.equal(both.isNewest(first), false)
    assert.deepEqual(await createNotificationStore(database(), { box: both }).find(run, 'a'), {
      ...config,
      status: 'waiting',
      round: 0,
      tries: 0,
    })
  })
})
