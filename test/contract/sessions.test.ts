import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

interface Listed {
  session_id: string
  checkpoint_id: string
  short_name: string
  created_at: string
}

test('Sessions: a session has its messages, with thinking and response metadata', async (t) => {
  const { client } = await startService(t, { script: { reasoning: 'hm', text: 'yes', usage: { input: 1, output: 2 } } })
  const before = Math.floor(Date.now() / 1000)
  await client.chat('really?', { 'session-id': 's', 'request-id': 'r' })
  const { status, body } = await client.session('s')
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body), ['session_id', 'short_name', 'created_at', 'updated_at', 'messages'])
  assert.deepEqual({ session_id: body.session_id, short_name: body.short_name }, { session_id: 's', short_name: 'really?' })
  for (const time of [body.created_at, body.updated_at]) assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  const [human, ai] = body.messages
  assert.deepEqual({ ...human, timestamp: 0 }, { role: 'human', content: 'really?', timestamp: 0 })
  assert.ok(Number.isInteger(ai.timestamp) && ai.timestamp >= before && ai.timestamp <= Date.now() / 1000)
  assert.deepEqual({ role: ai.role, content: ai.content }, { role: 'ai', content: 'yes' })
  assert.deepEqual(ai.additional_context, [{ context_type: 'reasoning', items: [{ content: 'hm' }] }])
  const { usage, intermediate_steps, ...metadata } = ai.response_metadata
  assert.deepEqual(metadata, { request_id: 'r', model: 'scripted', finish_reason: 'stop', generated_artifacts: [] })
  assert.deepEqual({ usage: usage[0].usage, stepCount: intermediate_steps.length }, { usage: 3, stepCount: 1 })
})

test('Sessions: a second turn sees the first, with its tool calls', async (t) => {
  const gate = gatedTool('look')
  gate.open()
  const { client, model } = await startService(t, {
    tools: [gate.tool],
    script: [callOf('look', { at: 'a' }), { text: 'one' }, { text: 'two' }],
  })
  await client.chat('first', { 'session-id': 's' })
  await client.chat('second', { 'session-id': 's' })
  const shown = model.requests[2]?.body.messages
  assert.deepEqual(
    shown.map((message: { role: string }) => message.role),
    ['user', 'assistant', 'tool', 'assistant', 'user'],
  )
  assert.equal(shown[1].tool_calls[0].function.arguments, '{"at":"a"}')
})

test('Sessions: one request runs at a time, in order of arrival', async (t) => {
  const gate = gatedTool('wait')
  const { client, model } = await startService(t, {
    tools: [gate.tool],
    script: (request, index) => (index === 0 ? callOf('wait') : { text: `to ${request.body.messages.at(-1).content}` }),
  })
  const ids = (request: string) => ({ 'session-id': 's', 'request-id': request })
  const first = client.chat('1', ids('r1'))
  await gate.entered
  const others = []
  for (const name of ['2', '3', '4', '5']) {
    others.push(client.chat(name, ids(`r${name}`)))
    // The next request arrives when this request is queued.
    await until(async () => (await client.run(`r${name}`)).body.status === 'pending', Boolean)
  }
  assert.equal(model.requests.length, 1)
  assert.equal((await client.run('r2')).body.started_at, null)
  gate.open()
  await Promise.all([first, ...others])
  const { messages } = (await client.session('s')).body
  assert.deepEqual(
    messages.filter((message: { role: string }) => message.role === 'human').map((message: { content: string }) => message.content),
    ['1', '2', '3', '4', '5'],
  )
  assert.deepEqual(
    messages.map((message: { role: string }) => message.role),
    ['human', 'ai', 'human', 'ai', 'human', 'ai', 'human', 'ai', 'human', 'ai'],
  )
})

