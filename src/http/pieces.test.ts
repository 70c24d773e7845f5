import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodyChunks } from './pieces.ts'

test('pieces become the text in their order, characters that were cut included', () => {
  const text = 'aé€😀'.repeat(400)
  for (const pieceBytes of [1, 3, 1000, 100_000]) {
    const pieces = new BodyChunks()
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) pieces.add(bytes.subarray(at, at + pieceBytes))
    assert.equal(pieces.toText(), text)
  }
  assert.equal(new BodyChunks().toText(), '')
})
