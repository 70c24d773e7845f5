import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CodeFence } from './structured-answer.ts'

/** The texts that a reader gets for the pieces, joined, and the text of the fence. */
function read(pieces: readonly string[]) {
  const fence = new CodeFence()
  const sent = pieces.map((piece) => fence.take(piece))
  sent.push(fence.end())
  assert.equal(sent.join(''), fence.text)
  return fence.text
}

/** The text in pieces of `size` characters. */
const cut = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []

test('a fence around the whole text is taken off, however the text arrives', () => {
  const cases: [text: string, expected: string][] = [
    ['{"a": 1}', '{"a": 1}'],
    ['\n\n  {"a": 1}', '{"a": 1}'],
    ['```json\n{"a": 1}\n```', '{"a": 1}'],
    ['```\n[1,\n2]\n```\n', '[1,\n2]'],
    ['\n```json\n{"a": "`x` ``` y"}\n```  ', '{"a": "`x` ``` y"}'],
    ['```json\n{"a": 1}', '{"a": 1}'],
    ['``` json\n"ends with `"\n```', '"ends with `"'],
    ['`code` first', '`code` first'],
    ['Here it is:\n```json\n{}\n```', 'Here it is:\n```json\n{}\n```'],
    ['```json\n{}\n```\nThat is all.', '{}\n```\nThat is all.'],
    ['```json', '```json'],
    ['', ''],
    ['  ', ''],
  ]
  for (const [text, expected] of cases) {
    for (const size of [1, 2, 3, 7, 1000]) assert.equal(read(cut(text, size)), expected, JSON.stringify([text, size]))
  }
})

test('text arrives as it comes', () => {
  const plain = new CodeFence()
  assert.deepEqual(
    ['{"a":', ' [1, ', '2]}'].map((piece) => plain.take(piece)),
    ['{"a":', ' [1, ', '2]}'],
  )
  const fenced = new CodeFence()
  assert.deepEqual(
    ['```js', 'on\n{"a":', ' [1,\n', '2]}\n', '```'].map((piece) => fenced.take(piece)),
    ['', '{"a":', ' [1,', '\n2]}', ''],
  )
  assert.equal(fenced.end(), '')
})
