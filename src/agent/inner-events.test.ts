import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentEvent } from './events.ts'
import { InnerEvents } from './inner-events.ts'

const event: AgentEvent = { type: 'retrying' }

test('an event whose consumer leaves does not resume its agent before the calls are stopped', async () => {
  const inner = new InnerEvents()
  const done: string[] = []
  const telling = inner.publish(event).then(() => done.push('goes on'))
  assert.throws(() => {
    for (const _ of inner.take()) throw new Error('The run belongs to another process.')
  })
  await new Promise(setImmediate)
  done.push('stopped')
  inner.close()
  await telling
  assert.deepEqual(done, ['stopped', 'goes on'])
})

test('events are taken in order, each released when the consumer comes back', async () => {
  const inner = new InnerEvents()
  const done: number[] = []
  const telling = [1, 2].map((n) => inner.publish(event).then(() => done.push(n)))
  await inner.arrived
  let taken = 0
  for (const _ of inner.take()) {
    await new Promise(setImmediate)
    assert.equal(done.length, taken++)
  }
  await Promise.all(telling)
  assert.deepEqual(done, [1, 2])
})
