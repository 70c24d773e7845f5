import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskState } from '@a2a-js/sdk'
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import { all, answerOf, ask, atOnce, connect, naming, taskOf, type Binding } from '../fixtures/a2a-client.ts'
import { sending } from '../fixtures/approvals.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const bindings: Binding[] = ['JSONRPC', 'HTTP+JSON']

const listing = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
}

for (const binding of bindings) {
  test(`A2A: a client of the ${binding} binding sends, reads, streams, follows and cancels`, async (t) => {
    const script = [{ text: 'Hello Ann.' }, { text: ['It ', 'is.'] }, { text: ['a', 'b'], silentAfter: 1 }]
    const service = await startService(t, { script })
    const client = await connect(service, undefined, { binding })
    const first = await taskOf(client.sendMessage(ask('I am Ann.')))
    assert.deepEqual(
      { state: first.status?.state, answer: answerOf(first) },
      { state: TaskState.TASK_STATE_COMPLETED, answer: 'Hello Ann.' },
    )
    assert.deepEqual(await client.getTask({ tenant: '', id: first.id }), first)
    assert.deepEqual((await client.getTask({ tenant: '', id: first.id, historyLength: 0 })).history, [])
    const events = await all(client.sendMessageStream(ask('Is it?', { contextId: first.contextId })))
    const last = events.at(-1)?.payload
    assert.ok(events[0]?.payload?.$case === 'task' && last?.$case === 'statusUpdate')
    assert.equal(last.value.status?.state, TaskState.TASK_STATE_COMPLETED)

    const running = await taskOf(client.sendMessage({ ...ask('For ever.'), configuration: atOnce }))
    const following = all(client.resubscribeTask({ tenant: '', id: running.id }))
    const cancelled = await client.cancelTask(naming(running.id))
    assert.equal(cancelled.status?.state, TaskState.TASK_STATE_CANCELED)
    assert.equal((await following)[0]?.payload?.$case, 'task')
    await assert.rejects(client.cancelTask(naming(running.id)), TaskNotCancelableError)
    await assert.rejects(all(client.resubscribeTask({ tenant: '', id: running.id })), UnsupportedOperationError)
    await assert.rejects(client.getTask({ tenant: '', id: 'none' }), TaskNotFoundError)
  })

  test(`A2A: tasks of the ${binding} binding are listed by their last change, with filters and pages`, async (t) => {
    const { tool } = sending()
    const asked = { ...callOf('send', { to: 'Bob' }), text: 'One moment.' }
    const service = await startService(t, { script: [{ text: 'One.' }, asked, { text: 'Three.' }], tools: [tool] })
    const client = await connect(service, undefined, { binding })
    const one = await taskOf(client.sendMessage(ask('1?')))
    const two = await taskOf(client.sendMessage(ask('2?')))
    const three = await taskOf(client.sendMessage(ask('3?', { contextId: one.contextId })))
    const ids = async (request: object) => (await client.listTasks({ ...listing, ...request })).tasks.map(({ id }) => id)

    const whole = await client.listTasks(listing)
    assert.deepEqual(
      whole.tasks.map(({ id }) => id),
      [three.id, two.id, one.id],
    )
    assert.deepEqual(
      { next: whole.nextPageToken, size: whole.pageSize, total: whole.totalSize, artifacts: whole.tasks.flatMap((task) => task.artifacts) },
      { next: '', size: 50, total: 3, artifacts: [] },
    )
    const times = whole.tasks.map((task) => task.status!.timestamp!)
    assert.deepEqual(times, times.toSorted().toReversed())
    assert.equal(whole.tasks[1]!.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
    assert.deepEqual((await client.listTasks({ ...listing, includeArtifacts: true })).tasks.map(answerOf), ['Three.', '', 'One.'])

    const page = await client.listTasks({ ...listing, pageSize: 2 })
    assert.equal(page.totalSize, 3)
    assert.deepEqual(await ids({ pageSize: 2, pageToken: page.nextPageToken }), [one.id])
    assert.deepEqual(await ids({ contextId: one.contextId }), [three.id, one.id])
    assert.deepEqual(await ids({ status: TaskState.TASK_STATE_INPUT_REQUIRED }), [two.id])
    assert.deepEqual(await ids({ status: TaskState.TASK_STATE_COMPLETED }), [three.id, one.id])
    assert.deepEqual(await ids({ status: TaskState.TASK_STATE_REJECTED }), [])
    assert.deepEqual(await ids({ statusTimestampAfter: times[1]! }), [three.id, two.id])
    assert.deepEqual(
      (await client.listTasks({ ...listing, historyLength: 0 })).tasks.flatMap(({ history }) => history),
      [],
    )
    const faults = { pageSize: 0, historyLength: -1, contextId: '../x', pageToken: 'x', statusTimestampAfter: 'yesterday' }
    for (const [field, value] of Object.entries(faults))
      await assert.rejects(client.listTasks({ ...listing, [field]: value }), new RegExp(field), field)
    const bob = await connect(service, { sub: 'bob' }, { binding })
    assert.equal((await bob.listTasks(listing)).totalSize, 0)
  })

  test(`A2A: the extended card of the ${binding} binding shows what the caller may read`, async (t) => {
    const secret = fakeTool('sales', async () => 1, { description: 'Regions: Atlantis, Mu.' })
    const config = { access: { roles: { asker: ['chat'] } } }
    const service = await startService(t, { tools: [secret], config })
    const client = await connect(service, undefined, { binding })
    const { client: ann } = service
    const draft = { name: 'Reader', description: 'Reads.', objective: 'Read.', tools: ['sales'], workflow_type: 'react' }
    assert.equal((await ann.request('POST', '/core/v1/chain/sub_agents', { body: draft })).status, 200)
    const card = await client.getAgentCard()
    assert.deepEqual(
      card.skills.slice(1).map(({ id, description }) => [id.replace(/^(sub_agent):.*/, '$1'), description]),
      [
        ['tool:sales', 'Regions: Atlantis, Mu.'],
        ['sub_agent', 'Reads.'],
      ],
    )
    const asker = await connect(service, { sub: 'eve', roles: ['asker'] }, { binding })
    const narrow = await asker.getAgentCard()
    assert.deepEqual(
      narrow.skills.map(({ id }) => id),
      ['chat', 'tool:sales'],
    )
    assert.ok(!JSON.stringify(narrow).includes('Atlantis'))
  })
}

test('Errors: over A2A with HTTP and JSON, errors are google.rpc.Status', async (t) => {
  const service = await startService(t, { script: { text: 'Yes.' } })
  const headers = { 'a2a-version': '1.0' }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
  const request = (method: string, path: string, options: object = {}) =>
    service.client.request(method, `/a2a/v1${path}`, { headers, ...options })
  const statusOf = async (reply: ReturnType<typeof request>) => {
    const { status, headers: replyHeaders, body } = await reply
    assert.match(replyHeaders.get('content-type')!, /^application\/a2a\+json/)
    const [info] = body.error.details
    assert.equal(info['@type'], 'type.googleapis.com/google.rpc.ErrorInfo')
    assert.equal(body.error.code, status)
    return [status, body.error.status, info.reason, info.domain]
  }
  const own = 'a2a-protocol.org'
  assert.deepEqual(await statusOf(request('GET', '/tasks/none')), [404, 'NOT_FOUND', 'TASK_NOT_FOUND', own])
  const old = { headers: { 'a2a-version': '0.2' } }
  assert.deepEqual(await statusOf(request('GET', '/tasks', old)), [400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED', own])
  const empty = { body: { message: { ...message, parts: [] } } }
  assert.deepEqual(await statusOf(request('POST', '/message:send', empty)), [400, 'INVALID_ARGUMENT', 'INVALID_PARAMS', own])
  const broken = { body: { message: { ...message, parts: [null] } } }
  assert.deepEqual(await statusOf(request('POST', '/message:send', broken)), [400, 'INVALID_ARGUMENT', 'INVALID_PARAMS', own])
  const url = { body: { message: { ...message, parts: [{ url: 'https://a.example/x' }] } } }
  assert.deepEqual(await statusOf(request('POST', '/message:stream', url)), [400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED', own])
  const used = { headers: { ...headers, 'request-id': 'used' } }
  await request('POST', '/message:send', { ...used, body: { message } })
  const reused = { ...used, body: { message: { ...message, parts: [{ text: 'y' }] } } }
  assert.deepEqual(await statusOf(request('POST', '/message:send', reused)), [400, 'INVALID_ARGUMENT', 'INVALID_PARAMS', own])
  assert.deepEqual(await statusOf(request('GET', '/nothing')), [404, 'NOT_FOUND', 'NOT_FOUND', 'agent-core'])
  assert.deepEqual(await statusOf(request('PUT', '/tasks')), [405, 'UNIMPLEMENTED', 'METHOD_NOT_ALLOWED', 'agent-core'])
  const send = (type: string, key: string) =>
    fetch(`${service.url}/a2a/v1/message:send`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type, 'x-service-access': key },
      body: JSON.stringify({ message }),
    })
  const { key } = await service.key()
  const accepted = await send('application/a2a+json', key)
  assert.match(accepted.headers.get('content-type')!, /^application\/a2a\+json/)
  assert.equal(((await accepted.json()) as any).task.status.state, 'TASK_STATE_COMPLETED')
  assert.equal(((await (await send('text/plain', key)).json()) as any).error.details[0].reason, 'CONTENT_TYPE_NOT_SUPPORTED')
  const keyless = await send('application/json', '')
  assert.deepEqual([keyless.status, ((await keyless.json()) as any).error.status], [401, 'UNAUTHENTICATED'])
  const viewer = await service.as({ sub: 'vera', roles: ['viewer'] })
  const refused = await viewer.request('POST', '/a2a/v1/message:send', { headers, body: { message } })
  assert.deepEqual([refused.status, refused.body.error.details[0].reason], [403, 'FORBIDDEN'])
  assert.equal(
    (await viewer.request('POST', '/core/v1/chain', { headers: { 'content-type': 'application/a2a+json' }, body: {} })).status,
    403,
  )
})

test('A2A: a structured answer is text and data, in the task and at the end of the stream', async (t) => {
  const value = { total: 42 }
  const service = await startService(t, { script: { text: ['{"total"', ': 42}'] } })
  const client = await connect(service, undefined, { binding: 'HTTP+JSON' })
  const card = (await service.client.request('GET', '/.well-known/agent-card.json')).body
  const [{ uri }] = card.capabilities.extensions
  const schema = { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] }
  const metadata = { [uri]: { response_schema: schema } }
  const partsOf = (contents: ({ $case: string; value: unknown } | undefined)[]) => contents.map((content) => content?.value)
  const task = await taskOf(client.sendMessage({ ...ask('Total?'), metadata }))
  assert.deepEqual(partsOf(task.artifacts[0]!.parts.map(({ content }) => content)), ['{"total": 42}', value])
  const events = await all(client.sendMessageStream({ ...ask('Total?'), metadata }))
  const parts = events.flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? payload.value.artifact!.parts : []))
  assert.deepEqual(partsOf(parts.map(({ content }) => content)).at(-1), value)
  const faulty = { [uri]: { response_schema: { type: 'nonsense' } } }
  await assert.rejects(client.sendMessage({ ...ask('Total?'), metadata: faulty }), /response_schema/)
  await assert.rejects(client.sendMessage({ ...ask('Total?'), metadata: { [uri]: { response_schema: 7 } } }), /response_schema/)
})
