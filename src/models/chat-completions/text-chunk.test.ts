import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TextChunk } from './reply.ts'

const chunkOf = (content: string, extra: object = {}) =>
  JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content, ...extra }, finish_reason: null }] })

test('the text of a chunk of the same form is the text that JSON.parse finds', () => {
  const form = TextChunk.of(chunkOf(' one'), ' one')!
  for (const text of [' two', '', 'Grüße 世界 🌍', '<think>', "it's", '}]', '\u2028']) assert.equal(form.textOf(chunkOf(text)), text)
})

test('texts with escapes and chunks of another form are left to JSON.parse', () => {
  const form = TextChunk.of(chunkOf(' one'), ' one')!
  for (const text of ['"', '\\', '\n', 'a\tb', '","x":"']) assert.equal(form.textOf(chunkOf(text)), undefined)
  const others = [chunkOf(' one', { refusal: 'no' }), chunkOf(' one').replace('null', '"stop"'), chunkOf('').slice(1), '', '[DONE]']
  for (const data of others) assert.equal(form.textOf(data), undefined)
  assert.equal(form.textOf(chunkOf('a').replace('"a"', '"a\nb"')), undefined)
})

test('a chunk whose text cannot be located has no form', () => {
  assert.equal(TextChunk.of(chunkOf('a\nb'), 'a\nb'), undefined)
  assert.equal(TextChunk.of(chunkOf('ü').replace('ü', '\\u00fc'), 'ü'), undefined)
  assert.equal(TextChunk.of(JSON.stringify({ choices: [{ delta: { content: 'a' } }, { delta: { content: 'b' } }] }), 'a'), undefined)
  assert.equal(TextChunk.of('{"choices":[{"delta":{"content": "a"}}]}', 'a'), undefined)
})
