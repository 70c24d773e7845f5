import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskState, type Part, type StreamResponse } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, TaskNotCancelableError, TaskNotFoundError } from '@a2a-js/sdk/errors'
import { all, answerOf, ask, atOnce, connect, naming, taskOf, text, textOf } from '../fixtures/a2a-client.ts'
import { makePdf } from '../fixtures/make-documents.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const drawing = fakeTool('drawing', async (_input, context) => {
  await context.artifact('plan.svg', 'image/svg+xml', Buffer.from('<svg/>'))
  return 'drawn'
})

/** The final task of a stream, assembled by the rules of the protocol. */
function read(events: readonly StreamResponse[]) {
  const states: TaskState[] = []
  const steps: string[] = []
  const artifacts = new Map<string, string>()
  for (const { payload } of events) {
    if (payload?.$case === 'task') states.push(payload.value.status!.state)
    if (payload?.$case === 'statusUpdate') {
      states.push(payload.value.status!.state)
      steps.push(...(payload.value.status!.message?.parts.map(textOf) ?? []))
    }
    if (payload?.$case !== 'artifactUpdate') continue
    const { artifact, append } = payload.value
    const before = append ? (artifacts.get(artifact!.artifactId) ?? '') : ''
    artifacts.set(artifact!.artifactId, before + artifact!.parts.map(textOf).join(''))
  }
  return { states, steps, answer: artifacts.get('answer'), artifacts }
}

async function untilAsked({ model }: TestService): Promise<void> {
  while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
}

test('A2A: the agent card is public and reveals no data', async (t) => {
  const secret = fakeTool('sales', async () => 1, { description: 'Regions: Atlantis, Mu.' })
  const starters = [{ title: 'Sales', message: 'What were the sales?' }]
  const config = { name: 'Seller', description: 'Sells.', conversation_starters: starters }
  const service = await startService(t, { tools: [secret], config, environment: { PUBLIC_URL: 'https://agents.example/base/' } })
  const response = await fetch(`${service.url}/.well-known/agent-card.json`)
  const body = await response.text()
  const card = JSON.parse(body)
  assert.equal(response.status, 200)
  assert.deepEqual(
    { name: card.name, description: card.description, streaming: card.capabilities.streaming },
    { name: 'Seller', description: 'Sells.', streaming: true },
  )
  assert.deepEqual(card.supportedInterfaces, [
    { url: 'https://agents.example/base/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://agents.example/base/a2a/v1', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: 'https://agents.example/base/a2a', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ])
  assert.deepEqual(card.skills[0].examples, ['What were the sales?'])
  assert.ok(body.includes('sales') && !body.includes('Atlantis'))
})

test('A2A: the agent card describes tools by their type, never by their own descriptions', async (t) => {
  const calculator = { name: 'sums', type: 'calculator' }
  const secret = { name: 'sales', type: 'data_query', config: { tables: { regions: 'regions.csv' } } }
  const service = await startService(t, { config: { tools: [calculator, secret] }, files: { 'regions.csv': 'region\nAtlantis\nMu\n' } })
  const [chat, ...skills] = (await service.client.request('GET', '/.well-known/agent-card.json')).body.skills
  assert.equal(chat.id, 'chat')
  assert.deepEqual(
    skills.map(({ id, description }: { id: string; description: string }) => [id, description]),
    [
      ['tool:sums', 'Evaluates expressions and converts units.'],
      ['tool:sales', 'Queries tables of data.'],
    ],
  )
})

test('A2A: the agent card can be cached and is sent again only after a change', async (t) => {
  const service = await startService(t, { config: { name: 'Seller' } })
  const get = (condition?: string) =>
    fetch(`${service.url}/.well-known/agent-card.json`, condition === undefined ? {} : { headers: { 'if-none-match': condition } })
  const first = await get()
  const etag = first.headers.get('etag')!
  assert.match(etag, /^"[\da-f]{64}"$/)
  assert.match(first.headers.get('cache-control')!, /^public, max-age=\d+$/)
  for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const same = await get(condition)
    assert.deepEqual(
      { status: same.status, text: await same.text(), etag: same.headers.get('etag') },
      { status: 304, text: '', etag },
      condition,
    )
    assert.equal(same.headers.get('cache-control'), first.headers.get('cache-control'))
  }
  assert.equal((await get('"other"')).status, 200)
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  await admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { name: 'Buyer' } } })
  const changed = await get(etag)
  assert.deepEqual({ status: changed.status, name: JSON.parse(await changed.text()).name }, { status: 200, name: 'Buyer' })
  assert.notEqual(changed.headers.get('etag'), etag)
})

