import { test } from 'node:test'
import assert from 'node:assert/strict'
import { EventLog, type EventBatch, logStart } from './event-log.ts'
import type { EndEvent, LoggedEvent } from '../run.ts'

const text = (piece: string): LoggedEvent => ({ type: 'text', label: 'answer', text: piece })
const end: LoggedEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [] }
const mebibyte = 1024 * 1024
const open = () => new AbortController().signal

/** Reads to the end. Returns a line per batch: the first number, and the texts or types of the events. */
async function read(log: EventLog, after = 0, signal: AbortSignal = open()): Promise<string[]> {
  const lines: string[] = []
  for await (const batch of log.follow({ after, isValid: false }, signal)) lines.push(lineOf(batch))
  return lines
}

function lineOf({ first, events }: EventBatch): string {
  return `${first}: ${events.map((event) => (event.type === 'text' ? event.text : event.type)).join(' ')}`
}

/** Subscribes from the start. Returns the lines of the batches so far, and the end. */
function subscribe(log: EventLog, take: () => Promise<void> | undefined = () => undefined, signal: AbortSignal = open()): string[] {
  const lines: string[] = []
  log.subscribe(logStart, signal, {
    batch(first, events) {
      lines.push(lineOf({ first, events }))
      return take()
    },
    end: (failure) => lines.push(failure instanceof Error ? failure.message : 'over'),
  })
  return lines
}

/** Resolves after delivery of the due batches. */
const settled = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

function logOf(...events: LoggedEvent[]): EventLog {
  const log = new EventLog()
  for (const event of events) log.append(event)
  return log
}

test('events of one turn of the event loop arrive in one batch, numbered from 1', async () => {
  const log = new EventLog()
  const reading = read(log)
  log.append(text('a'))
  log.append(text('b'))
  await settled()
  log.append(text('c'))
  await settled()
  log.append(text('d'))
  log.append(end)
  assert.deepEqual(await reading, ['1: a b', '3: c', '4: d end'])
  assert.equal(log.ended, true)
})

test('each reader has its own position', async () => {
  const log = logOf(text('a'), text('b'), text('c'))
  const fromStart = read(log)
  const fromThird = read(log, 2)
  const fromFifth = read(log, 4)
  await settled()
  log.append(text('d'))
  await settled()
  log.append(text('e'))
  log.append(end)
  assert.deepEqual(await Promise.all([fromStart, fromThird, fromFifth]), [
    ['1: a b c', '4: d', '5: e end'],
    ['3: c', '4: d', '5: e end'],
    ['5: e end'],
  ])
})

test('an ended log is replayed from any number', async () => {
  const log = logOf(text('a'), text('b'), end)
  assert.deepEqual(await read(log), ['1: a b end'])
  assert.deepEqual(await read(log, 2), ['3: end'])
  assert.deepEqual(await read(log, 3), [])
  // The number belongs to a lost attempt: the reader gets `retrying` and then all events.
  assert.deepEqual(await read(log, 99), ['0: retrying', '1: a b end'])
})

test('a slow reader gets the events that arrived meanwhile in one batch', async () => {
  const log = logOf(text('a'))
  const reading = log.follow(logStart, open())
  assert.equal(lineOf((await reading.next()).value!), '1: a')
  for (const piece of ['b', 'c', 'd']) {
    log.append(text(piece))
    await settled()
  }
  assert.equal(lineOf((await reading.next()).value!), '2: b c d')
  await reading.return()
})

test('an aborted signal ends a reader, whether the reader waits or not', async () => {
  const controller = new AbortController()
  const log = logOf(text('a'))
  const waiting = read(log, 0, controller.signal)
  await settled()
  controller.abort()
  assert.deepEqual(await waiting, ['1: a'])
  assert.deepEqual(await read(log, 0, controller.signal), [])
})

test('a run without readers never waits', () => {
  const log = logOf(text('x'.repeat(3 * mebibyte)))
  assert.equal(log.waitForReaders(), undefined)
})

test('a run more than a mebibyte ahead waits until a reader takes the events', async () => {
  const log = new EventLog()
  const reading = log.follow(logStart, open())
  const first = reading.next()
  log.append(text('x'.repeat(mebibyte)))
  assert.equal(log.waitForReaders(), undefined)
  log.append(text('y'))
  const room = log.waitForReaders()
  assert.ok(room)
  assert.equal((await first).value?.events.length, 2)
  await room
  assert.equal(log.waitForReaders(), undefined)
  await reading.return()
})

test('a run waits for its fastest reader only', async () => {
  const log = logOf(text('a'))
  const slow = log.follow(logStart, open())
  const fast = log.follow(logStart, open())
  await Promise.all([slow.next(), fast.next()])
  log.append(text('x'.repeat(2 * mebibyte)))
  const room = log.waitForReaders()
  assert.ok(room)
  await fast.next()
  await room
  assert.equal(log.waitForReaders(), undefined)
  await Promise.all([slow.return(), fast.return()])
})

