import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReceivers } from './receivers.ts'

const limits = { first: 4, least: 1, most: 16, slowMs: 1000 }

/** As many as may be under way to a host now. */
function fill(receivers: ReturnType<typeof createReceivers>, host: string): (() => void)[] {
  const leaves: (() => void)[] = []
  for (let leave = receivers.enter(`http://${host}/a`); typeof leave !== 'number'; leave = receivers.enter(`http://${host}/b`))
    leaves.push(leave)
  return leaves
}

test('a receiver that is slow gets fewer at a time, one that is quick gets more, and neither touches another', () => {
  let time = 0
  const receivers = createReceivers(() => time, limits)
  const slow = fill(receivers, 'slow')
  const quick = fill(receivers, 'quick')
  assert.deepEqual([slow.length, quick.length], [4, 4])
  for (const leave of quick) leave()
  assert.equal(fill(receivers, 'quick').length, 16)
  time = 1000
  for (const leave of slow) leave()
  assert.equal(fill(receivers, 'slow').length, 1)
  assert.equal(fill(receivers, 'slow').length, 0)
})

test('one that is quick again gets more again', () => {
  let time = 0
  const receivers = createReceivers(() => time, limits)
  const slow = fill(receivers, 'one')
  time = 1000
  for (const leave of slow) leave()
  for (const leave of fill(receivers, 'one')) leave()
  assert.equal(fill(receivers, 'one').length, 2)
})

test('however many receivers there are, those at work are not forgotten', () => {
  const receivers = createReceivers(() => 0, { ...limits, first: 1 })
  assert.equal(typeof receivers.enter('http://busy/'), 'function')
  for (let n = 0; n < 3000; n++) {
    const leave = receivers.enter(`http://host-${n}/`)
    if (typeof leave === 'function') leave()
  }
  assert.equal(receivers.enter('http://busy/'), 1000)
})
