import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TaskState, type TaskPushNotificationConfig } from '@a2a-js/sdk'
import { TaskNotFoundError } from '@a2a-js/sdk/errors'
import { answerOf, ask, atOnce, connect, naming, taskOf, type Binding } from '../fixtures/a2a-client.ts'
import { sending } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import { startReceiver, verify, type Receiver } from '../fixtures/callback-receiver.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

function configOf({ url }: Receiver, fields: Partial<TaskPushNotificationConfig> = {}): TaskPushNotificationConfig {
  const authentication = { scheme: 'Bearer', credentials: 'for-the-receiver' }
  return { tenant: '', id: 'hook', taskId: '', url, token: 'known-token', authentication, ...fields }
}

const notifying = (config: TaskPushNotificationConfig) => ({ ...atOnce, returnImmediately: false, taskPushNotificationConfig: config })

async function start(t: TestContext, receiver: Receiver, script: object) {
  const { tool } = sending()
  const environment = { OUTBOUND_ALLOW: receiver.host, CALLBACK_SECRET: secret, CALLBACK_RETRY_SECONDS: '1' }
  return startService(t, { script: script as never, tools: [tool], environment })
}

test('A2A: a task notifies its address when it waits for the caller and when it has ended', async (t) => {
  const receiver = await startReceiver(t)
  const service = await start(t, receiver, [{ ...callOf('send', { to: 'Bob' }), text: 'One moment.' }, { text: 'Sent.' }])
  const client = await connect(service)
  const waiting = await taskOf(client.sendMessage({ ...ask('Write to Bob.'), configuration: notifying(configOf(receiver)) }))
  const first = await receiver.reaches(1)
  assert.equal(first.body.task.status.state, 'TASK_STATE_INPUT_REQUIRED')
  const { headers } = first
  assert.deepEqual(
    [headers['content-type'], headers.authorization, headers['x-a2a-notification-token']],
    ['application/a2a+json', 'Bearer for-the-receiver', 'known-token'],
  )
  verify(secret, first)

  await service.restart()
  const again = await connect(service)
  const done = await taskOf(again.sendMessage(ask('approve', { taskId: waiting.id })))
  assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED)
  const last = await receiver.reaches(2)
  assert.deepEqual(
    [last.body.task.id, last.body.task.status.state, last.body.task.artifacts[0].parts[0].text],
    [waiting.id, 'TASK_STATE_COMPLETED', 'Sent.'],
  )
  assert.notEqual(last.headers['webhook-id'], first.headers['webhook-id'])
})

test('A2A: a notification that fails is sent again under the same id', async (t) => {
  const receiver = await startReceiver(t, (_received, index) => (index === 0 ? 500 : 200))
  const service = await start(t, receiver, { text: 'Done.' })
  const client = await connect(service)
  await client.sendMessage({ ...ask('Go.'), configuration: notifying(configOf(receiver, { authentication: undefined, token: '' })) })
  const [first, second] = [await receiver.reaches(1), await receiver.reaches(2)]
  assert.equal(second.headers['webhook-id'], first.headers['webhook-id'])
  assert.deepEqual([second.headers.authorization, second.headers['x-a2a-notification-token']], [undefined, undefined])
})

