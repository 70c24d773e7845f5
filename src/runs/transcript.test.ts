import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Message } from '../agent/messages.ts'
import type { ChatMessage } from './run.ts'
import type { HistoryMessage, NewMessage } from './run-store.ts'
import { maxWindowMessages, nextWindowStart, tokensOf, toNewMessages, toTranscript } from './transcript.ts'

const kept = (messages: readonly NewMessage[], from = 0): HistoryMessage[] =>
  messages.map(({ role, content, data }, at) => ({ idx: from + at, role, content, data }))

const human = (idx: number, content: string): HistoryMessage => ({ idx, role: 'human', content, data: undefined })
const ai = (idx: number, content: string, transcript?: Message[]): HistoryMessage => ({
  idx,
  role: 'ai',
  content,
  data: { requestId: `r${idx}`, ...(transcript ? { transcript } : {}) },
})

/** The transcript of a run `now` whose human message is the last of `history`. */
function shown(history: readonly HistoryMessage[], messages: readonly ChatMessage[], messageIndex = history.at(-1)!.idx) {
  return toTranscript({ history, messageIndex, requestId: 'now', messages, tokens: 10_000 })
}

const brought: ChatMessage[] = [
  { role: 'system', content: 'Speak French.' },
  { role: 'user', content: 'Bonjour' },
  { role: 'assistant', content: 'Salut' },
  { role: 'user', content: 'Ça va ?' },
]

const inFrench: Message[] = [
  { role: 'user', text: 'Bonjour' },
  { role: 'assistant', text: 'Salut', toolCalls: [] },
  { role: 'user', text: 'Ça va ?' },
]

test('a session is shown in order, its tool calls included, the human message last', () => {
  const call: Message[] = [
    { role: 'assistant', text: '', toolCalls: [{ id: 'c1', name: 'add', arguments: '{}' }] },
    { role: 'tool', callId: 'c1', name: 'add', text: '5', isError: false },
    { role: 'assistant', text: 'It is 5.', toolCalls: [] },
  ]
  const history = [human(0, '2 + 3?'), ai(1, 'It is 5.', call), human(2, 'Sure?')]
  assert.deepEqual(shown(history, [{ role: 'user', content: 'Sure?' }]), {
    system: '',
    messages: [{ role: 'user', text: '2 + 3?' }, ...call, { role: 'user', text: 'Sure?' }],
  })
})

test('turns that a client brings to a new session become its first messages, and are shown once', () => {
  const stored = toNewMessages(brought, 'now', 7)
  assert.deepEqual(
    stored.map(({ role, content, createdAt }) => ({ role, content, createdAt })),
    [
      { role: 'human', content: 'Bonjour', createdAt: 7 },
      { role: 'ai', content: 'Salut', createdAt: 7 },
      { role: 'human', content: 'Ça va ?', createdAt: 7 },
    ],
  )
  assert.deepEqual(shown(kept(stored), brought), { system: 'Speak French.', messages: inFrench })
})

test('system messages that began a session hold in its later runs', () => {
  for (const first of [brought, [brought[0]!, brought[3]!], brought.toSpliced(1, 1)]) {
    const history = [...kept(toNewMessages(first, 'first', 7)), ai(3, 'Oui.'), human(4, 'Et toi ?')]
    assert.equal(shown(history, [{ role: 'user', content: 'Et toi ?' }]).system, 'Speak French.')
  }
})

test('in a session with a history, turns that a client brings are context of this run alone', () => {
  const earlier = [human(0, 'Hello'), ai(1, 'Hi.')]
  const history = [...earlier, ...kept(toNewMessages(brought, 'now', 7).slice(-1), 2)]
  assert.deepEqual(shown(history, brought), {
    system: 'Speak French.',
    messages: [{ role: 'user', text: 'Hello' }, { role: 'assistant', text: 'Hi.', toolCalls: [] }, ...inFrench],
  })
  for (const request of [brought, [brought[0]!, brought[3]!]]) {
    const later = [...earlier, ...kept(toNewMessages(request, 'first', 7).slice(-1), 2), ai(3, 'Oui.'), human(4, 'And now?')]
    assert.equal(shown(later, [{ role: 'user', content: 'And now?' }]).system, '')
  }
})

test('a run that goes on is shown its own message last, even where the window has moved past it', () => {
  const history = [human(4, 'Meanwhile'), ai(5, 'Yes.')]
  assert.deepEqual(shown(history, [{ role: 'user', content: 'Old one' }], 2).messages.at(-1), { role: 'user', text: 'Old one' })
})

test('a single message needs no data', () => {
  assert.deepEqual(toNewMessages([{ role: 'user', content: 'Hi' }], 'now', 7), [{ role: 'human', content: 'Hi', createdAt: 7 }])
})

const sized = (...tokens: number[]) => tokens.map((one, at) => ({ idx: 10 + at, role: at % 2 === 0 ? 'human' : 'ai', tokens: one }))

test('the window stays while it fits, and then moves so that half of it is free', () => {
  assert.equal(nextWindowStart(sized(25, 25, 25, 25), 100), 10)
  assert.equal(nextWindowStart(sized(25, 25, 24, 25, 1, 1), 100), 14)
  assert.equal(nextWindowStart(sized(30, 30, 20, 20, 5, 5), 100), 12)
  assert.equal(nextWindowStart([], 100), 0)
})

test('the window begins with a human message, also where the last turn alone is too much', () => {
  assert.equal(nextWindowStart(sized(10, 10, 10, 500), 100), 12)
  assert.equal(nextWindowStart(sized(10, 500), 100), 10)
})

test('a message counts with all that was said for it', () => {
  const call: Message[] = [
    { role: 'tool', callId: 'c1', name: 'add', text: 'x'.repeat(400), isError: false },
    { role: 'assistant', text: 'ok', toolCalls: [] },
  ]
  assert.equal(tokensOf(ai(1, 'ok', call)), 104 + 5)
  assert.equal(tokensOf(human(0, 'four')), 5)
})

test('the window holds so many messages at most, however short they are', () => {
  const many = Array.from({ length: maxWindowMessages + 2 }, (_, at) => ({ idx: at, role: at % 2 === 0 ? 'human' : 'ai', tokens: 1 }))
  assert.equal(nextWindowStart(many.slice(0, maxWindowMessages), 10_000), 0)
  assert.equal(nextWindowStart(many, 10_000), maxWindowMessages / 2 + 2)
})
