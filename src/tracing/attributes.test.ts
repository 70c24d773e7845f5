import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toInputMessages } from './attributes.ts'

test('a transcript that is too long for a span is shown by its newest messages, as whole JSON', () => {
  const messages = Array.from({ length: 100 }, (_, n) => ({ role: 'user' as const, text: `${n} ${'x'.repeat(100)}` }))
  const text = toInputMessages(messages, 1000)
  const shown = JSON.parse(text) as { parts: { content: string }[] }[]
  assert.ok(text.length <= 1000 && shown.length > 4, text)
  assert.match(shown.at(-1)!.parts[0]!.content, /^99 /)
})

test('images appear by type, never by bytes', () => {
  const text = toInputMessages([{ role: 'user', text: '', images: [{ mediaType: 'image/png', data: 'AAAA' }] }], 1000)
  assert.deepEqual(JSON.parse(text), [{ role: 'user', parts: [{ type: 'blob', modality: 'image', mime_type: 'image/png' }] }])
})
