import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ScriptedModel } from '../../../agent/scripted-model.ts'
import { localBus } from '../../../replicas/bus.ts'
import { type EventBatch, logStart } from '../../log/event-log.ts'
import { agentOf, keyOf, newRun } from '../../process-fixture.ts'
import type { EndEvent, LoggedEvent } from '../../run.ts'
import type { StoredRun } from '../../run-store.ts'
import { LiveRun } from '../live-run.ts'
import { createRunRegistry } from '../run-registry.ts'
import { createRemoteRuns } from './remote-runs.ts'

const textOf = (text: string): LoggedEvent => ({ type: 'text', label: 'answer', text })
const end: EndEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [] }
const sleep = (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal ? { signal } : {})

/** An unended run of a process that died, or the ended run. */
function storedRun(fence: number, events?: LoggedEvent[]): StoredRun {
  const { sessionId, operation, bodyHash, request, onDisconnect } = newRun('r')
  const run = { ...keyOf('r'), sessionId, operation, bodyHash, request, onDisconnect, fence, holder: 'p0', status: 'running', createdAt: 1 }
  return {
    ...run,
    ...(events ? { status: 'success', endedAt: 2, log: { input: 'hello', events, restoredAt: 1 } } : {}),
  } as unknown as StoredRun
}

test('the readers of a run that moved here, and on to another process, get the events of that process', { timeout: 5000 }, async () => {
  const registry = createRunRegistry({ bus: localBus, sleep })
  let stored = storedRun(1)
  const remote = createRemoteRuns({ store: { find: async () => stored }, registry, bus: localBus, newId: () => 'reader', sleep })
  const { signal } = new AbortController()
  const opened = remote.open(stored, signal)

  const { sessionId, operation, bodyHash, request, onDisconnect } = newRun('r')
  const agent = agentOf({ model: new ScriptedModel() })
  const run = new LiveRun({ key: keyOf('r'), sessionId, operation, bodyHash, request, onDisconnect, agent, fence: 2 })
  run.log.restore([textOf('step ')], 1)
  for (const text of ['old ', 'text ', 'here']) run.log.append(textOf(text))
  registry.add(run)
  const seen: EventBatch[] = []
  const reading = (async () => {
    for await (const batch of opened.log.follow(logStart, signal)) seen.push(batch)
  })()
  while (seen.flatMap((batch) => batch.events).length < 4) await delay(5)

  const events = [textOf('step '), textOf('new '), textOf('and '), textOf('longer '), textOf('text'), end]
  stored = storedRun(3, events)
  registry.remove(run)
  await remote.followElsewhere(run)
  await Promise.all([opened.ended, reading])
  assert.deepEqual([...opened.log.events], events)
  assert.deepEqual(seen.find((batch) => batch.events[0]?.type === 'retrying')?.first, 1)
  assert.deepEqual(
    seen.slice(seen.findIndex((batch) => batch.events[0]?.type === 'retrying') + 1).flatMap((batch) => batch.events),
    events.slice(1),
  )
})

test('a copy that is closed while its run goes on ends with a fault, not with an event', { timeout: 5000 }, async () => {
  const registry = createRunRegistry({ bus: localBus, sleep })
  const tails = {
    read: async () => [{ first: 1, last: 1, attempt: { restored: 0, restoredAt: undefined }, events: [textOf('a')] as never[] }],
  }
  const store = { find: async () => storedRun(1) }
  const remote = createRemoteRuns({ store, registry, tails, bus: localBus, newId: () => 'reader', sleep })
  const opened = remote.open(storedRun(1), new AbortController().signal)
  while (opened.log.events.length === 0) await delay(5)
  await remote.drain(0)
  await opened.ended
  assert.deepEqual([...opened.log.events], [textOf('a')])
  assert.equal(opened.log.fault?.error?.details?.error_type, 'Overloaded')
})

test(
  'a copy of the first attempt drops the events that the second attempt, which the copy has missed, made again',
  { timeout: 5000 },
  async () => {
    const registry = createRunRegistry({ bus: localBus, sleep })
    let stored = storedRun(1)
    const batches = {
      1: { first: 1, last: 6, attempt: { restored: 0, restoredAt: undefined }, events: Array(6).fill(textOf('old')) },
      3: { first: 3, last: 6, attempt: { restored: 4, restoredAt: 2 }, events: Array(4).fill(textOf('new')) },
    }
    const tails = {
      read: async (_key: unknown, fence: number, after: number) => {
        const batch = batches[fence as 1 | 3]
        return batch && batch.last > after ? [batch as never] : []
      },
    }
    const remote = createRemoteRuns({ store: { find: async () => stored }, registry, tails, bus: localBus, newId: () => 'reader', sleep })
    const leaving = new AbortController()
    const opened = remote.open(stored, leaving.signal)
    while (opened.log.events.length < 6) await delay(5)
    stored = storedRun(3)
    while (opened.log.restoredAt === undefined || opened.log.events.length < 6) await delay(5)
    assert.deepEqual(
      [...opened.log.events].map((event) => event.type === 'text' && event.text),
      ['old', 'old', 'new', 'new', 'new', 'new'],
    )
    leaving.abort()
  },
)
