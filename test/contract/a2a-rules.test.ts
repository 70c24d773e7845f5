import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sending } from '../fixtures/approvals.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import type { Reply } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

/**
 * Rules of A2A 1.0 as the public compatibility kit checks them, on the wire of both bindings. The numbers are sections of the specification.
 */
test('A2A: rules of the specification hold on both bindings', async (t) => {
  const { tool } = sending()
  const script = ({ body }: ModelServerRequest) => {
    const last = body.messages.at(-1)
    return last.role === 'user' && /wait/.test(last.content) ? callOf('send', { to: 'Bob' }) : { text: ['It ', 'is.'], pauseMs: 20 }
  }
  const { client } = await startService(t, { script, tools: [tool] })
  const headers = { 'a2a-version': '1.0' }
  const rpc = (method: string, params: object, id: unknown = 1) =>
    client.request('POST', '/a2a', { headers, body: { jsonrpc: '2.0', id, method, params } })
  const bindings = {
    JSONRPC: {
      send: (params: object) => rpc('SendMessage', params),
      stream: (params: object) => rpc('SendStreamingMessage', params),
      resultOf: ({ body }: Reply) => body.result,
      eventsOf: ({ text }: Reply) => dataOf(text).map(({ result }) => result),
      reasonOf: ({ body }: Reply) => body.error.data[0].reason,
    },
    'HTTP+JSON': {
      send: (body: object) => client.request('POST', '/a2a/v1/message:send', { headers, body }),
      stream: (body: object) => client.request('POST', '/a2a/v1/message:stream', { headers, body }),
      resultOf: ({ body }: Reply) => body,
      eventsOf: ({ text }: Reply) => dataOf(text),
      reasonOf: ({ body }: Reply) => body.error.details[0].reason,
    },
  }
  const message = (text: string, more: object = {}) => ({ message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], ...more } })

  for (const [name, { send, stream, resultOf, eventsOf, reasonOf }] of Object.entries(bindings)) {
    await t.test(
      `${name}: a task has its required fields, in camel case, with names of states and times in UTC (4.1, 5.5, 5.6)`,
      async () => {
        const { task } = resultOf(await send(message('Is it?')))
        assert.deepEqual(Object.keys(task).toSorted(), ['artifacts', 'contextId', 'history', 'id', 'status'])
        assert.equal(task.status.state, 'TASK_STATE_COMPLETED')
        assert.match(task.status.timestamp, /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/)
        assert.deepEqual([task.history[0].role, task.history[0].taskId], ['ROLE_USER', task.id])
      },
    )

    await t.test(`${name}: a message to an ended task, to no task, or of another context is refused (3.4.2, 3.4.3)`, async () => {
      const { task } = resultOf(await send(message('Is it?')))
      assert.equal(reasonOf(await send(message('And?', { taskId: task.id }))), 'UNSUPPORTED_OPERATION')
      assert.equal(reasonOf(await send(message('And?', { taskId: 'none' }))), 'TASK_NOT_FOUND')
      const waiting = resultOf(await send(message('Please wait.'))).task
      assert.equal(waiting.status.state, 'TASK_STATE_INPUT_REQUIRED')
      assert.equal(reasonOf(await send(message('approve', { taskId: waiting.id, contextId: task.contextId }))), 'INVALID_PARAMS')
      const done = resultOf(await send(message('approve', { taskId: waiting.id }))).task
      assert.deepEqual([done.status.state, done.contextId], ['TASK_STATE_COMPLETED', waiting.contextId])
    })

    await t.test(`${name}: a stream is the task, then its updates in order, and closes at its end (3.1.2, 3.5.2)`, async () => {
      const events = eventsOf(await stream(message('Is it?')))
      assert.deepEqual(
        events.map((event) => Object.keys(event)[0]),
        ['task', 'artifactUpdate', 'artifactUpdate', 'statusUpdate'],
      )
      assert.equal(events.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED')
      assert.deepEqual(
        events.slice(1, 3).map(({ artifactUpdate }) => artifactUpdate.append ?? false),
        [false, true],
      )
    })

    await t.test(`${name}: a client may choose the context, and tasks of it are a conversation (3.4.1)`, async () => {
      const { task } = resultOf(await send(message('Is it?', { contextId: `chosen-by-${name.slice(0, 4)}` })))
      assert.equal(task.contextId, `chosen-by-${name.slice(0, 4)}`)
    })
  }

  await t.test('JSON-RPC: an answer has the id of its request, and unknown methods and versions have their codes (9.5)', async () => {
    for (const id of ['text', 7, null]) assert.equal((await rpc('ListTasks', {}, id)).body.id, id)
    assert.equal((await rpc('NoSuchMethod', {})).body.error.code, -32_601)
    assert.equal((await rpc('SendMessage', { message: 'text' })).body.error.code, -32_602)
    const other = { headers: { 'a2a-version': '99.0' }, body: { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} } }
    assert.equal((await client.request('POST', '/a2a', other)).body.error.code, -32_009)
  })
})

function dataOf(text: string): any[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))
}

test('A2A: the card for version 1.0 has the fields of 1.0 alone, and caches keep both apart', async (t) => {
  const { url } = await startService(t, { script: {} })
  const read = async (headers: Record<string, string>) => {
    const response = await fetch(`${url}/.well-known/agent-card.json`, { headers })
    return { fields: response.status === 200 ? Object.keys((await response.json()) as object) : [], response }
  }
  const current = await read({ 'a2a-version': '1.0' })
  const fields = ['capabilities', 'defaultInputModes', 'defaultOutputModes', 'description', 'name']
  assert.deepEqual(current.fields.toSorted(), [
    ...fields,
    'securityRequirements',
    'securitySchemes',
    'skills',
    'supportedInterfaces',
    'version',
  ])
  const legacy = await read({})
  assert.ok(legacy.fields.includes('preferredTransport') && legacy.fields.includes('url'))
  const [etag, other] = [current, legacy].map(({ response }) => response.headers.get('etag')!)
  assert.notEqual(etag, other)
  assert.match(current.response.headers.get('vary') ?? '', /a2a-version/i)
  const again = await read({ 'a2a-version': '1.0', 'if-none-match': etag! })
  assert.deepEqual(
    [again.response.status, again.response.headers.get('last-modified')],
    [304, current.response.headers.get('last-modified')],
  )
})

test('A2A: HTTP+JSON answers plain JSON to a client that accepts plain JSON', async (t) => {
  const { client } = await startService(t, { script: {} })
  const typeOf = async (path: string, accept: string | undefined, body?: object) => {
    const headers = { 'a2a-version': '1.0', ...(accept === undefined ? {} : { accept }) }
    const reply = await client.request(body ? 'POST' : 'GET', `/a2a/v1${path}`, { headers, ...(body ? { body } : {}) })
    return [reply.status, reply.headers.get('content-type')!.split(';')[0]]
  }
  const message = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }
  const [plain, own] = ['application/json', 'application/a2a+json']
  assert.deepEqual(await typeOf('/message:send', plain, message), [200, plain])
  assert.deepEqual(await typeOf('/message:send', `${plain}, text/event-stream`, message), [200, plain])
  assert.deepEqual(await typeOf('/message:send', `${plain}, ${own}`, message), [200, own])
  assert.deepEqual(await typeOf('/message:send', undefined, message), [200, own])
  assert.deepEqual(await typeOf('/tasks/none', plain), [404, plain])
  assert.deepEqual(await typeOf('/tasks/none', '*/*'), [404, own])
  assert.deepEqual(await typeOf('/nowhere', plain), [404, plain])
})