test('Sessions: a chat that waits longer than max_session_wait is 409 SessionBusy, and may be repeated with the same id', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool],
    script: (_request, index) => (index === 0 ? callOf('wait') : { text: 'now' }),
    config: { limits: { max_session_wait: 0.1 } },
  })
  const first = client.chat('1', { 'session-id': 's' })
  await gate.entered
  const ids = { 'session-id': 's', 'request-id': 'r' }
  const { status, headers, body } = await client.chat('2', ids)
  assert.deepEqual({ status, details: body.details }, { status: 409, details: { error_type: 'SessionBusy' } })
  assert.ok(headers.has('retry-after'))
  assert.equal((await client.stream('3', { 'session-id': 's' })).status, 409)
  gate.open()
  await first
  assert.equal((await client.chat('2', ids)).body.body.output, 'now')
  assert.equal((await client.session('s')).body.messages.length, 4)
})

test('Sessions: a waiting client that disconnects leaves the queue', async (t) => {
  const gate = gatedTool('wait')
  const { client, model } = await startService(t, {
    tools: [gate.tool],
    script: (_request, index) => (index === 0 ? callOf('wait') : { text: 'ok' }),
    config: { limits: { reconnect_grace: 0.05 } },
  })
  const first = client.chat('1', { 'session-id': 's' })
  await gate.entered
  const leaving = new AbortController()
  const second = client.chat('2', { 'session-id': 's', 'request-id': 'r2' }, leaving.signal).catch(() => undefined)
  await until(async () => (await client.run('r2')).status === 200, Boolean)
  leaving.abort()
  await second
  await until(async () => (await client.run('r2')).status === 404, Boolean)
  const third = client.chat('3', { 'session-id': 's' })
  gate.open()
  await Promise.all([first, third])
  assert.deepEqual(
    (await client.session('s')).body.messages.map((message: { content: string }) => message.content),
    ['1', 'ok', '3', 'ok'],
  )
  assert.equal(model.requests.length, 3)
})

test('Sessions: a queued run can be cancelled, and is stored as cancelled', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), {}] })
  const first = client.chat('1', { 'session-id': 's' })
  await gate.entered
  const second = client.chat('2', { 'session-id': 's', 'request-id': 'r2' })
  await until(async () => (await client.run('r2')).body.status === 'pending', Boolean)
  assert.equal((await client.request('DELETE', '/core/v1/runs/r2')).body.status, 'cancelled')
  const { status, body } = await second
  assert.deepEqual({ status, details: body.details }, { status: 409, details: { error_type: 'Cancelled' } })
  gate.open()
  await first
  assert.equal((await client.session('s')).body.messages.length, 2)
})

test('Sessions: other sessions do not wait', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool],
    script: (_request, index) => (index === 0 ? callOf('wait') : { text: 'ok' }),
  })
  const first = client.chat('1', { 'session-id': 's1' })
  await gate.entered
  assert.equal((await client.chat('2', { 'session-id': 's2' })).status, 200)
  gate.open()
  await first
})

test('Sessions: the list has the most recent activity first, page by page', async (t) => {
  const { client } = await startService(t, { script: {} })
  for (const id of ['a', 'b', 'c', 'd', 'e']) await client.chat(`hello ${id}`, { 'session-id': id })
  const before = (await client.request('GET', '/core/v1/sessions')).body
  await client.chat('again', { 'session-id': 'b' })
  const all = (await client.request('GET', '/core/v1/sessions')).body
  const ids = (sessions: Listed[]) => sessions.map((session) => session.session_id)
  assert.deepEqual(ids(before.sessions), ['e', 'd', 'c', 'b', 'a'])
  assert.deepEqual(ids(all.sessions), ['b', 'e', 'd', 'c', 'a'])
  assert.deepEqual({ count: all.count, offset: all.offset }, { count: 5, offset: all.sessions.at(-1).checkpoint_id })
  assert.deepEqual(Object.keys(all.sessions[0]).sort(), ['checkpoint_id', 'created_at', 'session_id', 'short_name'])
  assert.equal(all.sessions[0].short_name, 'hello b')
  // The checkpoint id changes with every turn.
  const checkpoint = (sessions: Listed[]) => sessions.find((session) => session.session_id === 'b')?.checkpoint_id
  assert.notEqual(checkpoint(before.sessions), checkpoint(all.sessions))
  const pages = []
  for (let from = ''; ;) {
    const page = (await client.request('GET', `/core/v1/sessions?limit=2${from && `&before=${from}`}`)).body
    pages.push(ids(page.sessions))
    if (page.count === 0) {
      assert.equal(page.offset, '')
      break
    }
    from = page.sessions.at(-1).session_id
  }
  assert.deepEqual(pages, [['b', 'e'], ['d', 'c'], ['a'], []])
})

