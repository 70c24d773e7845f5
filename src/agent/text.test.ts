import { test } from 'node:test'
import assert from 'node:assert/strict'
import { TextBuilder } from './answer.ts'

test('a text has all its pieces in order, whenever it is read', () => {
  const builder = new TextBuilder()
  let expected = ''
  for (let number = 0; number < 300; number++) {
    builder.add(`${number} `)
    expected += `${number} `
    if (number % 70 === 0) assert.equal(builder.toText(), expected)
  }
  assert.equal(builder.toText(), expected)
  assert.equal(builder.toText(), expected)
})

test('a text without characters is empty', () => {
  const builder = new TextBuilder()
  assert.equal(builder.isEmpty, true)
  assert.equal(builder.toText(), '')
  builder.add('')
  assert.equal(builder.isEmpty, true)
  builder.add('a')
  assert.equal(builder.isEmpty, false)
  builder.clear()
  assert.equal(builder.isEmpty, true)
  assert.equal(builder.toText(), '')
})

test('half of a character joins with the other half', () => {
  const builder = new TextBuilder()
  builder.add('\ud83d')
  builder.add('\ude00')
  assert.equal(builder.toText(), '😀')
})
