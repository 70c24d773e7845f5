import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toByteRange } from './send-file.ts'

test('a single range is parsed, from either end of the file', () => {
  assert.deepEqual(toByteRange('bytes=0-3', 10), { start: 0, end: 3 })
  assert.deepEqual(toByteRange('bytes=4-', 10), { start: 4, end: 9 })
  assert.deepEqual(toByteRange('bytes=4-100', 10), { start: 4, end: 9 })
  assert.deepEqual(toByteRange('bytes=-3', 10), { start: 7, end: 9 })
  assert.deepEqual(toByteRange('Bytes=-30', 10), { start: 0, end: 9 })
})

test('a range after the end of the file is none', () => {
  for (const header of ['bytes=10-', 'bytes=10-12', 'bytes=-0']) assert.equal(toByteRange(header, 10), 'none', header)
  assert.equal(toByteRange('bytes=0-', 0), 'none')
})

test('any other header is answered with the whole file', () => {
  for (const header of [undefined, '', 'bytes=', 'bytes=-', 'bytes=3-1', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b']) {
    assert.equal(toByteRange(header, 10), 'all', header)
  }
})
