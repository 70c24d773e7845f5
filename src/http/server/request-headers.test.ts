import assert from 'node:assert/strict'
import { test } from 'node:test'
import { traceparentOf } from './request-headers.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'
const read = (traceparent: string) => traceparentOf({ headers: { traceparent } })

test('a valid traceparent is accepted, also of a later version', () => {
  for (const header of [`00-${trace}-${span}-01`, `00-${trace}-${span}-00`, `01-${trace}-${span}-01-more`])
    assert.equal(read(header), header)
})

test('an invalid traceparent is ignored', () => {
  const invalid = [
    '',
    `00-${trace}-${span}`,
    `00-${trace}-${span}-01-more`,
    `ff-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `01-${trace}-${span}-01-${'x'.repeat(300)}`,
  ]
  for (const header of invalid) assert.equal(read(header), undefined, header)
  assert.equal(traceparentOf({ headers: {} }), undefined)
})
