import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { ServiceError } from '../errors.ts'
import { EventLog } from '../runs/log/event-log.ts'
import { toFailedEnd } from '../runs/log/outcome.ts'
import type { LoggedEvent } from '../runs/run.ts'
import { streamChunks } from './doors/core/chat.ts'
import { sendLog } from './send-run.ts'
import { EventResponse } from './server/sse.ts'

const text = (piece: string): LoggedEvent => ({ type: 'text', label: 'answer', text: piece })
const fault = toFailedEnd(new ServiceError('overloaded', 'The service is stopping.'))

/** Reads a log after a number. Returns `<id> <token or finish reason>` for each chunk. */
async function read(log: EventLog, after: number): Promise<string[]> {
  const lines: string[] = []
  const reader = { stream: streamChunks('r1'), after, disconnected: new AbortController().signal, toFiles: async () => [] }
  const write = (text: string) => {
    for (const [, id, data] of text.matchAll(/id: (\S+)\ndata: (.*)\n/g)) {
      const { token, agent_step: label, finish_reason: reason } = JSON.parse(data!)
      lines.push(`${id} ${reason === 'null' ? token || label : reason}`)
    }
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
  const reader = { stream: streamChunks('r1'), after: 0, disconnected: AbortSignal.abort(), toFiles: async () => [] }
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
    const reader = { stream, after: 0, disconnected: new AbortController().signal, toFiles: async () => [] }
    await sendLog(log, reader, { write: () => undefined, end: () => calls.push('ended'), destroy: () => calls.push('destroyed') })
    assert.deepEqual(calls, ['destroyed'])
  }
})
