import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { CommandFailure } from '../terminal.ts'
import type { Connections } from './connections.ts'
import { createFakeProcesses, ready } from './processes-fixture.ts'
import { supervise } from './supervise.ts'

const nothing = () => undefined
const connections: Connections = { port: 1, join: nothing, leave: nothing, acknowledge: nothing, remove: nothing, close: nothing }

function begin(count: number) {
  const processes = createFakeProcesses()
  const stopping = new AbortController()
  const log = pino({ level: 'silent' })
  let announced = 0
  const done = supervise({
    ...{ processes, connections, url: 'http://127.0.0.1:1', count, stopping: stopping.signal, stopMs: 60_000, log },
    onReady: () => void announced++,
    pauseMs: { first: 1, longest: 4 },
  })
  return { ...processes, done, stop: () => stopping.abort(), announced: () => announced }
}

test('the others are started when the first one serves, and all is announced once', async () => {
  const { nth, started, done, stop, announced } = begin(3)
  const first = await nth(1)
  first.emitMessage({ kind: 'hello' })
  assert.deepEqual(first.sentMessages, [{ kind: 'address', url: 'http://127.0.0.1:1' }])
  assert.equal(started.length, 1)
  first.emitMessage(ready)
  const third = await nth(3)
  third.emitMessage(ready)
  assert.equal(announced(), 0)
  started[1]!.emitMessage(ready)
  assert.equal(announced(), 1)
  third.emitEnd('SIGKILL')
  const fourth = await nth(4)
  fourth.emitMessage(ready)
  assert.equal(announced(), 1)
  stop()
  const left = [first, started[1]!, fourth]
  for (const worker of left) assert.deepEqual(worker.signals, ['SIGTERM'])
  first.emitEnd(0)
  started[1]!.emitEnd(0)
  // It had not come to hear signals.
  fourth.emitEnd('SIGTERM')
  await done
  assert.equal(started.length, 4)
})

test('one that fails again and again is started again and again, the others go on', async () => {
  const { nth, done, stop } = begin(2)
  const first = await nth(1)
  first.emitMessage(ready)
  for (let n = 2; n < 8; n++) (await nth(n)).emitEnd(1)
  const last = await nth(8)
  stop()
  last.emitEnd(0)
  first.emitEnd(0)
  await done
})

test('where the first one never serves it is over: with its own words, or how it ended', async () => {
  const settings = begin(2)
  ;(await settings.nth(1)).emitEnd(2)
  await assert.rejects(settings.done, (error) => error instanceof CommandFailure && error.code === 2 && error.lines.length === 0)
  const killed = begin(2)
  ;(await killed.nth(1)).emitEnd('SIGKILL')
  await assert.rejects(killed.done, { message: 'The first worker exited (SIGKILL) before it could serve.', code: 1 })
  const stopped = begin(2)
  const first = await stopped.nth(1)
  stopped.stop()
  first.emitEnd('SIGTERM')
  await stopped.done
})

test('workers that do not end as they should are told in the exit code', async () => {
  const { nth, started, done, stop } = begin(2)
  const first = await nth(1)
  first.emitMessage(ready)
  await nth(2)
  stop()
  first.emitEnd('SIGKILL')
  started[1]!.emitEnd(0)
  await assert.rejects(done, { message: '1 of 2 workers did not exit cleanly.', code: 1 })
})
