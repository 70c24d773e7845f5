import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { outputOf, type StreamEvent } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

/** Holds for every stream of every test: numbers from 1 without a gap, five fields on each chunk, one last chunk. */
function checkStream(events: readonly StreamEvent[], requestId: string, from = 1): void {
  for (const [at, { id, chunk }] of events.entries()) {
    assert.equal(id, `${requestId}:${from + at}`)
    assert.deepEqual(Object.keys(chunk).slice(0, 5), ['id', 'token', 'agent_step', 'finish_reason', 'usage'])
    assert.equal(chunk.id, requestId)
    const isLast = at === events.length - 1
    assert.equal(chunk.finish_reason === 'null', !isLast, `chunk ${at + 1} of ${events.length}`)
    if (!isLast) assert.deepEqual(chunk.usage, [])
  }
  const last = events.at(-1)?.chunk
  assert.deepEqual({ agent_step: last?.agent_step, token: last?.token }, { agent_step: 'answer', token: '' })
}

const labels = (events: readonly StreamEvent[]) => events.map(({ chunk }) => chunk.agent_step)
const endOf = (events: readonly StreamEvent[]) => events.at(-1)?.chunk.finish_reason

test('Streaming: chunks have all five fields, and the last has the usage of the whole run', async (t) => {
  const { client } = await startService(t, { script: { text: ['Hel', 'lo'], pauseMs: 5, usage: { input: 2, output: 3 } } })
  const stream = await client.stream('hi', { 'request-id': 'r' })
  assert.equal(stream.status, 200)
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.equal(stream.headers.get('cache-control'), 'no-store')
  assert.equal(stream.headers.get('x-accel-buffering'), 'no')
  const events = await stream.rest()
  checkStream(events, 'r')
  assert.equal(outputOf(events), 'Hello')
  assert.equal(endOf(events), 'stop')
  assert.equal(events.at(-1)?.chunk.usage[0]?.usage, 5)
})

test('Streaming: a tool step gives one chunk at its start and one with the step at its end', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: [{ ...callOf('wait'), text: 'First.' }, { text: 'Then.' }] })
  const stream = await client.stream('go', { 'request-id': 'r' })
  const early = [await stream.next(), await stream.next()] as StreamEvent[]
  assert.deepEqual(labels(early), ['answer', 'tool:wait'])
  assert.equal(early[1]?.chunk.step, undefined)
  gate.open()
  const events = [...early, ...(await stream.rest())]
  checkStream(events, 'r')
  assert.deepEqual(labels(events), ['answer', 'tool:wait', 'tool:wait', 'answer', 'answer'])
  assert.deepEqual(
    { token: events[2]?.chunk.token, status: events[2]?.chunk.step?.status, output: events[2]?.chunk.step?.output },
    { token: '', status: 'success', output: { done: 1 } },
  )
  assert.equal(outputOf(events), 'Then.')
})

test('Streaming: the output equals the output of chain, in whatever order a model thinks, answers and calls tools', async (t) => {
  const look = fakeTool('look', async () => ({}))
  const call = callOf('look')
  const scripts = [
    [{ reasoning: 'hm', text: 'a' }],
    [
      { ...call, text: 'the answer' },
      { text: [] as string[], finish: 'stop' },
    ],
    [{ ...call, text: 'before', reasoning: 'hm' }, { text: 'after' }],
    [
      { ...call, text: 'only this' },
      { reasoning: 'nothing to add', text: [] as string[] },
    ],
    [{ chunks: ['x', 'y'].map((content) => ({ choices: [{ index: 0, delta: { content, reasoning_content: 'mixed in' } }] })), text: [] }],
  ]
  for (const script of scripts) {
    const { client } = await startService(t, { tools: [look], script: [...script, ...script] })
    const events = await (await client.stream('go', { 'request-id': 'r' })).rest()
    checkStream(events, 'r')
    const { output } = (await client.run('r')).body.outcome
    assert.equal(outputOf(events), output)
    assert.equal((await client.chat('go')).body.body.output, output)
    assert.notEqual(output, '', JSON.stringify(script))
  }
})

