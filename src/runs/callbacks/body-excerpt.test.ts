import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxExcerptBytes, toBodyExcerpt } from './body-excerpt.ts'

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
