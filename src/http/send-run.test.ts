import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import Fastify from 'fastify'
import { ServiceError } from '../errors.ts'
import { EventLog, logStart } from '../runs/log/event-log.ts'
import { toFailedEnd } from '../runs/log/outcome.ts'
import type { OpenRun } from '../runs/open-run.ts'
import type { LoggedEvent } from '../runs/run.ts'
import { streamChunks } from './doors/core/chat.ts'
import { lastReceivedOf, sendLog, sendRun } from './send-run.ts'
import { EventResponse } from './server/sse.ts'

const text = (piece: string): LoggedEvent => ({ type: 'text', label: 'answer', text: piece })
const stop: LoggedEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [] }
const fault = toFailedEnd(new ServiceError('overloaded', 'The service is stopping.'))

/** `<id> <token or finish reason>` of each chunk. */
function linesOf(text: string): string[] {
  return [...text.matchAll(/id: (\S+)\ndata: (.*)\n/g)].map(([, id, data]) => {
    const { token, agent_step: label, finish_reason: reason } = JSON.parse(data!)
    return `${id} ${reason === 'null' ? token || label : reason}`
  })
}

/** Reads a log after a number of its client, or of the service itself. */
async function read(log: EventLog, after: number, isOwn = false): Promise<string[]> {
  const lines: string[] = []
  const disconnected = new AbortController().signal
  const reader = { stream: streamChunks('r1'), position: { after, isValid: isOwn }, disconnected, toFiles: async () => [] }
  const write = (text: string) => {
    lines.push(...linesOf(text))
    return undefined
  }
  const end = (text = '') => {
    write(text)
    lines.push('ended')
  }
  await sendLog(log, reader, { write, end, destroy: () => lines.push('destroyed') })
  assert.equal(lines.pop(), 'ended')
  return lines
}

test('a failure of reading has the number of the last event that the reader has received', async () => {
  const log = new EventLog({ events: [text('a'), text('b')] })
  log.fail(fault)
  assert.deepEqual(await read(log, 0), ['r1:1 a', 'r1:2 b', 'r1:2 error'])
  assert.deepEqual(await read(log, 1), ['r1:2 b', 'r1:2 error'])
  assert.deepEqual(await read(log, 2), ['r1:2 error'])
  assert.deepEqual(await read(log, 5), ['r1:5 error'], 'the copy of the log is behind its reader')
})

test('a reader without events gets a failure of reading with the number 0', async () => {
  const log = new EventLog()
  log.fail(fault)
  assert.deepEqual(await read(log, 0), ['r1:0 error'])
})

test('a reader whose events were revoked gets a failure of reading with the number of the last valid event', async () => {
  const log = new EventLog({ events: [text('a')], restoredAt: 1 })
  log.fail(fault)
  assert.deepEqual(await read(log, 3), ['r1:1 retrying', 'r1:1 error'])
})

test('a number that the service knows is of no lost attempt', async () => {
  const interrupt: LoggedEvent = { type: 'interrupt', calls: [], usage: [], thoughts: [] }
  const log = new EventLog({ events: [text('a'), interrupt, text('b'), stop], restoredAt: 0 })
  assert.deepEqual(await read(log, 2, true), ['r1:3 b', 'r1:04 stop'])
  assert.deepEqual(await read(log, 2), ['r1:0 retrying', 'r1:1 a', 'r1:2 answer', 'r1:3 b', 'r1:04 stop'])
})

test('the end of a run that failed is an event with a number', async () => {
  assert.deepEqual(await read(new EventLog({ events: [text('a'), fault] }), 0), ['r1:1 a', 'r1:2 error'])
})

test('a passed interruption stays an ordinary event where the reading fails behind it', async () => {
  const log = new EventLog()
  log.restore([{ type: 'interrupt', calls: [], usage: [], thoughts: [] }], undefined)
  log.fail(fault)
  assert.deepEqual(await read(log, 0), ['r1:1 answer', 'r1:1 error'])
})

test('a client that has gone before the failure of its log breaks nothing', async () => {
  const log = new EventLog()
  log.fail(fault)
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  response.destroy()
  const reader = { stream: streamChunks('r1'), position: logStart, disconnected: AbortSignal.abort(), toFiles: async () => [] }
  // A rejection that nobody handles would fail this test, and end the process of the service.
  await sendLog(log, reader, new EventResponse(response, 1000))
  await new Promise(setImmediate)
})