test('A2A: another agent asks a question and continues in the returned context; a task is a run', async (t) => {
  const service = await startService(t, { script: [{ text: 'Hello Ann.' }, { text: 'Ann.' }] })
  const client = await connect(service)
  const first = await taskOf(client.sendMessage(ask('I am Ann.')))
  assert.deepEqual(
    { state: first.status?.state, answerOf: answerOf(first) },
    { state: TaskState.TASK_STATE_COMPLETED, answerOf: 'Hello Ann.' },
  )
  const second = await taskOf(client.sendMessage(ask('Who am I?', { contextId: first.contextId })))
  assert.equal(second.contextId, first.contextId)
  const texts = service.model.requests[1]!.body.messages.map((message: { content: string }) => message.content)
  assert.deepEqual(texts.slice(-3), ['I am Ann.', 'Hello Ann.', 'Who am I?'])
  assert.equal((await service.client.run(second.id)).body.session_id, first.contextId)

  await service.restart()
  const again = await (await connect(service)).getTask({ tenant: '', id: first.id })
  assert.deepEqual(again, first)
})

test('A2A: a stream sends steps as status, the answer as a growing artifact, and files as links', async (t) => {
  const script = [
    { text: 'I will draw. ', ...callOf('drawing') },
    { text: ['It is ', 'drawn.'], pauseMs: 20 },
  ]
  const service = await startService(t, { script, tools: [drawing] })
  const client = await connect(service)
  const events = await all(client.sendMessageStream(ask('Draw.')))
  const { states, steps, answer, artifacts } = read(events)
  assert.equal(events[0]?.payload?.$case, 'task')
  assert.equal(states.at(-1), TaskState.TASK_STATE_COMPLETED)
  const ids = events.flatMap(({ payload }) => (payload?.$case === 'statusUpdate' ? (payload.value.status?.message?.messageId ?? []) : []))
  assert.equal(new Set(ids).size, 2)
  assert.deepEqual(steps, ['drawing has started.', 'drawing has ended: success.'])
  assert.equal(answer, 'It is drawn.')
  assert.equal(artifacts.size, 2)

  const first = events[0]?.payload
  assert.ok(first?.$case === 'task')
  const task = await client.getTask({ tenant: '', id: first.value.id })
  assert.equal(answerOf(task), 'It is drawn.')
  const content = task.artifacts.find(({ name }) => name === 'plan.svg')?.parts[0]?.content
  assert.ok(content?.$case === 'url')
  assert.equal(await (await fetch(content.value)).text(), '<svg/>')
})

test('A2A: cancelling a task takes effect at once, down to the socket of the model', async (t) => {
  const service = await startService(t, { script: { text: ['a', 'b'], silentAfter: 1 } })
  const client = await connect(service)
  const started = await taskOf(client.sendMessage({ ...ask('Go on for ever.'), configuration: atOnce }))
  assert.equal(started.status?.state, TaskState.TASK_STATE_WORKING)
  await untilAsked(service)
  const following = all(client.resubscribeTask({ tenant: '', id: started.id }))
  const cancelled = await client.cancelTask(naming(started.id))
  assert.equal(cancelled.status?.state, TaskState.TASK_STATE_CANCELED)
  assert.equal(await service.model.requests[0]!.closedEarly, true)
  assert.equal(read(await following).states.at(-1), TaskState.TASK_STATE_CANCELED)
  await assert.rejects(client.cancelTask(naming(started.id)), TaskNotCancelableError)
  await assert.rejects(all(client.resubscribeTask({ tenant: '', id: started.id })), /has ended/)
})

test('A2A: a subscription begins with the current task: its answer so far and its start time', async (t) => {
  const service = await startService(t, { script: { text: ['It ', 'is', ' 3.'], silentAfter: 3 } })
  const client = await connect(service)
  const { id } = await taskOf(client.sendMessage({ ...ask('1 + 2?'), configuration: atOnce }))
  // The first subscriber shows that the answer has begun.
  let seen = ''
  for await (const { payload } of client.resubscribeTask({ tenant: '', id })) {
    if (payload?.$case === 'task') seen += answerOf(payload.value)
    if (payload?.$case === 'artifactUpdate') seen += payload.value.artifact!.parts.map(textOf).join('')
    if (seen === 'It is') break
  }
  const stream = client.resubscribeTask({ tenant: '', id })
  const first = ((await stream.next()).value as StreamResponse).payload
  assert.ok(first?.$case === 'task')
  const { status } = first.value
  assert.deepEqual({ state: status?.state, answerOf: answerOf(first.value) }, { state: TaskState.TASK_STATE_WORKING, answerOf: 'It is' })
  assert.equal(status?.timestamp, (await client.getTask({ tenant: '', id })).status?.timestamp)
  await client.cancelTask(naming(id))
  const rest = await all(stream)
  assert.deepEqual(read(rest).states, [TaskState.TASK_STATE_CANCELED])
  assert.equal(read(rest).artifacts.size, 0)
})

