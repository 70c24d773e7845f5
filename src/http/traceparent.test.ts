import assert from 'node:assert/strict'
import { test } from 'node:test'
import { traceparentOf } from './traceparent.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'
const read = (traceparent: string) => traceparentOf({ headers: { traceparent } })

test('a valid traceparent is taken, also of a later version', () => {
  for (const one of [`00-${trace}-${span}-01`, `00-${trace}-${span}-00`, `01-${trace}-${span}-01-more`]) assert.equal(read(one), one)
})

test('any other is as good as none', () => {
  const wrong = [
    '',
    `00-${trace}-${span}`,
    `00-${trace}-${span}-01-more`,
    `ff-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `01-${trace}-${span}-01-${'x'.repeat(300)}`,
  ]
  for (const one of wrong) assert.equal(read(one), undefined, one)
  assert.equal(traceparentOf({ headers: {} }), undefined)
})
