import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { keyOf, newRun } from '../process-fixture.ts'
import type { LoggedEvent } from '../run.ts'
import { toCompact } from './compact-log.ts'
import { replay } from './outcome.ts'

const events: LoggedEvent[] = [
  { type: 'text', label: 'answer', text: 'Good ' },
  { type: 'text', label: 'answer', text: 'day.' },
  { type: 'end', reason: 'stop', usage: [], thoughts: [] },
]

async function storedRun() {
  const store = new MemoryRunStore()
  await store.begin(newRun('r'))
  return (await store.find(keyOf('r')))!
}

test('a replayed run has the events and numbers of its log', async () => {
  const run = replay({ ...(await storedRun()), log: { input: 'hello', events: toCompact(events) } })
  assert.deepEqual([...run.log.events], events)
  assert.equal(run.input, 'hello')
  await run.ended
})

test('a reader whose number is of an earlier attempt is told that the answer begins again', async () => {
  const { log } = replay({ ...(await storedRun()), log: { input: 'hello', events: toCompact(events), restoredAt: 1 } })
  const batches = []
  for await (const batch of log.follow({ after: 2, isValid: false }, new AbortController().signal)) batches.push(batch)
  assert.deepEqual(batches, [
    { first: 1, events: [{ type: 'retrying' }] },
    { first: 2, events: events.slice(1) },
  ])
})

test('a run that left its queue has no log, and tells that its session was busy', async () => {
  const { log } = replay(await storedRun())
  const [end] = log.events
  assert.equal(end?.type === 'end' && end.error?.details?.error_type, 'SessionBusy')
})