test('Streaming: a model stream that breaks gives one retrying chunk, and the answer begins anew', async (t) => {
  const { client, model } = await startService(t, {
    script: [
      { text: ['half', ' an'], pauseMs: 5, finish: null },
      { text: 'whole', usage: { input: 1, output: 1 } },
    ],
  })
  const events = await (await client.stream('go', { 'request-id': 'r' })).rest()
  checkStream(events, 'r')
  assert.deepEqual(labels(events), ['answer', 'answer', 'retrying', 'answer', 'answer'])
  assert.equal(events[2]?.chunk.token, '')
  assert.equal(outputOf(events), 'whole')
  assert.equal(model.requests.length, 2)
  assert.equal((await client.run('r')).body.outcome.output, 'whole')
})

test('Streaming: a break before the first text gives no chunk', async (t) => {
  const { client } = await startService(t, { script: [{ breakAfter: 1 }, { text: 'whole' }] })
  const events = await (await client.stream('go', { 'request-id': 'r' })).rest()
  checkStream(events, 'r')
  assert.deepEqual(labels(events), ['answer', 'answer'])
})

test('Streaming: the tool calls of a broken stream are not run', async (t) => {
  let runs = 0
  const count = fakeTool('count', async () => ({ runs: ++runs }))
  const { client } = await startService(t, { tools: [count], script: [{ ...callOf('count'), finish: null }, { text: 'none' }] })
  assert.equal((await client.chat('go')).body.body.output, 'none')
  assert.equal(runs, 0)
})

test('Streaming: an error before the first chunk is an ordinary HTTP error', async (t) => {
  const { client } = await startService(t, { script: { status: 400, body: {} } })
  const stream = await client.stream('go', { 'request-id': 'r', 'session-id': 's' })
  assert.equal(stream.status, 502)
  assert.match(stream.headers.get('content-type') ?? '', /^application\/json/)
  assert.deepEqual(stream.body.details, { error_type: 'ModelUnavailable' })
  assert.deepEqual(
    { 'request-id': stream.headers.get('request-id'), 'session-id': stream.headers.get('session-id') },
    { 'request-id': 'r', 'session-id': 's' },
  )
})

test('Streaming: an error after the first chunk is one last chunk, and the response ends normally', async (t) => {
  const look = fakeTool('look', async () => ({}))
  const { client } = await startService(t, {
    tools: [look],
    script: [
      { ...callOf('look'), text: 'Let me see.' },
      { status: 400, body: {} },
    ],
  })
  const events = await (await client.stream('go', { 'request-id': 'r' })).rest()
  checkStream(events, 'r')
  const { finish_reason, error } = events.at(-1)!.chunk
  assert.deepEqual(
    { finish_reason, status_code: error?.status_code, details: error?.details },
    { finish_reason: 'error', status_code: 502, details: { error_type: 'ModelUnavailable' } },
  )
})

test('Streaming: a cancelled run has exactly one last chunk, with finish reason cancelled', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: callOf('wait') })
  const stream = await client.stream('go', { 'request-id': 'r' })
  await gate.entered
  await client.request('DELETE', '/core/v1/runs/r')
  const events = await stream.rest()
  checkStream(events, 'r')
  assert.equal(endOf(events), 'cancelled')
  assert.deepEqual(await (await client.follow('r')).rest(), events)
})

for (const [reason, script, config] of [
  ['timeout', { text: 'a', pauseMs: 5, silentAfter: 2 }, { max_execution_time: 0.2 }],
  ['length', { text: 'a', finish: 'length' }, {}],
  ['content_filter', { text: 'a', finish: 'content_filter' }, {}],
] as const) {
  test(`Streaming: a run that ends by ${reason} has exactly one last chunk`, async (t) => {
    const { client } = await startService(t, { script, config })
    const events = await (await client.stream('go', { 'request-id': 'r' })).rest()
    checkStream(events, 'r')
    assert.equal(endOf(events), reason)
    assert.deepEqual(await (await client.follow('r')).rest(), events)
  })
}

