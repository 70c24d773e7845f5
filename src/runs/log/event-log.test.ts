import { test } from 'node:test'
import assert from 'node:assert/strict'
import { EventLog, type Batch } from './event-log.ts'
import type { LoggedEvent } from '../run.ts'

const text = (piece: string): LoggedEvent => ({ type: 'text', label: 'answer', text: piece })
const end: LoggedEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [] }
const mebibyte = 1024 * 1024
const open = () => new AbortController().signal

/** Reads to the end; a line for each batch: the first number, and what the events are. */
async function read(log: EventLog, after = 0, signal: AbortSignal = open()): Promise<string[]> {
  const lines: string[] = []
  for await (const batch of log.follow(after, signal)) lines.push(lineOf(batch))
  return lines
}

function lineOf({ first, events }: Batch): string {
  return `${first}: ${events.map((event) => (event.type === 'text' ? event.text : event.type)).join(' ')}`
}

/** Until whatever was set off has happened. */
const settled = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

function logOf(...events: LoggedEvent[]): EventLog {
  const log = new EventLog()
  for (const event of events) log.append(event)
  return log
}

test('events of one turn of the event loop come together, numbered from 1', async () => {
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

test('each reader is at its own place', async () => {
  const log = logOf(text('a'), text('b'), text('c'))
  const all = read(log)
  const some = read(log, 2)
  const later = read(log, 4)
  await settled()
  log.append(text('d'))
  await settled()
  log.append(text('e'))
  log.append(end)
  assert.deepEqual(await Promise.all([all, some, later]), [['1: a b c', '4: d', '5: e end'], ['3: c', '4: d', '5: e end'], ['5: e end']])
})

test('a log that has ended is replayed from any place', async () => {
  const log = logOf(text('a'), text('b'), end)
  assert.deepEqual(await read(log), ['1: a b end'])
  assert.deepEqual(await read(log, 2), ['3: end'])
  assert.deepEqual(await read(log, 3), [])
  // Its number is of an attempt that is gone: it is told all, and gets the last event.
  assert.deepEqual(await read(log, 99), ['0: retrying', '1: a b end'])
})

test('a slow reader finds what came meanwhile in one batch', async () => {
  const log = logOf(text('a'))
  const reading = log.follow(0, open())
  assert.equal(lineOf((await reading.next()).value!), '1: a')
  for (const piece of ['b', 'c', 'd']) {
    log.append(text(piece))
    await settled()
  }
  assert.equal(lineOf((await reading.next()).value!), '2: b c d')
  await reading.return()
})

test('a reader whose signal is aborted leaves, waiting or not', async () => {
  const controller = new AbortController()
  const log = logOf(text('a'))
  const waiting = read(log, 0, controller.signal)
  await settled()
  controller.abort()
  assert.deepEqual(await waiting, ['1: a'])
  assert.deepEqual(await read(log, 0, controller.signal), [])
})

test('a run that nobody reads never waits', () => {
  const log = logOf(text('x'.repeat(3 * mebibyte)))
  assert.equal(log.waitForReaders(), undefined)
})

test('a run waits when it is more than a mebibyte ahead, until a reader takes what there is', async () => {
  const log = new EventLog()
  const reading = log.follow(0, open())
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

test('a run waits for its fastest reader alone', async () => {
  const log = logOf(text('a'))
  const slow = log.follow(0, open())
  const fast = log.follow(0, open())
  await Promise.all([slow.next(), fast.next()])
  log.append(text('x'.repeat(2 * mebibyte)))
  const room = log.waitForReaders()
  assert.ok(room)
  await fast.next()
  await room
  assert.equal(log.waitForReaders(), undefined)
  await Promise.all([slow.return(), fast.return()])
})

test('a run goes on when the reader that it waited for leaves', async () => {
  const log = logOf(text('a'))
  const reading = log.follow(0, open())
  await reading.next()
  log.append(text('x'.repeat(2 * mebibyte)))
  const room = log.waitForReaders()
  assert.ok(room)
  await reading.return()
  await room
})

test('a run goes on when a reader joins at its end', async () => {
  const controller = new AbortController()
  const log = logOf(text('a'))
  const slow = log.follow(0, open())
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

test('behind the place where a lost run goes on, a reader is told that the answer begins anew, and gets everything after it', async () => {
  const log = new EventLog({ events: [text('a'), text('b')], restoredAt: 2 })
  const beyond = read(log, 5)
  const at = read(log, 2)
  const before = read(log, 1)
  await settled()
  log.append(text('c'))
  log.append(end)
  assert.deepEqual(await beyond, ['2: retrying', '3: c end'])
  assert.deepEqual(await at, ['3: c end'])
  assert.deepEqual(await before, ['2: b', '3: c end'])
})

test('a restored log counts as read up to the place of its reader', async () => {
  const log = new EventLog({ events: [text('x'.repeat(2 * mebibyte))], restoredAt: 1 })
  const controller = new AbortController()
  const reading = read(log, 1, controller.signal)
  assert.equal(log.waitForReaders(), undefined)
  controller.abort()
  await reading
})

test('a run that is stopped does not wait for its readers', async () => {
  const log = new EventLog()
  const stopping = new AbortController()
  const reading = log.follow(0, new AbortController().signal)
  void reading.next()
  log.append({ type: 'text', label: 'answer', text: 'x'.repeat(2_000_000) })
  const room = log.waitForReaders(stopping.signal)
  assert.ok(room)
  stopping.abort()
  await room
})

const interrupt: LoggedEvent = { type: 'interrupt', calls: [], usage: [], thoughts: [] }

test('readers end where the run waits for approval; where it goes on they wait for what comes behind', async () => {
  const standing = logOf(text('a'), interrupt)
  assert.deepEqual([standing.ended, standing.interrupted], [true, true])
  assert.deepEqual(await read(standing), ['1: a interrupt'])
  assert.deepEqual(await read(standing, 2), [])
  const log = new EventLog()
  const early = read(log, 2)
  log.restore(standing.events, undefined)
  assert.deepEqual([log.ended, log.interrupted, log.restoredAt], [false, false, undefined])
  const late = read(log)
  await settled()
  log.append(text('b'))
  await settled()
  log.append(interrupt)
  assert.deepEqual(await early, ['3: b', '4: interrupt'])
  assert.deepEqual(await late, ['1: a interrupt', '3: b', '4: interrupt'])
  assert.equal(log.interrupted, true)
})

test('a run that was lost behind an interruption goes on from there: who had more is told', async () => {
  const log = new EventLog()
  log.restore([text('a'), interrupt], 2)
  const beyond = read(log, 5)
  await settled()
  log.append(text('b'))
  await settled()
  log.append(end)
  assert.deepEqual(await beyond, ['2: retrying', '3: b', '4: end'])
})

test('where another attempt goes on from an earlier place, who was further is told once, and all read on from there', async () => {
  const log = logOf(text('a'), text('b'), text('c'))
  const here = read(log)
  const ahead = read(log, 7)
  const late = read(log, 1)
  await settled()
  log.beginAgain(1, 1)
  log.append(text('B'))
  await settled()
  log.append(end)
  assert.deepEqual(await here, ['1: a b c', '1: retrying', '2: B', '3: end'])
  assert.deepEqual(await ahead, ['1: retrying', '2: B', '3: end'])
  assert.deepEqual(await late, ['2: b c', '1: retrying', '2: B', '3: end'])
  assert.deepEqual(await read(log), ['1: a B end'])
})

test('an attempt that goes on where all of it holds takes nothing back, and is not ended by what it goes on behind', async () => {
  const log = logOf(text('a'))
  const reading = read(log)
  await settled()
  log.beginAgain(2, undefined)
  log.append({ type: 'interrupt', calls: [], usage: [], thoughts: [] })
  await settled()
  assert.equal(log.ended, false)
  log.append(end)
  assert.deepEqual(await reading, ['1: a', '2: interrupt', '3: end'])
})
