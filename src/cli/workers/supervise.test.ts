import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { CommandFailure } from '../terminal.ts'
import type { Connections } from './connections.ts'
import { createFakeProcesses, ready } from './processes-fixture.ts'
import { supervise } from './supervise.ts'

const noop = () => undefined
const connections: Connections = { port: 1, join: noop, leave: noop, acknowledge: noop, remove: noop, close: noop }

function begin(count: number) {
  const processes = createFakeProcesses()
  const stopping = new AbortController()
  const log = pino({ level: 'silent' })
  let announced = 0
  const done = supervise({
    processes,
    connections,
    url: 'http://127.0.0.1:1',
    count,
    stopping: stopping.signal,
    stopMs: 60_000,
    log,
    onReady: () => void announced++,
    pauseMs: { first: 1, longest: 4 },
  })
  return { ...processes, done, stop: () => stopping.abort(), announced: () => announced }
}

test('the other workers start when the first worker serves, and readiness is announced once', async () => {
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
  const remainingWorkers = [first, started[1]!, fourth]
  for (const worker of remainingWorkers) assert.deepEqual(worker.signals, ['SIGTERM'])
  first.emitEnd(0)
  started[1]!.emitEnd(0)
  // The worker had no signal handler yet.
  fourth.emitEnd('SIGTERM')
  await done
  assert.equal(started.length, 4)
})

test('a worker that keeps failing is restarted each time, and the other workers continue', async () => {
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

test('if the first worker never serves, the supervisor fails with the exit code or signal of that worker', async () => {
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

test('workers that exit uncleanly are reported in the exit code', async () => {
  const { nth, started, done, stop } = begin(2)
  const first = await nth(1)
  first.emitMessage(ready)
  await nth(2)
  stop()
  first.emitEnd('SIGKILL')
  started[1]!.emitEnd(0)
  await assert.rejects(done, { message: '1 of 2 workers did not exit cleanly.', code: 1 })
})
