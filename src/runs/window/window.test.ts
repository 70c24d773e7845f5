import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Message } from '../../agent/messages.ts'
import type { HistoryMessage } from '../run-store.ts'
import { maxWindowMessages, nextWindowStart, toSized } from './window.ts'

const sized = (...tokens: number[]) => tokens.map((one, at) => ({ idx: 10 + at, role: at % 2 === 0 ? 'human' : 'ai', tokens: one }))

/** Leaves 100 tokens beside the summary. */
const tokens = 114

test('the window stays while it fits beside a summary, and then moves so that half of it is free', () => {
  assert.equal(nextWindowStart(sized(25, 25, 25, 25), tokens), 10)
  assert.equal(nextWindowStart(sized(25, 25, 24, 25, 1, 1), tokens), 14)
  assert.equal(nextWindowStart(sized(30, 30, 20, 20, 5, 5), tokens), 12)
  assert.equal(nextWindowStart([], tokens), 0)
})

test('the window begins with a human message, also where the last turn alone is too much', () => {
  assert.equal(nextWindowStart(sized(10, 10, 10, 500), tokens), 12)
  assert.equal(nextWindowStart(sized(10, 500), tokens), 10)
})

test('the window holds so many messages at most, however short they are', () => {
  const many = Array.from({ length: maxWindowMessages + 2 }, (_, at) => ({ idx: at, role: at % 2 === 0 ? 'human' : 'ai', tokens: 1 }))
  assert.equal(nextWindowStart(many.slice(0, maxWindowMessages), 10_000), 0)
  assert.equal(nextWindowStart(many, 10_000), maxWindowMessages / 2 + 2)
})

const answer = (outputCharacters: number): HistoryMessage => {
  const transcript: Message[] = [
    { role: 'tool', callId: 'c1', name: 'add', text: 'x'.repeat(outputCharacters), isError: false },
    { role: 'assistant', text: 'ok', toolCalls: [] },
  ]
  return { idx: 3, role: 'ai', content: 'ok', data: { requestId: 'r', transcript } }
}

test('a message counts with all that was said for it, tool output as it is shown when it is old', () => {
  assert.deepEqual(toSized({ idx: 0, role: 'human', content: 'four', data: undefined }), { idx: 0, role: 'human', tokens: 5 })
  assert.deepEqual(toSized(answer(400)), { idx: 3, role: 'ai', tokens: 104 + 5 })
  assert.equal(toSized(answer(3000)).tokens, 109 + 5)
})

test('what is read of a window is bounded too', () => {
  assert.equal(toSized(answer(320_000)).tokens, 10_002)
})