test('A2A: a task continues after its client disconnects', async (t) => {
  const gate = Promise.withResolvers<void>()
  const service = await startService(t, { script: { text: 'Done.', begins: gate.promise }, config: { limits: { reconnect_grace: 0 } } })
  const client = await connect(service)
  const leaving = new AbortController()
  const events = client.sendMessageStream(ask('Take your time.'), { signal: leaving.signal })
  const { value } = await events.next()
  await untilAsked(service)
  leaving.abort()
  await assert.rejects(all(events))
  gate.resolve()
  assert.ok(value?.payload?.$case === 'task')
  const { id } = value.payload.value
  const states = async () => (await client.getTask({ tenant: '', id })).status?.state
  while ((await states()) === TaskState.TASK_STATE_WORKING) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await states(), TaskState.TASK_STATE_COMPLETED)
})

test('Access: a task of another caller is not found, and its context is another session', async (t) => {
  const service = await startService(t, { script: { text: 'A secret.' } })
  const ann = await connect(service)
  const { id, contextId } = await taskOf(ann.sendMessage(ask('My secret is 42.')))
  const bob = await connect(service, { sub: 'bob' })
  await assert.rejects(bob.getTask({ tenant: '', id }), TaskNotFoundError)
  await assert.rejects(bob.cancelTask(naming(id)), TaskNotFoundError)
  await assert.rejects(all(bob.resubscribeTask({ tenant: '', id })), TaskNotFoundError)
  await assert.rejects(bob.sendMessage(ask('And?', { taskId: id })), TaskNotFoundError)
  const elsewhere = await connect(service, { sub: 'ann', tenant: 'other' })
  await assert.rejects(elsewhere.getTask({ tenant: 'default', id }), TaskNotFoundError)
  await bob.sendMessage(ask('What is it?', { contextId }))
  assert.ok(!JSON.stringify(service.model.requests[1]!.body).includes('42'))
})