test('a run continues when the reader it waited for disconnects', async () => {
  const log = logOf(text('a'))
  const reading = log.follow(logStart, open())
  await reading.next()
  log.append(text('x'.repeat(2 * mebibyte)))
  const room = log.waitForReaders()
  assert.ok(room)
  await reading.return()
  await room
})

test('a run continues when a new reader starts at the last event', async () => {
  const controller = new AbortController()
  const log = logOf(text('a'))
  const slow = log.follow(logStart, open())
  await slow.next()
  log.append(text('x'.repeat(2 * mebibyte)))
  const room = log.waitForReaders()
  let hasRoom = false
  void room?.then(() => (hasRoom = true))
  const joined = read(log, 2, controller.signal)
  await settled()
  assert.equal(hasRoom, true)
  controller.abort()
  await Promise.all([joined, slow.return()])
})

test('a reader with events of a lost attempt gets retrying and the events after the restored ones', async () => {
  const log = new EventLog({ events: [text('a'), text('b')], restoredAt: 2 })
  const ahead = read(log, 5)
  const atRestored = read(log, 2)
  const behindRestored = read(log, 1)
  await settled()
  log.append(text('c'))
  log.append(end)
  assert.deepEqual(await ahead, ['2: retrying', '3: c end'])
  assert.deepEqual(await atRestored, ['3: c end'])
  assert.deepEqual(await behindRestored, ['2: b', '3: c end'])
})

test('restored events count as read up to the number of the reader', async () => {
  const log = new EventLog({ events: [text('x'.repeat(2 * mebibyte))], restoredAt: 1 })
  const controller = new AbortController()
  const reading = read(log, 1, controller.signal)
  assert.equal(log.waitForReaders(), undefined)
  controller.abort()
  await reading
})

test('a stopped run does not wait for its readers', async () => {
  const log = new EventLog()
  const stopping = new AbortController()
  const reading = log.follow(logStart, new AbortController().signal)
  void reading.next()
  log.append({ type: 'text', label: 'answer', text: 'x'.repeat(2_000_000) })
  const room = log.waitForReaders(stopping.signal)
  assert.ok(room)
  stopping.abort()
  await room
})

const interrupt: LoggedEvent = { type: 'interrupt', calls: [], usage: [], thoughts: [] }

test('readers end when the run waits for approval; after a resume they wait for further events', async () => {
  const interrupted = logOf(text('a'), interrupt)
  assert.deepEqual({ ended: interrupted.ended, interrupted: interrupted.interrupted }, { ended: true, interrupted: true })
  assert.deepEqual(await read(interrupted), ['1: a interrupt'])
  assert.deepEqual(await read(interrupted, 2), [])
  const log = new EventLog()
  const waiting = read(log, 2)
  log.restore([...interrupted.events], undefined)
  assert.deepEqual(
    { ended: log.ended, interrupted: log.interrupted, restoredAt: log.restoredAt },
    { ended: false, interrupted: false, restoredAt: undefined },
  )
  const joined = read(log)
  await settled()
  log.append(text('b'))
  await settled()
  log.append(interrupt)
  assert.deepEqual(await waiting, ['3: b', '4: interrupt'])
  assert.deepEqual(await joined, ['1: a interrupt', '3: b', '4: interrupt'])
  assert.equal(log.interrupted, true)
})

test('a run lost after an interruption continues from there, and readers with later events get retrying', async () => {
  const log = new EventLog()
  log.restore([text('a'), interrupt], 2)
  const ahead = read(log, 5)
  await settled()
  log.append(text('b'))
  await settled()
  log.append(end)
  assert.deepEqual(await ahead, ['2: retrying', '3: b', '4: end'])
})

test('a reader behind an interruption that the service knows goes on there, though events before it were made again', async () => {
  const log = new EventLog({ events: [text('a'), interrupt, text('b'), end], restoredAt: 0 })
  const lines: string[] = []
  for await (const batch of log.follow({ after: 2, isValid: true }, open())) lines.push(lineOf(batch))
  assert.deepEqual(lines, ['3: b end'])
})

test('a reader that was ahead of a log which has ended starts again, whoever knows its number', async () => {
  const log = logOf(end)
  assert.deepEqual(await read(log, 3), ['0: retrying', '1: end'])
  const lines: string[] = []
  for await (const batch of log.follow({ after: 3, isValid: true }, open())) lines.push(lineOf(batch))
  assert.deepEqual(lines, ['0: retrying', '1: end'])
})