test('a projection that fails destroys the stream, for an event as for a fault', async () => {
  const fail = () => {
    throw new Error('broken')
  }
  for (const log of [new EventLog({ events: [text('a')] }), new EventLog()]) {
    log.fail(fault)
    const calls: string[] = []
    const stream = { opening: '', take: fail, last: fail, fault: fail, progress: () => '' }
    const reader = { stream, position: logStart, disconnected: new AbortController().signal, toFiles: async () => [] }
    await sendLog(log, reader, { write: () => undefined, end: () => calls.push('ended'), destroy: () => calls.push('destroyed') })
    assert.deepEqual(calls, ['destroyed'])
  }
})

/** Requests the stream of a run behind an event. Returns the status and the chunks. */
async function request(run: Pick<OpenRun, 'log' | 'whenResumed'>, id: string): Promise<[number, ...string[]]> {
  const app = Fastify().decorate('streamKeepAliveMs', 5000)
  app.get('/stream', (request, reply) => {
    const open = { requestId: 'r1', sessionId: 's', input: '', hasSchema: false, ended: Promise.resolve(), ...run } as OpenRun
    const chat = { run: open, disconnected: new AbortController().signal, toFiles: async () => [] }
    return sendRun(reply, { chat: Promise.resolve(chat) }, { ...lastReceivedOf(request, 'r1'), render: () => streamChunks('r1') })
  })
  const reply = await app.inject({ url: '/stream', headers: { 'last-event-id': id } })
  await app.close()
  return [reply.statusCode, ...linesOf(reply.body)]
}

test('a client with as many events of a lost attempt as the log has starts again; a client with the last event of the log does not', async () => {
  const log = new EventLog({ events: [text('a'), stop], restoredAt: 0 })
  const whole = ['r1:0 retrying', 'r1:1 a', 'r1:02 stop']
  assert.deepEqual(await request({ log }, ''), [200, ...whole.slice(1)])
  assert.deepEqual(await request({ log }, 'r1:2'), [200, ...whole])
  assert.deepEqual(await request({ log }, 'r1:02'), [204])
  assert.deepEqual(await request({ log: new EventLog({ events: [text('a'), stop] }) }, 'r1:2'), [204])
  // The end of an attempt that failed, behind which the run went on with other events.
  assert.deepEqual(await request({ log }, 'r1:01'), [200, ...whole])
  assert.deepEqual(await request({ log }, 'r1:03'), [200, ...whole])
})

test('a client of a failure learns what a repeat of the request has made of the run, though it ends with the same number', async () => {
  const failed: LoggedEvent = { ...stop, reason: 'error', error: { status: 503, body: 'The model is gone.' } as never }
  const log = new EventLog({ events: [text('a'), failed], restoredAt: 0 })
  assert.deepEqual(await request({ log }, ''), [200, 'r1:1 a', 'r1:002 error'])
  assert.deepEqual(await request({ log }, 'r1:002'), [204])
  const repeated = new EventLog({ events: [text('a'), stop], restoredAt: 0 })
  for (const id of ['r1:2', 'r1:002'])
    assert.deepEqual(await request({ log: repeated }, id), [200, 'r1:0 retrying', 'r1:1 a', 'r1:02 stop'])
  const mismatch: LoggedEvent = { ...failed, reason: 'schema_mismatch' }
  assert.deepEqual(
    (await request({ log: new EventLog({ events: [text('a'), mismatch], restoredAt: 0 }) }, '')).at(-1),
    'r1:002 schema_mismatch',
  )
  // The run goes on when the client comes back, and fails as before.
  const begun = new EventLog({ events: [], restoredAt: 0 })
  setTimeout(() => begun.append(failed), 20)
  assert.deepEqual(await request({ log: begun }, 'r1:001'), [200, 'r1:0 retrying', 'r1:001 error'])
})

test('a client of an interrupted run waits behind the interruption, but not behind as many events of a lost attempt', async () => {
  const interrupt: LoggedEvent = { type: 'interrupt', calls: [], usage: [], thoughts: [] }
  const log = new EventLog({ events: [text('a'), interrupt], restoredAt: 0 })
  const resumed = new EventLog({ events: [text('a'), interrupt, stop], restoredAt: 0 })
  const run = { log, whenResumed: async () => ({ log: resumed }) as OpenRun }
  const whole = ['r1:0 retrying', 'r1:1 a', 'r1:02 tool_calls']
  assert.deepEqual(await request(run, 'r1:2'), [200, ...whole])
  assert.deepEqual(await request(run, 'r1:5'), [200, ...whole])
  assert.deepEqual(await request(run, 'r1:02'), [200, 'r1:03 stop'])
  const copied = new EventLog({ events: [], restoredAt: 0 })
  setTimeout(() => resumed.events.slice().forEach((event) => copied.append(event)), 20)
  assert.deepEqual(await request({ log: copied }, 'r1:02'), [200, 'r1:03 stop'])
})