test('Access: /a2a needs the permission chat', async (t) => {
  const service = await startService(t)
  const body = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } }
  const none = await fetch(`${service.url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.deepEqual(
    { status: none.status, 'www-authenticate': none.headers.get('www-authenticate') },
    { status: 401, 'www-authenticate': 'Bearer' },
  )
  const viewer = await service.as({ sub: 'vera', roles: ['viewer'] })
  const refused = await viewer.request('POST', '/a2a', { body, headers: { 'a2a-version': '1.0' } })
  assert.equal(refused.status, 403)
  assert.match(refused.body.body, /^RBAC: access denied.*chat/)
})

const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

test('A2A: text, images and text files are accepted, other parts are refused by type', async (t) => {
  const service = await startService(t, { script: { text: 'A pixel.' } })
  const client = await connect(service)
  const image: Part = { content: { $case: 'raw', value: pixel }, metadata: undefined, filename: 'a.png', mediaType: 'image/png' }
  await client.sendMessage(ask([text('What'), text('is it?'), image]))
  const { content } = service.model.requests[0]!.body.messages.at(-1)
  assert.ok(JSON.stringify(content).includes('What\\nis it?') && JSON.stringify(content).includes('data:image/'))

  const data: Part = { content: { $case: 'data', value: { a: 1 } }, metadata: undefined, filename: '', mediaType: '' }
  const file: Part = { ...image, content: { $case: 'raw', value: Buffer.from('Größe: 42') }, filename: 'size.txt', mediaType: 'text/plain' }
  const named = await taskOf(client.sendMessage(ask([text('How large?'), { ...file, mediaType: 'text/csv; charset=UTF-8' }, file])))
  const { content: asked } = service.model.requests[1]!.body.messages.at(-1)
  assert.match(asked, /<(file-\w+) name="size\.txt" characters="9">\nGröße: 42\n<\/\1>\n\nHow large\?$/)
  assert.match((await service.client.run(named.id)).body.outcome.input, /How large\?$/)
  const { sessions } = (await service.client.request('GET', '/core/v1/sessions')).body
  assert.ok(JSON.stringify(sessions).includes('"How large?"'))
  const latin: Part = { ...file, content: { $case: 'raw', value: Buffer.from('Größe', 'latin1') } }
  await assert.rejects(client.sendMessage(ask([latin])), /message\.parts\[0\]\.raw must be text in UTF-8/)
  await assert.rejects(client.sendMessage(ask([{ ...file, mediaType: 'text/plain; charset=latin1' }])), /charset=latin1 is not supported/)
  await assert.rejects(client.sendMessage(ask([{ ...file, filename: 'a'.repeat(256) }])), /filename must have at most 255/)
  const long: Part = { ...file, content: { $case: 'raw', value: Buffer.alloc(200_001, 'a') } }
  await assert.rejects(client.sendMessage(ask([long])), /at most 200000 characters/)

  const link: Part = { ...data, content: { $case: 'url', value: 'https://example.com/a.pdf' }, mediaType: 'application/pdf' }
  await assert.rejects(
    client.sendMessage(ask([text('x'), link])),
    /message\.parts\[1\]: files are not fetched .* Send the bytes of the file as raw/,
  )
  await assert.rejects(client.sendMessage(ask([{ ...image, mediaType: 'application/zip' }])), /application\/zip is not supported/)
  await assert.rejects(client.sendMessage(ask([{ ...image, mediaType: 'application/pdf' }])), ContentTypeNotSupportedError)
  await assert.rejects(client.sendMessage(ask([{ ...image, content: { $case: 'raw', value: Buffer.from('no image') } }])), /image/)
  await assert.rejects(client.sendMessage(ask([])), /must have a text/)
  await assert.rejects(client.sendMessage(ask('x', { contextId: '../up' })), /contextId/)
  assert.equal(service.model.requests.length, 2)

  const pdf: Part = {
    ...file,
    content: { $case: 'raw', value: makePdf(['The total is 42.']) },
    filename: 'a.pdf',
    mediaType: 'application/pdf',
  }
  await client.sendMessage(ask([text('Total?'), pdf]))
  assert.match(service.model.requests[2]!.body.messages.at(-1).content, /name="a\.pdf"[^>]*>[^]*The total is 42\.[^]*Total\?$/)
  await client.sendMessage(ask([text('How many?'), data]))
  assert.equal(service.model.requests[3]!.body.messages.at(-1).content, 'How many?\n{"a":1}', 'data is JSON for the model')
})

test('A2A: the context from headers and metadata reaches the tools', async (t) => {
  const seen: Readonly<Record<string, string>>[] = []
  const look = fakeTool('look', async (_input, { headers }) => {
    seen.push(headers)
    return 1
  })
  const service = await startService(t, { script: [callOf('look'), { text: 'Seen.' }], tools: [look] })
  const client = await connect(service, undefined, { headers: { 'stix-team': 'red' } })
  await client.sendMessage({ ...ask('Look.'), metadata: { 'Stix-Desk': '7', other: 1 } })
  assert.deepEqual(
    seen.map((headers) => ({ ...headers })),
    [{ 'stix-team': 'red', 'stix-desk': '7' }],
  )
})

test('Errors: over A2A a failing model is a failed task, and refusals are JSON-RPC errors', async (t) => {
  const limits = { access: { rate_limits: { default: { concurrent_runs: 1 } } } }
  const service = await startService(t, {
    script: (_request, index) => (index === 0 ? { status: 401, body: 'no' } : { text: ['a'], silentAfter: 1 }),
    config: limits,
  })
  const client = await connect(service)
  const failed = await taskOf(client.sendMessage(ask('Hi')))
  assert.equal(failed.status?.state, TaskState.TASK_STATE_FAILED)
  assert.match(failed.status?.message?.parts.map(textOf).join('') ?? '', /model/)

  const rpc = (body: object, headers = {}) =>
    service.client.request('POST', '/a2a', { body, headers: { 'a2a-version': '1.0', ...headers } })
  const running = await taskOf(client.sendMessage({ ...ask('For ever.'), configuration: atOnce }))
  const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }
  for (const method of ['SendMessage', 'SendStreamingMessage']) {
    const second = await rpc({ jsonrpc: '2.0', id: 7, method, params })
    assert.deepEqual({ status: second.status, 'retry-after': second.headers.get('retry-after') }, { status: 429, 'retry-after': '2' })
    assert.match(second.body.body, /of your runs/)
  }
  await client.cancelTask(naming(running.id))

  const codeOf = async (body: object, headers = {}) => (await rpc(body, headers)).body.error.code
  assert.equal(await codeOf({ jsonrpc: '2.0', id: 1, method: 'message/send', params: {} }), -32601)
  assert.equal(await codeOf({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {} }), -32602)
  const broken = await rpc({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', parts: [null] } } })
  assert.deepEqual(
    { code: broken.body.error.code, message: broken.body.error.message },
    { code: -32602, message: 'The params do not fit the method SendMessage.' },
  )
  assert.equal(await codeOf({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: '../x' } }), -32001)
  assert.equal(await codeOf({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } }, { 'a2a-version': '0.3' }), -32009)
})