test('Streaming: a reader that reconnects with its last-event-id loses nothing and gets nothing twice', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, {
    tools: [gate.tool],
    script: [
      { ...callOf('wait'), text: ['a', 'b'], pauseMs: 5 },
      { text: ['c', 'd'], pauseMs: 5 },
    ],
  })
  const first = await client.stream('go', { 'request-id': 'r' })
  const got = [await first.next(), await first.next(), await first.next()] as StreamEvent[]
  first.leave()
  const second = await client.follow('r', got.at(-1)!.id)
  gate.open()
  const rest = await second.rest()
  checkStream([...got, ...rest], 'r')
  assert.equal(outputOf([...got, ...rest]), 'cd')
  // Its response began before a new event existed.
  assert.equal(rest[0]?.chunk.step?.status, 'success')
})

test('Streaming: a POST that is repeated with last-event-id reads on in its run, with a request-id of the client or without', async (t) => {
  for (const requestId of ['r', undefined]) {
    const gate = gatedTool('wait')
    const { client, model } = await startService(t, {
      tools: [gate.tool],
      script: [
        { ...callOf('wait'), text: ['a', 'b'], pauseMs: 5 },
        { text: ['c', 'd'], pauseMs: 5 },
      ],
    })
    const headers: Record<string, string> = requestId === undefined ? {} : { 'request-id': requestId }
    const first = await client.stream('go', headers)
    const got = [await first.next(), await first.next(), await first.next()] as StreamEvent[]
    first.leave()
    const lastId = got.at(-1)!.id
    const second = await client.stream('go', { ...headers, 'last-event-id': lastId })
    gate.open()
    const rest = await second.rest()
    checkStream([...got, ...rest], requestId ?? lastId.split(':')[0]!)
    assert.equal(outputOf([...got, ...rest]), 'cd')
    assert.equal(model.requests.length, 2, 'no second run')
    const after = { ...headers, 'last-event-id': rest.at(-1)!.id }
    assert.equal((await client.stream('go', after)).status, 204)
    assert.equal((await client.stream('another', after)).status, 409)
    assert.equal((await client.stream('go', { ...headers, 'last-event-id': 'x' })).status, 422)
    assert.equal((await client.stream('go', { 'request-id': 'other', 'last-event-id': lastId })).status, 422)
  }
})

test('Streaming: a replay after the end, and after a restart, has the same numbers and chunks', async (t) => {
  const look = fakeTool('look', async () => ({ seen: true }))
  const service = await startService(t, {
    tools: [look],
    script: [
      { ...callOf('look'), reasoning: ['h', 'm'], text: ['a', 'b'], pauseMs: 5, usage: { input: 2, output: 3 } },
      { text: ['c', 'ä', '\n'], pauseMs: 5 },
    ],
  })
  const events = await (await service.client.stream('go', { 'request-id': 'r' })).rest()
  checkStream(events, 'r')
  assert.deepEqual(await (await service.client.follow('r')).rest(), events)
  assert.deepEqual(await (await service.client.follow('r', 'r:4')).rest(), events.slice(4))
  assert.equal((await service.client.follow('r', events.at(-1)!.id)).status, 204)
  await service.restart()
  assert.deepEqual(await (await service.client.follow('r')).rest(), events)
  assert.deepEqual(await (await service.client.follow('r', events.at(-2)!.id)).rest(), events.slice(-1))
  const all = await service.client.follow('r', events.at(-1)!.id)
  assert.deepEqual({ status: all.status, rest: await all.rest() }, { status: 204, rest: [] })
})

test('Streaming: a chain can be followed as a stream too', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'done' }] })
  const chat = client.chat('go', { 'request-id': 'r' })
  await gate.entered
  const following = await client.follow('r')
  gate.open()
  const events = await following.rest()
  checkStream(events, 'r')
  assert.equal(outputOf(events), (await chat).body.body.output)
})

test('Streaming: an invalid last-event-id is 422; an unknown run, or a run of another caller, is 404', async (t) => {
  const { client, as } = await startService(t, { script: {} })
  await client.chat('go', { 'request-id': 'r' })
  for (const id of ['other:1', 'r', 'r:', 'r:-1', 'r:x', '1']) {
    const { status, body } = await client.follow('r', id)
    assert.deepEqual({ status, loc: body.detail[0].loc }, { status: 422, loc: ['header', 'last-event-id'] }, id)
  }
  assert.equal((await client.follow('nothing')).status, 404)
  const bob = await as({ sub: 'bob' })
  assert.equal((await bob.follow('r')).status, 404)
  assert.equal((await bob.run('r')).status, 404)
  assert.equal((await bob.request('DELETE', '/core/v1/runs/r')).status, 404)
})

