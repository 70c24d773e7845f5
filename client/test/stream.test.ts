import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { AgentCoreError, createClient, type Chunk, type ClientOptions, type RunStream } from '../src/index.ts'
import { serveReplies, type ScriptedReply } from './scripted-server.ts'

const question = { messages: [{ role: 'user' as const, content: 'Hello?' }] }
const ids = { requestId: 'r1', sessionId: 's1' }

function event(number: number, token: string, fields: Partial<Chunk> = {}): string {
  const chunk = { id: 'r1', token, agent_step: 'answer', finish_reason: 'null', usage: [], ...fields }
  return `id: r1:${number}\ndata: ${JSON.stringify(chunk)}\n\n`
}

const last = (number: number, finish_reason: Chunk['finish_reason'] = 'stop') => event(number, '', { finish_reason })
const retrying = (number: number) => event(number, '', { agent_step: 'retrying' })
const type = { 'content-type': 'text/event-stream; charset=utf-8', 'session-id': 's1' }

/** Sends the texts, then ends, or breaks the connection, or leaves it open. */
function events(texts: string[], end: 'ends' | 'breaks' | 'stays' = 'ends'): ScriptedReply {
  return (_, response) => {
    response.writeHead(200, type)
    response.write(texts.join(''), () => void (end === 'breaks' ? response.destroy() : end === 'ends' && response.end()))
  }
}

