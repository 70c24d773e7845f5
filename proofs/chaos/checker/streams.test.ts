import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation, SeenEvent } from '../history/operations.ts'
import { anomaliesOf, pick, testProperty } from './seeded-anomalies-fixture.ts'
import { eventsOf } from './simulated-history-fixture.ts'
import { checkStreams, lastReader } from './streams.ts'

/** The events of a random reader that reads to the end. */
function eventsIn(history: readonly Operation[], random: () => number): SeenEvent[] {
  const read = pick(history, 'follow', random, ({ args }) => args.reader !== lastReader && args.after === 0)
  return (read.reply = structuredClone(read.reply!)).events
}

testProperty('streams', checkStreams, {
  'a gap in the numbers': { wrong: (history, random) => void eventsIn(history, random).splice(1, 1), found: /event 3 follows event 1/ },
  'an event that is sent twice': {
    wrong: (history, random) => {
      const events = eventsIn(history, random)
      events.splice(1, 0, events[1]!)
    },
    found: /event 2 follows event 2/,
  },
  'an event with another text than in the final log': {
    wrong: (history, random) => void (eventsIn(history, random)[0]!.token = 'Something '),
    found: /event 1 is \["answer","Something ",null\], in the final log/,
  },
  'a stream that ends too early': {
    wrong: (history, random) => {
      const events = eventsIn(history, random)
      events[1]!.finish = 'stop'
      events.splice(2)
    },
    found: /event 2 is|ended after 2 of 3 events/,
  },
  'events after the last one': {
    wrong: (history, random) => {
      const events = eventsIn(history, random)
      events.push({ ...events.at(-1)!, number: events.length + 1 })
    },
    found: /follows the last event/,
  },
  'a continued stream that lacks events': {
    wrong: (history, random) => {
      const read = pick(history, 'follow', random, ({ args }) => args.after === 1)
      read.reply = { events: read.reply!.events.slice(1) }
    },
    found: /event 3 follows event 1/,
  },
  'events of another run': {
    wrong: (history, random) => void (eventsIn(history, random)[0]!.number = -1),
    found: /event -1 follows event 0/,
  },
  'a reader that is refused after the first event': {
    wrong: (history, random) =>
      void Object.assign(
        pick(history, 'follow', random, ({ args }) => args.after === 1),
        { result: 'fail', status: 404, error: 'NotFound', reply: undefined },
      ),
    found: /is refused by replica-\d#1 after the first event: 404 NotFound/,
  },
  'a stream without an event': {
    wrong: (history, random) => void (pick(history, 'follow', random, ({ args }) => args.after === 1).reply = { events: [] }),
    found: /received a stream without events/,
  },
})

test('streams: a reader that knows events of a lost process goes back with a retrying event', () => {
  const final = eventsOf({ output: 'Answer two' })
  const lost = [...final.slice(0, 1), { number: 2, label: 'answer', token: 'one', finish: undefined }]
  const back = { number: 1, label: 'retrying', token: '', finish: undefined }
  const found = (events: SeenEvent[]) =>
    anomaliesOf(({ add }) => {
      add('c', 'follow', { requestId: 'r1', reader: 'a', after: 0 }, { reply: { events } })
      add('c', 'follow', { requestId: 'r1', reader: lastReader, after: 0 }, { reply: { events: final } })
    })
  assert.deepEqual(found([...lost, back, ...final.slice(1)]), [])
  assert.match(found([...lost, ...final.slice(2)]).join(), /event 2 is \["answer","one",null\]/)
})

test('streams: a chat that was refused after its stream had begun is no run', () => {
  const found = (first: SeenEvent) =>
    anomaliesOf(({ add }) => {
      const chat = { requestId: 'r1', session: 's', mode: 'stream', kind: 'talk', position: 0, caller: 'admin' } as const
      const { endedAt } = add('c', 'chat', chat, { reply: { events: [first] } })
      const times = { invokedAt: endedAt + 1, endedAt: endedAt + 2 }
      add('c', 'follow', { requestId: 'r1', reader: 'a', after: 0 }, { result: 'fail', status: 404, error: 'NotFound', ...times })
    })
  const event: SeenEvent = { number: 1, label: 'answer', token: '', finish: 'error' }
  assert.deepEqual(found(event), [])
  assert.match(found({ ...event, finish: undefined }).join(), /is refused/)
})
