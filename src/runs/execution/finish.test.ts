import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AssistantMessage, JsonValue, Message } from '../../agent/messages.ts'
import { maxVendorCharacters, toStoredTranscript } from './finish.ts'

const question: Message = { role: 'user', text: 'Why?' }
const said = (text: string, data?: JsonValue): AssistantMessage => ({
  role: 'assistant',
  text,
  toolCalls: [],
  ...(data !== undefined && { vendor: { provider: 'p', model: 'm', data } }),
})
const called = (id: string, data?: JsonValue): Message[] => [
  { ...said('', data), toolCalls: [{ id, name: 'look', arguments: '{}' }], reasoning: 'Hm.' },
  { role: 'tool', callId: id, name: 'look', text: 'ok', isError: false },
]
const dataOf = (messages: readonly Message[] | undefined) =>
  messages?.flatMap((message) => (message.role === 'assistant' ? [message.vendor !== undefined] : []))

test('a plain answer without data of the provider has no transcript', () => {
  assert.equal(toStoredTranscript([question, said('So.')]), undefined)
})

test('a plain answer with data of the provider is stored with the data', () => {
  const answer = said('So.', { signed: 'x' })
  assert.deepEqual(toStoredTranscript([question, answer]), [answer])
})

test('a turn with calls keeps the data of each message, and not the reasoning', () => {
  const stored = toStoredTranscript([question, ...called('c1', ['a']), said('So.', ['b'])])
  assert.deepEqual(dataOf(stored), [true, true])
  assert.equal(JSON.stringify(stored).includes('reasoning'), false)
})

test('a turn with calls and without data is stored as its messages alone', () => {
  const stored = toStoredTranscript([question, ...called('c1'), said('So.')])
  assert.equal(JSON.stringify(stored).includes('vendor'), false)
  assert.equal(stored?.length, 3)
})

test('data beyond the limit of a turn is dropped whole, the oldest first', () => {
  const half = 'x'.repeat(maxVendorCharacters / 2 - 10)
  const messages = [question, ...called('c1', half), ...called('c2', half), ...called('c3', 'small'), said('So.', 'small')]
  assert.deepEqual(dataOf(toStoredTranscript(messages)), [false, true, true, true])
  const large = 'x'.repeat(maxVendorCharacters)
  assert.deepEqual(dataOf(toStoredTranscript([question, ...called('c1', 'small'), said('So.', large)])), [false, false])
  assert.equal(toStoredTranscript([question, said('So.', large)]), undefined)
})
