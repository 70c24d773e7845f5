import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReceivers, maxExcerptBytes, toBodyExcerpt } from './attempt.ts'

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

test('a short body is shown in full, with its line breaks', () => {
  assert.equal(toBodyExcerpt(Buffer.from('{\r\n\t"é": "🙂"\n}')), '{\r\n\t"é": "🙂"\n}')
  assert.equal(toBodyExcerpt(new Uint8Array()), '')
})

test('a long body is cut at 4 KiB, without half a character', () => {
  const excerpt = toBodyExcerpt(Buffer.from(`x${'🙂'.repeat(2000)}`))
  assert.equal(excerpt, `x${'🙂'.repeat((maxExcerptBytes - 4) / 4)}`)
})

test('control characters, directions and bytes that are no UTF-8 become replacement characters', () => {
  assert.equal(toBodyExcerpt(Buffer.from('a\0b\u001b[31mc\u202ed\u0085e')), 'a\uFFFDb\uFFFD[31mc\uFFFDd\uFFFDe')
  assert.equal(toBodyExcerpt(Uint8Array.of(0x61, 0xff, 0xc3)), 'a\uFFFD\uFFFD')
})
