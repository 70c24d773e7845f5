import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodyChunks } from './pieces.ts'

test('chunks become the text in their order, also with characters cut in two', () => {
  const text = 'aé€😀'.repeat(400)
  for (const chunkBytes of [1, 3, 1000, 100_000]) {
    const chunks = new BodyChunks()
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += chunkBytes) chunks.add(bytes.subarray(at, at + chunkBytes))
    assert.equal(chunks.toText(), text)
  }
  assert.equal(new BodyChunks().toText(), '')
})
