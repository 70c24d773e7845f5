import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Gauge, Registry } from '@prometheus-io/client'
import { mergeSnapshots, readSnapshot, type MetricsSnapshot } from '../../metrics/snapshots.ts'
import { gatherMetrics } from './gather-metrics.ts'
import { createFakeProcesses, type FakeWorker } from './processes-fixture.ts'

function start() {
  return createFakeProcesses().start({ onMessage() {}, onEnd() {} }) as FakeWorker
}

async function snapshotOf(chats: number): Promise<MetricsSnapshot> {
  const registers = [new Registry()]
  new Counter({ name: 'chats_total', help: 'Chats.', registers }).inc(chats)
  new Gauge({ name: 'live', help: 'Live.', registers }).set(1)
  return readSnapshot(registers[0]!)
}

/** The sums in the answer to the asking worker. */
async function answerTo({ sentMessages }: FakeWorker): Promise<string[]> {
  for (;;) {
    const gathered = sentMessages.find((message) => message.kind === 'gathered')
    if (gathered?.kind === 'gathered') {
      const text = await mergeSnapshots(gathered.all).metrics()
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const requestOf = ({ sentMessages }: FakeWorker) =>
  sentMessages.flatMap((message) => (message.kind === 'metrics' ? [message.request] : [])).at(-1)!

test('the asking worker gets the sums of all workers; counters of an exited worker stay, gauges go', async () => {
  const [a, b] = [start(), { ...start(), id: 2 }]
  const metrics = gatherMetrics()
  metrics.join(a)
  metrics.join(b)
  metrics.receive(a, { kind: 'gather', request: 7 })
  metrics.receive(a, { kind: 'metrics', request: requestOf(a), metrics: await snapshotOf(3) })
  metrics.receive(b, { kind: 'metrics', request: requestOf(b), metrics: await snapshotOf(4) })
  assert.deepEqual(await answerTo(a), ['chats_total 7', 'live 2'])
  a.sentMessages.length = 0
  metrics.receive(b, { kind: 'metrics', metrics: await snapshotOf(5) })
  metrics.leave(b)
  metrics.receive(a, { kind: 'gather', request: 8 })
  metrics.receive(a, { kind: 'metrics', request: requestOf(a), metrics: await snapshotOf(3) })
  assert.deepEqual(await answerTo(a), ['chats_total 8', 'live 1'])
})

test('a dying or silent worker delays no answer: its last metrics count', async () => {
  const [a, b, c] = [start(), { ...start(), id: 2 }, { ...start(), id: 3 }]
  const metrics = gatherMetrics(50)
  for (const worker of [a, b, c]) metrics.join(worker)
  metrics.receive(c, { kind: 'metrics', metrics: await snapshotOf(10) })
  metrics.receive(b, { kind: 'metrics', metrics: await snapshotOf(5) })
  metrics.receive(a, { kind: 'gather', request: 1 })
  metrics.receive(a, { kind: 'metrics', request: requestOf(a), metrics: await snapshotOf(1) })
  metrics.leave(b)
  assert.deepEqual(await answerTo(a), ['chats_total 16', 'live 2'])
})
