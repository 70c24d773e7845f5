import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from './messages.ts'
import { fitImages } from './history.ts'

test('pictures of results leave room for the files of questions, so that a request stays below the limit of providers', () => {
  const data = 'x'.repeat(4_000_000)
  const image = { mediaType: 'image/png', data, name: 'a.png', requestId: 'r', n: 1 }
  const results = [1, 2].map((n): Message => ({
    role: 'tool',
    callId: `${n}`,
    name: 'look',
    text: '',
    isError: false,
    images: [{ ...image, n }],
  }))
  const shownBeside = (characters: number) => {
    const files = [{ name: 'a.pdf', mediaType: 'application/pdf', data: 'x'.repeat(characters) }]
    const messages = fitImages([{ role: 'user', text: 'Read.', files }, ...results])
    return messages.flatMap((message) => (message.role === 'tool' ? (message.images ?? []) : [])).map(({ n }) => n)
  }
  assert.deepEqual(shownBeside(1000), [1, 2])
  assert.deepEqual(shownBeside(26_000_000), [2])
})