test('A2A: notifications are listed with their attempts, with bodies for their owner alone', async (t) => {
  const receiver = await startReceiver(t, (_received, index, response) => void response.writeHead(index === 0 ? 500 : 200).end('thanks'))
  const service = await start(t, receiver, [{ ...callOf('send', { to: 'Bob' }), text: 'One moment.' }, { text: 'Sent.' }])
  const client = await connect(service)
  const url = receiver.url.replace('http://', 'http://me:hunter2@')
  const config = { ...configOf(receiver), url: `${url}?key=hunter3` }
  const waiting = await taskOf(client.sendMessage({ ...ask('Write to Bob.'), configuration: notifying(config) }))
  await receiver.reaches(2)
  await client.sendMessage(ask('approve', { taskId: waiting.id }))
  await receiver.reaches(3)
  const list = (caller: Client) => caller.request('GET', '/core/v1/callbacks?status=delivered')
  const { body } = await until(
    () => list(service.client),
    (reply) => reply.body.callbacks[0]?.attempts.length === 3,
  )
  const [{ attempts, created_at: _, ...listed }] = body.callbacks
  assert.deepEqual(
    [listed, body.has_more],
    [
      {
        request_id: waiting.id,
        issuer: 'agent-core',
        sub: 'ann',
        config_id: 'hook',
        url: `${receiver.url}?key=hunter3`,
        status: 'delivered',
      },
      false,
    ],
  )
  assert.deepEqual(
    attempts.map(({ status, request_body, response_body }: Record<string, string>) => [
      status,
      /TASK_STATE_[A-Z_]+/.exec(request_body!)?.[0],
      response_body,
    ]),
    [
      [500, 'TASK_STATE_INPUT_REQUIRED', 'thanks'],
      [200, 'TASK_STATE_INPUT_REQUIRED', 'thanks'],
      [200, 'TASK_STATE_COMPLETED', 'thanks'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(body), /known-token|for-the-receiver/)
  const operator = await list(await service.as({ sub: 'olga', roles: ['operator'] }))
  assert.doesNotMatch(operator.text, /hunter|thanks|TASK_STATE/)
  assert.deepEqual(operator.body.callbacks[0].attempts.length, 3)
  assert.deepEqual((await list(await service.as({ sub: 'bob' }))).body.callbacks, [])
  assert.equal((await service.client.request('POST', `/core/v1/runs/${waiting.id}/callback`)).status, 404)
})

for (const binding of ['JSONRPC', 'HTTP+JSON'] satisfies Binding[]) {
  test(`A2A: push notification configs of the ${binding} binding are created, read, listed and deleted by their owner`, async (t) => {
    const receiver = await startReceiver(t)
    const service = await start(t, receiver, [{ text: ['a', 'b'], silentAfter: 1 }, { text: 'Done.' }])
    const client = await connect(service, undefined, { binding })
    const running = await taskOf(client.sendMessage({ ...ask('For ever.'), configuration: atOnce }))
    const config = configOf(receiver, { taskId: running.id })
    const masked = { ...config, token: '', authentication: { scheme: 'Bearer', credentials: '' } }
    assert.deepEqual(await client.createTaskPushNotificationConfig(config), masked)
    const named = { tenant: '', taskId: running.id, id: 'hook' }
    assert.deepEqual(await client.getTaskPushNotificationConfig(named), masked)
    const withUser = await client.createTaskPushNotificationConfig({ ...config, url: config.url.replace('//', '//ann:hidden@') })
    assert.equal(withUser.url, config.url)
    await client.createTaskPushNotificationConfig(config)
    const unnamed = await client.createTaskPushNotificationConfig({ ...config, id: '' })
    const paging = { tenant: '', taskId: running.id, pageSize: 0, pageToken: '' }
    const { configs } = await client.listTaskPushNotificationConfig(paging)
    assert.deepEqual(configs.map(({ id }) => id).toSorted(), ['hook', unnamed.id].toSorted())
    const bob = await connect(service, { sub: 'bob' }, { binding })
    await assert.rejects(bob.getTaskPushNotificationConfig(named), TaskNotFoundError)
    await assert.rejects(bob.createTaskPushNotificationConfig(config), TaskNotFoundError)
    await assert.rejects(bob.deleteTaskPushNotificationConfig(named), TaskNotFoundError)

    for (let time = 0; time < 2; time++) await client.deleteTaskPushNotificationConfig({ ...named, id: unnamed.id })
    await client.cancelTask(naming(running.id))
    assert.equal((await receiver.reaches(1)).body.task.status.state, 'TASK_STATE_CANCELED')

    const ended = await taskOf(client.sendMessage(ask('Now?')))
    assert.equal(answerOf(ended), 'Done.')
    await client.createTaskPushNotificationConfig({ ...config, taskId: ended.id })
    assert.equal((await receiver.reaches(2)).body.task.id, ended.id)
    await client.deleteTaskPushNotificationConfig(named)
    await assert.rejects(client.getTaskPushNotificationConfig(named), TaskNotFoundError)
  })
}

test('A2A: push notification configs that cannot be used are refused by field', async (t) => {
  const receiver = await startReceiver(t)
  const service = await start(t, receiver, { text: 'Done.' })
  const client = await connect(service)
  const { id: taskId } = await taskOf(client.sendMessage(ask('Go.')))
  const config = configOf(receiver, { taskId })
  const refusals: [Partial<TaskPushNotificationConfig>, RegExp][] = [
    [{ url: 'http://127.0.0.1:1/hook' }, /url.*public address/],
    [{ url: 'file:///etc/passwd' }, /url.*http/],
    [{ url: `${receiver.url}?${'a'.repeat(2048)}` }, /url.*2048/],
    [{ id: '../x' }, /id of a push/],
    [{ token: 'a\r\nb: c' }, /token/],
    [{ authentication: { scheme: 'Bearer', credentials: 'é' } }, /authentication\.credentials/],
    [{ authentication: { scheme: 'Be arer', credentials: '' } }, /authentication\.scheme/],
  ]
  for (const [fields, reason] of refusals) {
    await assert.rejects(client.createTaskPushNotificationConfig({ ...config, ...fields }), reason)
    await assert.rejects(client.sendMessage({ ...ask('Go.'), configuration: notifying({ ...config, ...fields }) }), reason)
  }
  for (let n = 0; n < 10; n++) await client.createTaskPushNotificationConfig({ ...config, id: `hook-${n}` })
  await assert.rejects(client.createTaskPushNotificationConfig({ ...config, id: 'hook-10' }), /10 push notification configs/)
  assert.equal(service.model.requests.length, 1)
})

test('A2A: a message that decides nothing stores no push notification config', async (t) => {
  const receiver = await startReceiver(t)
  const service = await start(t, receiver, [callOf('send', { to: 'Bob' })])
  const client = await connect(service)
  const { id: taskId } = await taskOf(client.sendMessage(ask('Write to Bob.')))
  const unreadable = { ...ask('Perhaps.', { taskId }), configuration: notifying(configOf(receiver)) }
  await assert.rejects(client.sendMessage(unreadable), /waits for approval/)
  const { configs } = await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' })
  assert.deepEqual(configs, [])
})