test('after a rewind, readers with later events get retrying once, and all readers continue from there', async () => {
  const log = logOf(text('a'), text('b'), text('c'))
  const current = read(log)
  const ahead = read(log, 7)
  const slower = read(log, 1)
  await settled()
  log.rewind({ restored: 1, restoredAt: 1 }, 1)
  log.append(text('B'))
  await settled()
  log.append(end)
  assert.deepEqual(await current, ['1: a b c', '1: retrying', '2: B', '3: end'])
  assert.deepEqual(await ahead, ['1: retrying', '2: B', '3: end'])
  assert.deepEqual(await slower, ['2: b c', '1: retrying', '2: B', '3: end'])
  assert.deepEqual(await read(log), ['1: a B end'])
})

test('a rewind past the last event revokes nothing, and an interrupt from before the attempt does not end the log', async () => {
  const log = logOf(text('a'))
  const reading = read(log)
  await settled()
  log.rewind({ restored: 2, restoredAt: undefined }, 2)
  log.append({ type: 'interrupt', calls: [], usage: [], thoughts: [] })
  await settled()
  assert.equal(log.ended, false)
  log.append(end)
  assert.deepEqual(await reading, ['1: a', '2: interrupt', '3: end'])
})

test('a copy that missed an attempt drops what that attempt made again, also an interrupt that the run restored', async () => {
  const interrupt: LoggedEvent = { type: 'interrupt', calls: [], usage: [], thoughts: [] }
  const log = logOf(text('a'), text('old'), text('old'))
  const reading = read(log)
  const before = read(log, 1)
  await settled()
  log.rewind({ restored: 3, restoredAt: 1 }, 1)
  log.append(text('b'))
  log.append(interrupt)
  await settled()
  assert.equal(log.ended, false, 'the run went on after the interrupt')
  log.append(end)
  assert.deepEqual(await reading, ['1: a old old', '1: retrying', '2: b interrupt', '4: end'])
  assert.deepEqual(await before, ['2: old old', '1: retrying', '2: b interrupt', '4: end'])
})

test('a fault ends the log for its readers after the events, without being an event', async () => {
  const log = logOf(text('a'))
  const reading = read(log)
  const ahead = read(log, 5)
  await settled()
  const fault: EndEvent = { type: 'end', reason: 'error', usage: [], thoughts: [] }
  log.fail(fault)
  assert.deepEqual(await Promise.all([reading, ahead, read(log)]), [['1: a'], [], ['1: a']])
  assert.deepEqual(
    { ended: log.ended, isComplete: log.isComplete, last: log.last, count: log.events.length, all: log.eventsAndFault },
    { ended: true, isComplete: false, last: fault, count: 1, all: [text('a'), fault] },
  )
})

test('a log with its last event has no fault', () => {
  const log = logOf(text('a'), end)
  log.fail({ type: 'end', reason: 'error', usage: [], thoughts: [] })
  assert.deepEqual({ fault: log.fault, last: log.last }, { fault: undefined, last: end })
})

test('a subscriber gets a batch for each turn of the event loop, and the end once', async () => {
  const log = logOf(text('a'))
  const lines = subscribe(log)
  assert.deepEqual(lines, ['1: a'])
  log.append(text('b'))
  log.append(text('c'))
  assert.deepEqual(lines, ['1: a'])
  await settled()
  log.append(end)
  await settled()
  assert.deepEqual(lines, ['1: a', '2: b c', '4: end', 'over'])
})

test('a subscriber that is busy gets what has arrived meanwhile in one batch, and the run waits for it', async () => {
  const log = logOf(text('a'))
  const busy = Promise.withResolvers<void>()
  const lines = subscribe(log, () => busy.promise)
  log.append(text('x'))
  await settled()
  log.append(text('y'.repeat(2 * mebibyte)))
  const room = log.waitForReaders()
  assert.ok(room)
  await settled()
  assert.deepEqual(lines, ['1: a'])
  busy.resolve()
  await room
  assert.deepEqual(
    lines.map((line) => line.slice(0, 4)),
    ['1: a', '2: x'],
  )
})

test('a subscriber that fails, or whose signal is aborted, is over, and delays no run', async () => {
  const log = logOf(text('x'.repeat(2 * mebibyte)))
  const stop = new AbortController()
  const failing = subscribe(log, () => Promise.reject(new Error('gone')))
  const throwing = subscribe(log, () => {
    throw new Error('broken')
  })
  const stopped = subscribe(log, () => undefined, stop.signal)
  await settled()
  stop.abort()
  log.append(text('y'.repeat(2 * mebibyte)))
  assert.equal(log.waitForReaders(), undefined)
  await settled()
  assert.deepEqual(
    [failing, throwing, stopped].map((lines) => lines.slice(1)),
    [['gone'], ['broken'], ['over']],
  )
})

test('a subscriber with events of a lost attempt gets retrying, also while another attempt goes on', async () => {
  const log = logOf(text('a'), text('b'), text('c'))
  const lines = subscribe(log)
  log.rewind({ restored: 1, restoredAt: 1 }, 1)
  log.append(text('B'))
  await settled()
  log.append(end)
  await settled()
  assert.deepEqual(lines, ['1: a b c', '1: retrying', '2: B', '3: end', 'over'])
})
