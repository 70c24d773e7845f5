import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventLog, logStart } from '../../../runs/log/event-log.ts'
import { type LastReceived, nothingReceived, sendLog, toStream } from '../../send-run.ts'
import { end, stepEnd, stepStart, text } from '../events-fixture.ts'
import { LangGraphProjection, type StreamEvent } from './projection.ts'

const whole = [text('Let me '), text('look.'), stepStart('s1', 'look'), stepEnd('s1', 'look'), text('It is blue.'), end()]
const messages = ['ai Let me look.', 'tool look done', 'ai It is blue.']

/** Reads a log to its end. Returns the ids that were sent, and the messages of each values event. */
async function read(log: EventLog, received: LastReceived) {
  const sent: StreamEvent[] = []
  const options = { requestId: 'r', threadId: 't', modes: new Set(['values', 'messages-tuple'] as const), base: [], log, received }
  const stream = toStream(new LangGraphProjection(options), (event) => {
    sent.push(event)
    return 'sent'
  })
  const reader = { stream, position: logStart, disconnected: new AbortController().signal, toFiles: async () => [] }
  await sendLog(log, reader, { write: () => undefined, end: () => undefined, destroy: () => assert.fail('destroyed') })
  const valuesOf = ({ data }: StreamEvent) =>
    (data as { messages: { type: string; content: string }[] }).messages.map(({ type, content }) => `${type} ${content}`)
  return {
    ids: sent.flatMap(({ id }) => id ?? []),
    values: sent.filter(({ event }) => event === 'values').map(valuesOf),
  }
}

test('a client that joins again gets what follows, with the messages of the whole run', async () => {
  const all = await read(new EventLog({ events: whole }), nothingReceived)
  assert.deepEqual(all.ids, ['r:1', 'r:2', 'r:3', 'r:4', 'r:5', 'r:6'])
  assert.deepEqual(all.values.at(-1), messages)
  for (const after of [1, 2, 3, 4, 5]) {
    const rest = await read(new EventLog({ events: whole }), { after, mark: undefined })
    assert.deepEqual([rest.ids, rest.values.at(-1)], [all.ids.slice(after), messages])
  }
  const last = await read(new EventLog({ events: whole }), { after: 6, mark: undefined })
  assert.deepEqual([last.ids, last.values], [['r:6'], [messages]])
})

test('a client of a lost attempt gets what the run has made since its checkpoint, and no message is missing or twice', async () => {
  const kept = new Map([
    [0, []],
    [1, ['ai Let me ']],
    [2, ['ai Let me look.']],
    [4, messages.slice(0, 2)],
  ])
  for (const [restoredAt, first] of kept) {
    const { ids, values } = await read(new EventLog({ events: whole, restoredAt }), { after: 5, mark: undefined })
    assert.deepEqual([ids[0], values[0], values.at(-1)], [`r:${restoredAt + 1}`, first, messages])
  }
})

test('a client may come back before the log of its run is restored', async () => {
  const log = new EventLog()
  const reading = read(log, { after: 4, mark: undefined })
  log.restore(whole.slice(0, 4), 4)
  for (const event of whole.slice(4)) log.append(event)
  const { ids, values } = await reading
  assert.deepEqual([ids, values.at(-1)], [['r:5', 'r:06'], messages])
})

test('a copy of the run may know less than the client when its process is lost', async () => {
  const log = new EventLog({ events: whole.slice(0, 2) })
  const reading = read(log, { after: 5, mark: undefined })
  log.rewind({ restored: 3, restoredAt: 3 }, 3)
  for (const event of whole.slice(2)) log.append(event)
  const { ids, values } = await reading
  assert.deepEqual([ids, values.at(-1)], [['r:4', 'r:5', 'r:06'], messages])
})

test('a connected client forgets the messages of an attempt that is lost', async () => {
  const log = new EventLog({ events: [...whole.slice(0, 4), text('It is gre')] })
  const reading = read(log, nothingReceived)
  await new Promise(setImmediate)
  log.rewind({ restored: 2, restoredAt: 2 }, 2)
  for (const event of whole.slice(2)) log.append(event)
  const { values } = await reading
  assert.deepEqual(values.at(-1), messages)
  assert.ok(values.some((list) => list.join() === 'ai Let me look.'))
})
