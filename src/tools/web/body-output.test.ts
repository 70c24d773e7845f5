import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeText, essenceOf, isText } from './body-output.ts'

test('text is decoded by its byte order mark, its header, its declaration, or else as UTF-8', () => {
  const latin = Buffer.from('<meta charset="iso-8859-1">Grüße', 'latin1')
  assert.equal(decodeText(latin, 'text/html'), '<meta charset="iso-8859-1">Grüße')
  assert.equal(decodeText(Buffer.from('Grüße', 'latin1'), 'text/plain; charset="ISO-8859-1"'), 'Grüße')
  assert.equal(decodeText(Buffer.from('Grüße'), null), 'Grüße')
  assert.equal(decodeText(Buffer.from('\uFEFFGrüße'), 'text/plain; charset=latin1'), 'Grüße')
  assert.equal(decodeText(Buffer.from('\uFEFFGrüße', 'utf16le'), 'text/plain'), 'Grüße')
  assert.equal(decodeText(Buffer.from('Grüße'), 'text/plain; charset=no-such-thing'), 'Grüße')
  assert.equal(decodeText(Buffer.from('<meta charset=utf-16>Grüße'), 'text/html'), '<meta charset=utf-16>Grüße')
  const kanji = Buffer.from([0x82, 0xb1])
  assert.equal(decodeText(kanji, 'text/html; charset=Shift_JIS'), 'こ')
})

test('a body is textual by its media type, or else by its bytes', () => {
  for (const type of ['text/csv', 'application/json', 'application/problem+json; charset=utf-8', 'image/svg+xml']) {
    assert.ok(isText(Buffer.from([0]), type), type)
  }
  assert.ok(!isText(Buffer.from('PK'), 'application/zip'))
  assert.ok(isText(Buffer.from('words'), null))
  assert.ok(!isText(Buffer.from([1, 0, 2]), null))
  assert.equal(essenceOf(' Text/HTML ; charset=x'), 'text/html')
})
