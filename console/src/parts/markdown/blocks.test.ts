import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFence, splitBlocks } from './blocks.ts'

const texts = (text: string) => splitBlocks(text).map((block) => block.text.trim())

test('paragraphs are blocks', () => {
  assert.deepEqual(texts('one\ntwo\n\nthree\n\n\n\nfour'), ['one\ntwo', 'three', 'four'])
})

test('a fenced block is one block, with its blank lines', () => {
  const code = '```js\na\n\nb\n```'
  assert.deepEqual(texts(`before\n${code}\nafter`), ['before', code, 'after'])
  assert.deepEqual(readFence(code), { language: 'js', code: 'a\n\nb' })
})

test('a fence inside of a longer fence does not end it', () => {
  const code = '````md\n```js\n1\n```\n````'
  assert.deepEqual(texts(`${code}\n\nafter`), [code, 'after'])
})

test('an open fence is code to the end of the text', () => {
  const [block] = splitBlocks('```py\nx = 1\n\ny = 2')
  assert.equal(block!.kind, 'code')
  assert.deepEqual(readFence(block!.text), { language: 'py', code: 'x = 1\n\ny = 2' })
})

test('the elements of a list stay together, with their paragraphs and code', () => {
  const list = '1. one\n\n   more\n\n2. two\n\n   ```\n   code\n\n   code\n   ```\n\n3. three'
  assert.deepEqual(texts(`${list}\n\nafter`), [list, 'after'])
})

test('a very long list is split between its elements', () => {
  const list = Array.from({ length: 1000 }, (_, index) => `${index + 1}. ${'word '.repeat(10)}`).join('\n')
  const blocks = splitBlocks(list)
  assert.ok(blocks.length > 5)
  assert.ok(blocks.every(({ kind, text }) => kind === 'markdown' && /^\d+\. /.test(text)))
})

test('a block that is too long or too deep is plain text', () => {
  assert.equal(splitBlocks('[a](http://b) '.repeat(10_000))[0]!.kind, 'plain')
  assert.equal(splitBlocks(`${'>'.repeat(5000)} deep`)[0]!.kind, 'plain')
  assert.equal(splitBlocks(`${'- '.repeat(5000)} deep`)[0]!.kind, 'plain')
})

test('a block with more marks than the parser takes in a moment is plain text', () => {
  assert.equal(splitBlocks(`${'*'.repeat(8000)}a${'*'.repeat(7000)}`)[0]!.kind, 'plain')
  assert.equal(splitBlocks('*a_ '.repeat(3900))[0]!.kind, 'plain')
  assert.equal(splitBlocks('| **a** | [b](http://c) | `d` |\n'.repeat(90))[0]!.kind, 'markdown')
})

test('appended text changes the last block alone, and gives what the whole text gives', () => {
  const text = '# Title\n\nFirst.\n\n- a\n- b\n\n  c\n\n```js\nlet x\n\nlet y\n```\n\n| a |\n|---|\n| 1 |\n\nEnd.\n'
  let blocks = splitBlocks('')
  for (let length = 1; length <= text.length; length++) {
    const before = blocks
    blocks = splitBlocks(text.slice(0, length), before)
    assert.deepEqual(blocks, splitBlocks(text.slice(0, length)), `at ${length}`)
    for (const [index, block] of before.slice(0, -1).entries()) assert.equal(blocks[index], block)
  }
})
