import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, deltasOf, fieldOf } from './answers.ts'
import { formatTurns } from './figures.ts'
import { createRandom } from '../../proofs/random.ts'
import { shuffle, spreadOf } from './statistics.ts'

test('median and quartiles are interpolated, and do not depend on the order of the values', () => {
  assert.deepEqual(spreadOf([5, 1, 4, 2, 3]), { low: 2, median: 3, high: 4 })
  assert.deepEqual(spreadOf([4, 1]), { low: 1.75, median: 2.5, high: 3.25 })
  assert.deepEqual(spreadOf([7]), { low: 7, median: 7, high: 7 })
})

test('a seed repeats the order of a round, and another seed changes it', () => {
  const items = Array.from({ length: 20 }, (_, index) => index)
  const order = shuffle(items, createRandom(7))
  assert.deepEqual(shuffle(items, createRandom(7)), order)
  assert.notDeepEqual(shuffle(items, createRandom(8)), order)
  assert.deepEqual(
    order.toSorted((a, b) => a - b),
    items,
  )
})

test('the table has a figure only where a turn has measured it, and names the turns that failed', () => {
  const table = formatTurns(
    ['fast', 'broken'],
    [
      { product: 'fast', round: 1, figures: { chatCpuUs: 100, storedJson: 1 } },
      { product: 'fast', round: 2, figures: { chatCpuUs: 300, storedJson: 0 } },
      { product: 'broken', round: 1, failure: 'no answer' },
    ],
  )
  const lines = table.split('\n')
  assert.deepEqual(lines.slice(0, 3), ['|  | fast | broken |', '| --- | --: | --: |', '| processor time per chat | 200 us (150-250) |  |'])
  assert.ok(lines.includes('| chat stored, when killed at the answer | 1 of 2 |  |'))
  assert.equal(lines.at(-1), 'broken failed in round 1: no answer')
})

test('the text of an answer is read from its field, with and without chunks', () => {
  const json = '{"data":{"text":" token token"},"choices":[{"n":1}]}'
  const whole = `HTTP/1.1 200 OK\r\ncontent-length: ${json.length}\r\n\r\n${json}`
  assert.equal(fieldOf(whole, 'data.text'), ' token token')
  assert.equal(fieldOf(whole, 'choices.0.n'), '')
  assert.equal(fieldOf(whole, 'missing.text'), '')
  const events = ['data: {"text":" tok', 'en"}\n\ndata: {"other":1}\n\n', 'data:{"text":" two"}\n\ndata: [DONE]\n\n']
  const chunks = events.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`)
  const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`
  assert.equal(bodyOf(chunked), events.join(''))
  assert.equal(deltasOf(chunked, 'text'), ' token two')
})