for (const operation of ['chain', 'stream'] as const) {
  test(`Streaming: a ${operation} whose client disconnected is cancelled after the grace, down to the tool, and keeps its partial result`, async (t) => {
    const gate = gatedTool('wait')
    const { client } = await startService(t, {
      tools: [gate.tool],
      script: { ...callOf('wait'), text: 'I wait.' },
      config: { limits: { reconnect_grace: 0.1 } },
    })
    const ids = { 'request-id': 'r', 'session-id': 's' }
    if (operation === 'chain') {
      const leaving = new AbortController()
      const chat = client.chat('go', ids, leaving.signal).catch(() => undefined)
      await gate.entered
      leaving.abort()
      await chat
    } else {
      const stream = await client.stream('go', ids)
      await gate.entered
      stream.leave()
    }
    await gate.cancelled
    const events = await (await client.follow('r')).rest()
    checkStream(events, 'r')
    assert.equal(endOf(events), 'cancelled')
    assert.equal((await client.run('r')).body.status, 'cancelled')
    assert.equal((await client.session('s')).body.messages.at(-1).content, 'I wait.')
  })

  test(`Streaming: a ${operation} with on_disconnect continue runs on without its client`, async (t) => {
    const gate = gatedTool('wait')
    const { client } = await startService(t, {
      tools: [gate.tool],
      script: [callOf('wait'), { text: 'done' }],
      config: { limits: { reconnect_grace: 0 } },
    })
    const ids = { 'request-id': 'r' }
    const body = { messages: [{ role: 'user', content: 'go' }], on_disconnect: 'continue' }
    if (operation === 'chain') {
      const leaving = new AbortController()
      const chat = client.chat(body, ids, leaving.signal).catch(() => undefined)
      await gate.entered
      leaving.abort()
      await chat
    } else {
      const stream = await client.stream(body, ids)
      await gate.entered
      stream.leave()
    }
    // The grace is 0, so the run would be cancelled by now.
    await sleep(100)
    gate.open()
    const events = await (await client.follow('r')).rest()
    assert.deepEqual({ endOf: endOf(events), outputOf: outputOf(events) }, { endOf: 'stop', outputOf: 'done' })
  })
}

test('Streaming: cancelling a run closes the socket of the model', async (t) => {
  const { client, model } = await startService(t, { script: { text: ['a', 'b'], pauseMs: 5, silentAfter: 3 } })
  const stream = await client.stream('go', { 'request-id': 'r' })
  await stream.next()
  await client.request('DELETE', '/core/v1/runs/r')
  assert.equal(await model.requests[0]?.closedEarly, true)
  assert.equal(endOf(await stream.rest()), 'cancelled')
})

test('Streaming: many readers follow one run, each at its own pace', async (t) => {
  const gate = gatedTool('wait')
  const { client, model } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: ['a', 'b', 'c'], pauseMs: 5 }] })
  const first = await client.stream('go', { 'request-id': 'r' })
  await gate.entered
  const others = await Promise.all(Array.from({ length: 5 }, () => client.follow('r')))
  gate.open()
  const events = await first.rest()
  checkStream(events, 'r')
  for (const other of others) assert.deepEqual(await other.rest(), events)
  assert.equal(model.requests.length, 2)
})

test('Streaming: DELETE of an ended run is 409 RunEnded, of an unknown run 404', async (t) => {
  const { client } = await startService(t, { script: {} })
  await client.chat('go', { 'request-id': 'r' })
  const ended = await client.request('DELETE', '/core/v1/runs/r')
  assert.deepEqual({ status: ended.status, details: ended.body.details }, { status: 409, details: { error_type: 'RunEnded' } })
  assert.equal((await client.request('DELETE', '/core/v1/runs/nothing')).status, 404)
})