test('Sessions: a limit outside of 1-100 and an unknown before are 422', async (t) => {
  const { client } = await startService(t, { script: {} })
  for (const [query, name] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['before=nothing', 'before'],
    ['before=%00', 'before'],
  ] as const) {
    const { status, body } = await client.request('GET', `/core/v1/sessions?${query}`)
    assert.deepEqual({ status, loc: body.detail?.[0].loc }, { status: 422, loc: ['query', name] }, query)
  }
  assert.equal((await client.request('GET', '/core/v1/sessions?limit=100')).status, 200)
})

test('Sessions: short_name is at most 60 characters of the first message, cut at a word', async (t) => {
  const { client } = await startService(t, { script: {} })
  await client.chat('word '.repeat(20), { 'session-id': 's' })
  const { short_name } = (await client.session('s')).body
  assert.ok(short_name.length <= 60, short_name)
  assert.match(short_name, /^(word )+word…?$/)
})

test('Sessions: a session without messages is not listed', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: {} })
  assert.deepEqual((await client.request('GET', '/core/v1/sessions')).body, { sessions: [], offset: '', count: 0 })
})

test('Sessions: an unknown id is 404, an invalid id 422', async (t) => {
  const { client } = await startService(t, { script: {} })
  const unknown = await client.session('nothing')
  assert.deepEqual({ status: unknown.status, details: unknown.body.details }, { status: 404, details: { error_type: 'NotFound' } })
  const impossible = await client.session('-nothing')
  assert.deepEqual({ status: impossible.status, loc: impossible.body.detail[0].loc }, { status: 422, loc: ['path', 'session_id'] })
})

test('Sessions: a caller sees its own sessions, an administrator all of its tenant and none of another', async (t) => {
  const { client: ann, as } = await startService(t, { script: (_request, index) => ({ text: `answer ${index}` }) })
  const bob = await as({ sub: 'bob' })
  const stranger = await as({ sub: 'ann', tenant: 'other' })
  await ann.chat('by ann', { 'session-id': 'shared' })
  await bob.chat('by bob', { 'session-id': 'shared' })
  await bob.chat('only bob', { 'session-id': 'bobs' })
  await stranger.chat('by the stranger', { 'session-id': 'strange' })
  const list = async (who: typeof ann) => {
    const { sessions } = (await who.request('GET', '/core/v1/sessions')).body
    return sessions.map((session: Listed) => session.short_name).sort()
  }
  assert.deepEqual(await list(ann), ['by ann'])
  assert.deepEqual(await list(bob), ['by bob', 'only bob'])
  assert.deepEqual(await list(stranger), ['by the stranger'])
  assert.equal((await ann.session('shared')).body.messages[0].content, 'by ann')
  assert.equal((await ann.session('bobs')).status, 404)
  assert.equal((await ann.session('strange')).status, 404)
  const admin = await as({ sub: 'root', roles: ['admin'] })
  assert.deepEqual(await list(admin), ['by ann', 'by bob', 'only bob'])
  assert.equal((await admin.session('bobs')).status, 200)
  assert.equal((await admin.session('strange')).status, 404)
  const before = await admin.request('GET', '/core/v1/sessions?before=strange')
  assert.equal(before.status, 422)
  // An administrator's own session comes first when ids are equal.
  await admin.chat('by the administrator', { 'session-id': 'shared' })
  assert.equal((await admin.session('shared')).body.messages[0].content, 'by the administrator')
})

test('Sessions: a session and its queue survive a restart', async (t) => {
  const service = await startService(t, { script: (_request, index) => ({ text: `answer ${index}` }) })
  await service.client.chat('one', { 'session-id': 's' })
  await service.restart()
  await service.client.chat('two', { 'session-id': 's' })
  assert.deepEqual(
    (await service.client.session('s')).body.messages.map((message: { content: string }) => message.content),
    ['one', 'answer 0', 'two', 'answer 1'],
  )
})
