import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReceivers } from './receivers.ts'

const limits = { initial: 4, min: 1, max: 16, slowMs: 1000 }

/** Claims every free slot of a host. */
function fill(receivers: ReturnType<typeof createReceivers>, host: string): (() => void)[] {
  const leaves: (() => void)[] = []
  for (let leave = receivers.enter(`http://${host}/a`); typeof leave !== 'number'; leave = receivers.enter(`http://${host}/b`))
    leaves.push(leave)
  return leaves
}

test('a slow host gets fewer concurrent callbacks and a quick host gets more, independently of each other', () => {
  let time = 0
  const receivers = createReceivers(() => time, limits)
  const slow = fill(receivers, 'slow')
  const quick = fill(receivers, 'quick')
  assert.deepEqual({ slowCount: slow.length, quickCount: quick.length }, { slowCount: 4, quickCount: 4 })
  for (const leave of quick) leave()
  assert.equal(fill(receivers, 'quick').length, 16)
  time = 1000
  for (const leave of slow) leave()
  assert.equal(fill(receivers, 'slow').length, 1)
  assert.equal(fill(receivers, 'slow').length, 0)
})

test('the limit of a slow host grows again after quick attempts', () => {
  let time = 0
  const receivers = createReceivers(() => time, limits)
  const slow = fill(receivers, 'one')
  time = 1000
  for (const leave of slow) leave()
  for (const leave of fill(receivers, 'one')) leave()
  assert.equal(fill(receivers, 'one').length, 2)
})

test('a host with callbacks in progress is never forgotten, however many hosts there are', () => {
  const receivers = createReceivers(() => 0, { ...limits, initial: 1 })
  assert.equal(typeof receivers.enter('http://busy/'), 'function')
  for (let n = 0; n < 3000; n++) {
    const leave = receivers.enter(`http://host-${n}/`)
    if (typeof leave === 'function') leave()
  }
  assert.equal(receivers.enter('http://busy/'), 1000)
})
