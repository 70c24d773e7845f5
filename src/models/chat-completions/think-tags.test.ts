import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ThinkTags } from './think-tags.ts'

function split(pieces: string[]): [reasoning: string, text: string] {
  const tags = new ThinkTags()
  const parts = [...pieces.map((piece) => tags.split(piece)), tags.rest()]
  return [parts.map((part) => part.reasoning).join(''), parts.map((part) => part.text).join('')]
}

test('leading think tags are removed, however the text is cut', () => {
  const whole = '\n<think>\na < b, </thin is no tag\n</think>\n\nYes <think>no</think>'
  for (let size = 1; size <= whole.length; size++) {
    const pieces = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    const [reasoning, text] = split(pieces)
    assert.equal(text, 'Yes <think>no</think>', `pieces of ${size}`)
    assert.equal(reasoning.trim(), 'a < b, </thin is no tag', `pieces of ${size}`)
  }
})

test('a text that only begins like a tag is unchanged', () => {
  assert.deepEqual(split(['  <', 'thing>']), ['', '  <thing>'])
  assert.deepEqual(split([' <thi']), ['', ' <thi'])
  assert.deepEqual(split(['Well, <think>x</think>']), ['', 'Well, <think>x</think>'])
})

test('reasoning without a closing tag is reasoning', () => {
  assert.deepEqual(split(['<think>on and on </']), ['on and on </', ''])
})
