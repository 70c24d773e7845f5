import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Message } from '../../agent/messages.ts'
import type { HistoryMessage } from '../run-store.ts'
import { maxWindowMessages, nextWindowStart, toSizedMessage } from './window.ts'

const sized = (...tokens: number[]) => tokens.map((size, at) => ({ idx: 10 + at, role: at % 2 === 0 ? 'human' : 'ai', tokens: size }))

/** 100 tokens for messages and 14 for the summary. */
const tokens = 114

test('the window stays while it fits, and then moves so that half of the limit is free', () => {
  assert.equal(nextWindowStart(sized(25, 25, 25, 25), tokens), 10)
  assert.equal(nextWindowStart(sized(25, 25, 24, 25, 1, 1), tokens), 14)
  assert.equal(nextWindowStart(sized(30, 30, 20, 20, 5, 5), tokens), 12)
  assert.equal(nextWindowStart([], tokens), 0)
})

test('the window starts with a human message, even if the last turn alone exceeds the limit', () => {
  assert.equal(nextWindowStart(sized(10, 10, 10, 500), tokens), 12)
  assert.equal(nextWindowStart(sized(10, 500), tokens), 10)
})

test('the number of messages in the window is limited, however short the messages are', () => {
  const messages = Array.from({ length: maxWindowMessages + 2 }, (_, at) => ({ idx: at, role: at % 2 === 0 ? 'human' : 'ai', tokens: 1 }))
  assert.equal(nextWindowStart(messages.slice(0, maxWindowMessages), 10_000), 0)
  assert.equal(nextWindowStart(messages, 10_000), maxWindowMessages / 2 + 2)
})

const answer = (outputCharacters: number): HistoryMessage => {
  const transcript: Message[] = [
    { role: 'tool', callId: 'c1', name: 'add', text: 'x'.repeat(outputCharacters), isError: false },
    { role: 'assistant', text: 'ok', toolCalls: [] },
  ]
  return { idx: 3, role: 'ai', content: 'ok', data: { requestId: 'r', transcript } }
}

test('a message counts with its whole transcript, and tool output counts in the shortened form', () => {
  assert.deepEqual(toSizedMessage({ idx: 0, role: 'human', content: 'four', data: undefined }), { idx: 0, role: 'human', tokens: 5 })
  assert.deepEqual(toSizedMessage(answer(400)), { idx: 3, role: 'ai', tokens: 104 + 5 })
  assert.equal(toSizedMessage(answer(3000)).tokens, 109 + 5)
})

test('at least a part of large tool output counts', () => {
  assert.equal(toSizedMessage(answer(320_000)).tokens, 10_002)
})