const breaks: ScriptedReply = (_, response) => void response.destroy()
const status = (code: number, body: object | string = '', headers: Record<string, string> = {}): ScriptedReply => {
  return (_, response) => void response.writeHead(code, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function start(t: TestContext, replies: ScriptedReply[], options: ClientOptions = {}) {
  const { url, requests } = await serveReplies(t, ...replies)
  const client = createClient({ baseUrl: url, accessKey: 'k', retryDelayMs: 1, ...options })
  const sent = () => requests.map(({ method, url, headers }) => [method, url, headers['last-event-id']].filter(Boolean).join(' '))
  return { client, requests, sent }
}

async function read(stream: RunStream): Promise<string[]> {
  const read: string[] = []
  for await (const { number, agent_step, token, finish_reason: reason } of stream)
    read.push(`${number} ${agent_step === 'answer' ? token : agent_step}${reason === 'null' ? '' : reason}`)
  return read
}

async function failureOf(call: Promise<unknown>): Promise<AgentCoreError> {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.ok(error instanceof AgentCoreError, String(error))
  return error
}

const started = 'POST /core/v1/chain_streaming'
const resumed = 'GET /core/v1/runs/r1/stream'

test('stream: a chat is sent with its ids and the key, and the stream ends with the last chunk', async (t) => {
  const { client, requests, sent } = await start(t, [events([event(1, 'a'), event(2, 'b'), last(3), event(4, 'never')])])
  const stream = client.stream(question, { ...ids, headers: { 'stix-user': 'u' } })
  assert.deepEqual({ requestId: stream.requestId, sessionId: stream.sessionId }, ids)
  assert.deepEqual(await read(stream), ['1 a', '2 b', '3 stop'])
  assert.deepEqual({ output: stream.output, number: stream.number }, { output: 'ab', number: 3 })
  assert.deepEqual(sent(), [started])
  const { 'request-id': requestId, 'session-id': sessionId, 'x-service-access': key, 'stix-user': user } = requests[0]!.headers
  assert.deepEqual({ requestId, sessionId, key, user }, { ...ids, key: 'k', user: 'u' })
  assert.deepEqual(await read(stream), [])
})

test('stream: ids are made before the request; a given request id leaves its session to the service', async (t) => {
  const { client, requests } = await start(t, [events([last(1)]), events([last(1)])])
  const stream = client.stream(question)
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  assert.match(stream.requestId, uuid)
  assert.match(stream.sessionId!, uuid)
  await read(stream)
  const repeated = client.stream(question, { requestId: 'r1' })
  await read(repeated)
  assert.deepEqual({ sent: requests[1]!.headers['session-id'], sessionId: repeated.sessionId }, { sent: undefined, sessionId: 's1' })
})

test('stream: a connection that breaks inside of an event or between events is resumed behind the last whole event', async (t) => {
  const { client, sent } = await start(t, [
    events([event(1, 'a'), event(2, 'b'), event(3, 'grün').slice(0, -20)], 'breaks'),
    breaks,
    events([event(3, 'grün')], 'breaks'),
    events([]),
    events([event(4, 'd'), last(5)]),
  ])
  const stream = client.stream(question, ids)
  assert.deepEqual(await read(stream), ['1 a', '2 b', '3 grün', '4 d', '5 stop'])
  assert.equal(stream.output, 'abgründ')
  assert.deepEqual(sent(), [started, `${resumed} r1:2`, `${resumed} r1:2`, `${resumed} r1:3`, `${resumed} r1:3`])
})

test('stream: a stream that is cut at any byte yields each chunk once', async (t) => {
  const whole = [event(1, 'ä'), ': keep-alive\n\n', event(2, '🌍'), last(3)].join('')
  const bytes = Buffer.from(whole)
  const cut = (at: number): ScriptedReply => {
    return (_, response) => void response.writeHead(200, type).write(bytes.subarray(0, at), () => response.destroy())
  }
  const rest: ScriptedReply = (request, response) => {
    const number = Number(String(request.headers['last-event-id'] ?? 'r1:0').slice(3))
    response.writeHead(200, type).end([event(1, 'ä'), event(2, '🌍'), last(3)].slice(number).join(''))
  }
  for (let at = 1; at <= bytes.length; at += 3) {
    const { client } = await start(t, [cut(at), rest])
    assert.deepEqual(await read(client.stream(question, ids)), ['1 ä', '2 🌍', '3 stop'], String(at))
  }
})

test('stream: before the first event the same chat is sent again, after the pause that the service asks for', async (t) => {
  const busy = status(503, { body: 'stopping', status_code: 503, details: { error_type: 'Overloaded' } }, { 'retry-after': '1' })
  const { client, requests, sent } = await start(t, [breaks, busy, status(502, '<html>'), events([event(1, 'a'), last(2)])])
  const begin = performance.now()
  assert.deepEqual(await read(client.stream(question, ids)), ['1 a', '2 stop'])
  assert.ok(performance.now() - begin >= 1000)
  assert.deepEqual(sent(), Array(4).fill(started))
  assert.deepEqual(new Set(requests.map(({ headers }) => headers['request-id'])), new Set(['r1']))
})

test('stream: after the last attempt the error is thrown; progress starts the count anew', async (t) => {
  const attempts: number[] = []
  const onRetry = ({ attempt }: { attempt: number }) => void attempts.push(attempt)
  const replies = [events([event(1, 'a')], 'breaks'), breaks, events([event(2, 'b')], 'breaks'), breaks, breaks, breaks]
  const { client, sent } = await start(t, replies, { retries: 2, onRetry })
  const error = await failureOf(read(client.stream(question, ids)))
  assert.deepEqual({ status: error.status, errorType: error.errorType }, { status: 0, errorType: 'NetworkError' })
  assert.equal(sent().length, 5)
  assert.deepEqual(attempts, [1, 2, 1, 2])
  const refused = createClient({ baseUrl: 'http://127.0.0.1:1', onRetry: () => false })
  assert.match((await failureOf(read(refused.stream(question)))).message, /^http:\/\/127\.0\.0\.1:1 cannot be reached/)
})

test('stream: a refusal is thrown at once, at the start and in the middle', async (t) => {
  const refusal = status(401, { body: 'JWT verification failed', status_code: 401, details: { error_type: 'Unauthorized' } })
  const { client, sent } = await start(t, [events([event(1, 'a')], 'breaks'), refusal])
  const seen: string[] = []
  const failing = async () => {
    for await (const { token } of client.stream(question, ids)) seen.push(token)
  }
  const error = await failureOf(failing())
  assert.deepEqual({ status: error.status, errorType: error.errorType, seen }, { status: 401, errorType: 'Unauthorized', seen: ['a'] })
  assert.equal(sent().length, 2)
  const started = await start(t, [status(422, { detail: [{ loc: ['body', 'messages'], msg: 'is missing', type: 'missing' }] })])
  assert.equal((await failureOf(read(started.client.stream(question)))).message, 'messages: is missing')
  assert.equal(started.sent().length, 1)
})

test('stream: 204 ends the stream of a run whose end the reader has', async (t) => {
  const { client, sent } = await start(t, [status(204)])
  assert.deepEqual(await read(client.runs.stream('r1', { lastEventId: 'r1:7' })), [])
  assert.deepEqual(sent(), [`${resumed} r1:7`])
  assert.throws(() => client.runs.stream('r1', { lastEventId: 'r1' }), TypeError)
})

test('stream: a retrying chunk leads back to a checkpoint; chunks that came before are not yielded twice', async (t) => {
  const { client, sent } = await start(t, [
    events([event(1, 'a'), event(2, 'b'), event(3, 'c'), event(4, 'd')], 'breaks'),
    events([retrying(2), event(3, 'C')], 'breaks'),
    events([event(2, 'b'), event(3, 'C'), event(4, 'D'), last(5)]),
  ])
  const stream = client.stream(question, ids)
  assert.deepEqual(await read(stream), ['1 a', '2 b', '3 c', '4 d', '2 retrying', '3 C', '4 D', '5 stop'])
  assert.equal(stream.output, 'CD')
  assert.deepEqual(sent(), [started, `${resumed} r1:4`, `${resumed} r1:3`])
})

test('stream: a run that starts again from its beginning is followed without a last event id', async (t) => {
  const { client, sent } = await start(t, [
    events([event(1, 'a')], 'breaks'),
    events([retrying(0)], 'breaks'),
    events([event(1, 'A'), last(2)]),
  ])
  assert.deepEqual(await read(client.stream(question, ids)), ['1 a', '0 retrying', '1 A', '2 stop'])
  assert.deepEqual(sent(), [started, `${resumed} r1:1`, resumed])
})

test('stream: missing events are asked for again', async (t) => {
  const { client, sent } = await start(t, [
    events([event(1, 'a'), event(3, 'c'), last(4)]),
    events([event(2, 'b'), event(3, 'c'), last(4)]),
  ])
  assert.deepEqual(await read(client.stream(question, ids)), ['1 a', '2 b', '3 c', '4 stop'])
  assert.deepEqual(sent(), [started, `${resumed} r1:1`])
})

test('stream: a silent connection is replaced, a slow one with comments is not', async (t) => {
  const slow: ScriptedReply = (_, response) => {
    response.writeHead(200, type).write(event(1, 'a'))
    void (async () => {
      for (let count = 0; count < 30; count++) {
        await sleep(20)
        response.write(': keep-alive\n\n')
      }
      response.write(event(2, 'b'))
    })()
  }
  const never: ScriptedReply = () => undefined
  const { client, sent } = await start(t, [never, slow, events([last(3)])])
  assert.deepEqual(await read(client.stream(question, { ...ids, silenceMs: 500 })), ['1 a', '2 b', '3 stop'])
  assert.deepEqual(sent(), [started, started, `${resumed} r1:2`])
})

test('stream: leaving the loop, or aborting, closes the connection', async (t) => {
  const closed = Promise.withResolvers<string>()
  const open = (name: string): ScriptedReply => {
    return (_, response) => {
      response.on('close', () => closed.resolve(name))
      response.writeHead(200, type).write(event(1, 'a'))
    }
  }
  const first = await start(t, [open('left')])
  for await (const { token } of first.client.stream(question, ids)) if (token === 'a') break
  assert.equal(await closed.promise, 'left')

  const leaving = new AbortController()
  const second = await start(t, [events([event(1, 'a')], 'stays')])
  const reading = read(second.client.stream(question, { ...ids, signal: leaving.signal }))
  await sleep(50)
  leaving.abort(new Error('gone'))
  await assert.rejects(reading, { message: 'gone' })

  const waiting = new AbortController()
  const third = await start(t, [breaks], { retryDelayMs: 60_000, onRetry: () => waiting.abort(new Error('gone')) })
  await assert.rejects(read(third.client.stream(question, { signal: waiting.signal })), { message: 'gone' })
  await assert.rejects(read(third.client.stream(question, { signal: AbortSignal.abort() })), { name: 'AbortError' })
  assert.equal(third.sent().length, 1)
})

test('stream: a process that stops has handed the run over, so the stream goes on', async (t) => {
  const error = { body: 'The service is stopping.', status_code: 503, details: { error_type: 'Overloaded' } }
  const stopping = (number: number) => events([event(number, '', { finish_reason: 'error', error })])
  const begun = events([event(1, 'a'), event(2, '', { finish_reason: 'error', error })])
  const { client, sent } = await start(t, [stopping(1), begun, stopping(2), events([event(2, 'b'), last(3)])])
  assert.deepEqual(await read(client.stream(question, ids)), ['1 a', '2 b', '3 stop'])
  assert.deepEqual(sent(), [started, started, `${resumed} r1:1`, `${resumed} r1:1`])
  const failing = await start(t, [begun, stopping(2)], { retries: 1 })
  const failure = await failureOf(read(failing.client.stream(question, ids)))
  assert.deepEqual({ status: failure.status, errorType: failure.errorType }, { status: 503, errorType: 'Overloaded' })
})

test('stream: a failure of reading has the number of the event before, and the stream goes on behind that event', async (t) => {
  const failed = (number: number, status_code: number, error_type: string) =>
    event(number, '', { finish_reason: 'error', error: { body: 'Cannot read.', status_code, details: { error_type } } })
  const lost = events([event(1, 'a'), retrying(0), event(1, 'b'), failed(1, 503, 'StoreUnavailable')])
  const { client, sent } = await start(t, [lost, events([failed(1, 503, 'Overloaded')]), events([event(2, 'c'), last(3)])])
  assert.deepEqual(await read(client.stream(question, ids)), ['1 a', '0 retrying', '1 b', '2 c', '3 stop'])
  assert.deepEqual(sent(), [started, `${resumed} r1:1`, `${resumed} r1:1`])
  const unread = await start(t, [events([failed(0, 503, 'Overloaded')]), events([event(1, 'a'), last(2)])])
  assert.deepEqual(await read(unread.client.stream(question, ids)), ['1 a', '2 stop'])
  assert.deepEqual(unread.sent(), [started, started])
  const broken = await start(t, [events([event(1, 'a'), failed(1, 500, 'Exception')])])
  const failure = await failureOf(read(broken.client.stream(question, ids)))
  assert.deepEqual({ status: failure.status, errorType: failure.errorType }, { status: 500, errorType: 'Exception' })
})

test('stream: an interruption ends the stream, or is followed by the rest once the calls are decided', async (t) => {
  const call = { tool_call_id: 'c1', tool: 'send', tool_input: {} }
  const interruption = event(2, '', { finish_reason: 'approval_required', approval_required: { request_id: 'r1', calls: [call] } })
  const replies = [events([event(1, 'a'), interruption]), events([event(3, 'b'), last(4)])]
  const ending = await start(t, replies)
  const stream = ending.client.stream(question, ids)
  assert.deepEqual(await read(stream), ['1 a', '2 approval_required'])
  assert.deepEqual(await read(ending.client.runs.stream('r1', { lastEventId: stream.number })), ['3 b', '4 stop'])
  const going = await start(t, replies)
  assert.deepEqual(await read(going.client.stream(question, { ...ids, throughApprovals: true })), [
    '1 a',
    '2 approval_required',
    '3 b',
    '4 stop',
  ])
  assert.deepEqual(going.sent(), [started, `${resumed} r1:2`])
})

test('stream: the last event of a log is named as the service has named it', async (t) => {
  const approval_required = { request_id: 'r1', calls: [] }
  const interruption = event(2, '', { finish_reason: 'approval_required', approval_required }).replace('r1:2', 'r1:02')
  const first = events([event(1, 'a'), interruption])
  const { client, sent } = await start(t, [first, events([event(3, 'b'), last(4).replace('r1:4', 'r1:04')]), status(204)])
  const stream = client.stream(question, { ...ids, throughApprovals: true })
  assert.deepEqual(await read(stream), ['1 a', '2 approval_required', '3 b', '4 stop'])
  assert.deepEqual(await read(client.runs.stream('r1', stream)), [])
  assert.deepEqual(sent(), [started, `${resumed} r1:02`, `${resumed} r1:04`])
})

test('stream: what is no event stream of the service is an error', async (t) => {
  const html: ScriptedReply = (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
  const { client } = await start(t, [html, events(['id: r1:1\ndata: nonsense\n\n']), events([event(1, '').replace('r1:1', 'r1')])])
  for (const message of [/text\/html/, /cannot be read/, /cannot be read/]) {
    const error = await failureOf(read(client.stream(question)))
    assert.equal(error.errorType, 'InvalidReply')
    assert.match(error.message, message)
  }
})
