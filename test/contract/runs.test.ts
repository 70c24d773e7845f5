import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

/** Routes under `/core/v1/runs`. */

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

test('Runs: a run can be read while queued, while running, and after its end', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'one' }, { text: 'two' }] })
  const ids = (request: string) => ({ 'session-id': 's', 'request-id': request })
  const first = client.chat('go', ids('r1'))
  await gate.entered
  const second = client.chat('next', ids('r2'))
  const running = (await client.run('r1')).body
  assert.deepEqual(Object.keys(running), ['request_id', 'session_id', 'status', 'created_at', 'started_at', 'ended_at'])
  assert.deepEqual(
    { request_id: running.request_id, session_id: running.session_id, status: running.status, ended_at: running.ended_at },
    { request_id: 'r1', session_id: 's', status: 'running', ended_at: null },
  )
  for (const time of [running.created_at, running.started_at]) assert.match(time, iso)
  await until(async () => (await client.run('r2')).status !== 404, Boolean)
  const waiting = (await client.run('r2')).body
  assert.deepEqual(
    { status: waiting.status, started_at: waiting.started_at, ended_at: waiting.ended_at },
    { status: 'pending', started_at: null, ended_at: null },
  )
  gate.open()
  const answers = [(await first).body.body, (await second).body.body]
  for (const [at, request] of ['r1', 'r2'].entries()) {
    const { status, body } = await client.run(request)
    assert.deepEqual([status, body.status, body.outcome], [200, 'success', answers[at]])
    assert.ok(!('error' in body))
    assert.ok(body.created_at <= body.started_at && body.started_at <= body.ended_at)
  }
})

test('Runs: a failed run has its error in the error shape, and no outcome', async (t) => {
  const { client } = await startService(t, { script: { status: 400, body: 'no' } })
  const chat = await client.chat('go', { 'request-id': 'r' })
  const { body } = await client.run('r')
  assert.deepEqual([body.status, body.error, 'outcome' in body], ['error', chat.body, false])
  assert.deepEqual({ status: chat.status, error_type: chat.body.details.error_type }, { status: 502, error_type: 'ModelUnavailable' })
})

test('Runs: DELETE cancels at once and answers with the run; a second DELETE is 409 RunEnded', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: { ...callOf('wait'), text: 'I wait.' } })
  const chat = client.chat('go', { 'request-id': 'r', 'session-id': 's' })
  await gate.entered
  const cancelled = await client.request('DELETE', '/core/v1/runs/r')
  assert.deepEqual([cancelled.status, cancelled.body.status, cancelled.body.request_id], [200, 'cancelled', 'r'])
  assert.match(cancelled.body.ended_at, iso)
  assert.deepEqual((await chat).body.details, { error_type: 'Cancelled' })
  const again = await client.request('DELETE', '/core/v1/runs/r')
  assert.deepEqual({ status: again.status, error_type: again.body.details.error_type }, { status: 409, error_type: 'RunEnded' })
})

test('Runs: a direct tool execution is not a run, and an id outside of the alphabet is 422', async (t) => {
  const { client } = await startService(t, { tools: [fakeTool('look', async () => ({}))], script: {} })
  const body = { tool_name: 'look', tool_input: {} }
  await client.request('POST', '/core/v1/tool/execute', { body, headers: { 'request-id': 'x' } })
  for (const [method, path] of [
    ['GET', '/core/v1/runs/x'],
    ['DELETE', '/core/v1/runs/x'],
    ['GET', '/core/v1/runs/x/stream'],
  ] as const)
    assert.equal((await client.request(method, path)).status, 404, `${method} ${path}`)
  const { status, body: reply } = await client.run('-x')
  assert.deepEqual({ status, loc: reply.detail[0].loc }, { status: 422, loc: ['path', 'request_id'] })
})

test('Runs: the stream of an ended run resumes from any number, and is 204 after the last', async (t) => {
  const { client } = await startService(t, { script: { text: ['a', 'b'], pauseMs: 5 } })
  await client.chat('go', { 'request-id': 'r' })
  const all = await (await client.follow('r')).rest()
  assert.deepEqual(
    all.map(({ id }) => id),
    all.map((_, at) => `r:${at + 1}`),
  )
  for (let after = 0; after <= all.length; after++) {
    const stream = await client.follow('r', after === 0 ? '' : `r:${after}`)
    assert.deepEqual(
      { status: stream.status, rest: await stream.rest() },
      { status: after === all.length ? 204 : 200, rest: all.slice(after) },
    )
  }
})

test('Runs: a reader beyond the last number gets one retrying chunk and then everything', async (t) => {
  const { client } = await startService(t, { script: { text: 'a' } })
  await client.chat('go', { 'request-id': 'r' })
  const all = await (await client.follow('r')).rest()
  const [first, ...rest] = await (await client.follow('r', 'r:99')).rest()
  assert.deepEqual(
    { agent_step: first!.chunk.agent_step, token: first!.chunk.token, finish_reason: first!.chunk.finish_reason },
    { agent_step: 'retrying', token: '', finish_reason: 'null' },
  )
  assert.deepEqual(rest, all)
})

test('Async: a chat of a killed process waits the grace for its client, ends as ProcessLost, and is continued by a repeat', async (t) => {
  const folder = await makeFolder(t)
  const asked = Promise.withResolvers<void>()
  let isSilent = true
  const model = await startModelServer(() => {
    asked.resolve()
    return isSilent ? { silentAfter: 0 } : { text: 'here' }
  })
  t.after(() => model.close())
  const llms = { primary: { provider: 'openai-compatible', model: 'scripted', base_url: model.url } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms, limits: { reconnect_grace: 1 } }))
  const first = await serve(t, folder)
  const ids = { 'session-id': 's', 'request-id': 'r' }
  const lost = first.client.chat('where are you?', ids).catch(() => undefined)
  await asked.promise
  first.child.kill('SIGKILL')
  await Promise.all([first.ended, lost])
  isSilent = false
  const { client } = await serve(t, folder)
  const run = await until(
    async () => (await client.run('r')).body,
    ({ status }) => status !== 'running' && status !== 'pending',
  )
  assert.deepEqual(
    { status: run.status, status_code: run.error.status_code, error_type: run.error.details.error_type },
    { status: 'error', status_code: 503, error_type: 'ProcessLost' },
  )
  assert.equal((await client.chat('where are you?', ids)).body.body.output, 'here')
  assert.deepEqual(
    (await client.session('s')).body.messages.map(({ content }: { content: string }) => content),
    ['where are you?', 'here'],
  )
})
