import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePosition, parseRowPosition, toOffset } from './offset.ts'

test('an offset is safe in a URL, and is read back as the position', () => {
  const position = [1_700_000_000_000, 'r/é?', 'agent-core ann']
  const offset = toOffset(position)
  assert.match(offset, /^[\w-]+$/)
  assert.deepEqual(parsePosition(offset), position)
  assert.deepEqual(parseRowPosition(offset), { createdAt: position[0], requestId: 'r/é?', owner: 'agent-core ann' })
})

test('any other text is no position', () => {
  for (const text of ['', 'r1', toOffset(['a\0']), Buffer.from('{}').toString('base64url'), Buffer.from('[[]]').toString('base64url')]) {
    assert.equal(parsePosition(text), undefined, text)
  }
  const wrong = [[], [1], [1, 'r'], [1, 'r', 'o', 'x'], ['1', 'r', 'o'], [1.5, 'r', 'o'], [1e300, 'r', 'o'], [1, 2, 'o']]
  for (const position of wrong) assert.equal(parseRowPosition(toOffset(position)), undefined, JSON.stringify(position))
})
