import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Gauge, Registry } from '@prometheus-io/client'
import { mergeFigures, readFigures, type Figures } from '../../metrics/figures.ts'
import { gatherFigures } from './gather-figures.ts'
import { createFakeProcesses, type FakeWorker } from './processes-fixture.ts'

function start() {
  return createFakeProcesses().start({ heard() {}, ended() {} }) as FakeWorker
}

async function figuresOf(chats: number): Promise<Figures> {
  const registers = [new Registry()]
  new Counter({ name: 'chats_total', help: 'Chats.', registers }).inc(chats)
  new Gauge({ name: 'live', help: 'Live.', registers }).set(1)
  return readFigures(registers[0]!)
}

/** What the worker that asked is answered, in sum. */
async function answerTo({ told }: FakeWorker): Promise<string[]> {
  for (;;) {
    const found = told.find((message) => message.kind === 'gathered')
    if (found?.kind === 'gathered') {
      const text = await mergeFigures(found.all).metrics()
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const requestOf = ({ told }: FakeWorker) => told.flatMap((one) => (one.kind === 'figures' ? [one.request] : [])).at(-1)!

test('who asks gets the sums of all; what was counted stays when its worker is gone, what is there goes with it', async () => {
  const [a, b] = [start(), { ...start(), id: 2 }]
  const figures = gatherFigures()
  figures.join(a)
  figures.join(b)
  figures.heard(a, { kind: 'gather', request: 7 })
  figures.heard(a, { kind: 'figures', request: requestOf(a), figures: await figuresOf(3) })
  figures.heard(b, { kind: 'figures', request: requestOf(b), figures: await figuresOf(4) })
  assert.deepEqual(await answerTo(a), ['chats_total 7', 'live 2'])
  a.told.length = 0
  figures.heard(b, { kind: 'figures', figures: await figuresOf(5) })
  figures.leave(b)
  figures.heard(a, { kind: 'gather', request: 8 })
  figures.heard(a, { kind: 'figures', request: requestOf(a), figures: await figuresOf(3) })
  assert.deepEqual(await answerTo(a), ['chats_total 8', 'live 1'])
})

test('one that dies or does not answer holds nobody up: its last figures count', async () => {
  const [a, b, c] = [start(), { ...start(), id: 2 }, { ...start(), id: 3 }]
  const figures = gatherFigures(50)
  for (const worker of [a, b, c]) figures.join(worker)
  figures.heard(c, { kind: 'figures', figures: await figuresOf(10) })
  figures.heard(b, { kind: 'figures', figures: await figuresOf(5) })
  figures.heard(a, { kind: 'gather', request: 1 })
  figures.heard(a, { kind: 'figures', request: requestOf(a), figures: await figuresOf(1) })
  figures.leave(b)
  assert.deepEqual(await answerTo(a), ['chats_total 16', 'live 2'])
})
