import { test } from 'node:test'
import assert from 'node:assert/strict'
import { estimateTokens, fit as fitTurns, fitOutputs, maxVendorTokens, outcomeUnknown, repair, totalTokens } from './history.ts'
import type { Message } from './messages.ts'

const user = (text: string): Message => ({ role: 'user', text })
const said = (text: string, ...ids: string[]): Message => ({
  role: 'assistant',
  text,
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
})
const result = (callId: string, text = `of ${callId}`): Message => ({ role: 'tool', callId, name: 'look', text, isError: false })
const unknown = (callId: string): Message => ({ role: 'tool', callId, name: 'look', text: outcomeUnknown, isError: true })

const fit = (messages: readonly Message[], budget: number) => fitTurns(messages, budget).messages

test('a valid transcript stays as it is', () => {
  const messages = [user('a'), said('', 'x', 'y'), result('x'), result('y'), said('b'), user('c'), user('d')]
  assert.deepEqual(repair(messages), messages)
})

test('every call has exactly one result, right behind its message, in the order asked', () => {
  const broken = [user('a'), said('', 'x', 'y', 'z'), result('z'), result('x'), result('x', 'twice'), user('b')]
  assert.deepEqual(repair(broken), [user('a'), said('', 'x', 'y', 'z'), result('x'), unknown('y'), result('z'), user('b')])
  assert.equal(broken.length, 6)
})

test('a result without its call, or behind another message, is dropped', () => {
  assert.deepEqual(repair([result('x'), user('a'), said('b'), result('y'), said('', 'z'), user('c'), result('z')]), [
    user('a'),
    said('b'),
    said('', 'z'),
    unknown('z'),
    user('c'),
  ])
})

test('an empty assistant message is dropped: some providers refuse it in every later request', () => {
  assert.deepEqual(repair([user('a'), said(''), user('b')]), [user('a'), user('b')])
})

test('a transcript inside of its budget is not changed', () => {
  const messages = [user('a'), said('', 'x'), result('x', 'long '.repeat(500)), said('b'), user('c')]
  assert.deepEqual(fit(messages, 10_000), messages)
})

const long = 'x'.repeat(4000)
const cutShort = `${'x'.repeat(400)}\n[old output, cut]`

test('first the tool output of earlier turns is cut, oldest first, as far as needed and in strides', () => {
  const turn = (n: number) => [user(`${n}`), said('', `x${n}`), result(`x${n}`, long), said('b')]
  const messages = [0, 1, 2, 3, 4, 5].flatMap(turn)
  const fitted = fit([...messages, user('c')], 6000)
  const cut = (from: Message[]) => from.map((message) => (message.role === 'tool' ? { ...message, text: cutShort } : message))
  assert.deepEqual(fitted, [...cut(messages.slice(0, 8)), ...messages.slice(8), user('c')])
  // The next turn finds what was cut as it was, so that a provider's prompt cache holds.
  assert.deepEqual(fit([...messages, user('c'), said('d'), user('e')], 6000).slice(0, 24), fitted.slice(0, 24))
})

test('then whole earlier turns are left out, oldest first, and returned as omitted', () => {
  const half = 'x'.repeat(2000)
  const messages = [user(half), said('', 'x'), result('x'), said('a'), user(half), said('b'), user('c')]
  assert.deepEqual(fitTurns(messages, 600), { messages: messages.slice(4), omitted: messages.slice(0, 4) })
  assert.deepEqual(fit(messages, 100), messages.slice(6))
})

test('the last user message and everything behind it stay unchanged', () => {
  const messages = [user('a'), said('b'), user(long), said('', 'x'), result('x', long)]
  assert.deepEqual(fit(messages, 10), messages.slice(2))
  assert.deepEqual(fit([said('', 'x'), result('x', long)], 10), [said('', 'x'), result('x', long)])
})

test('a fitted transcript is inside of its budget wherever earlier turns can give way', () => {
  const turns = Array.from({ length: 30 }, (_, n) => [user(`${n}`), said('', `x${n}`), result(`x${n}`, 'y'.repeat(n * 100)), said(`${n}`)])
  const messages = [...turns.flat(), user('last')]
  for (const budget of [50, 500, 3000, 9000]) {
    const fitted = fit(messages, budget)
    assert.ok(fitted.reduce((sum, message) => sum + estimateTokens(message), 0) <= budget)
    assert.equal(fitted[0]?.role, 'user')
    assert.deepEqual(repair(fitted), fitted)
  }
})

test('a cut of old output does not break a character', () => {
  const [, , cut] = fit([user('a'), said('', 'x'), result('x', `${'x'.repeat(399)}😀${'y'.repeat(4000)}`), user('b')], 500)
  assert.ok(cut?.text.isWellFormed())
})

test('calls and images count', () => {
  const image = { mediaType: 'image/png', data: '' }
  assert.equal(estimateTokens({ role: 'user', text: 'four', images: [image, image] }), 2005)
  assert.equal(estimateTokens(said('', 'x')), 6)
})

test('a transcript that grows inside of its budget is not even copied', () => {
  const messages = [user('a'), said('', 'x'), result('x', long)]
  assert.equal(fitOutputs(messages, 1100), messages)
})

test('while a run grows, old output is cut and the newest stays, each call with its result', () => {
  const turns = Array.from({ length: 12 }, (_, n) => [said('', `x${n}`), result(`x${n}`, long)]).flat()
  const messages = [user('a'), ...turns]
  const fitted = fitOutputs(messages, 6000)
  assert.ok(totalTokens(fitted) <= 6000)
  assert.deepEqual(repair(fitted), fitted)
  assert.deepEqual(fitted.slice(-6), messages.slice(-6))
  assert.equal(fitted.find((message) => message.role === 'tool')?.text, cutShort)
  // One more turn leaves what stands before as it was.
  const later = fitOutputs([...messages, said('', 'z'), result('z', 'short')], 6000)
  assert.deepEqual(later.slice(0, messages.length), fitted)
})

test('results of one turn stay together among the newest; when too long they share the budget', () => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  const messages = [user('a'), said('', 'old'), result('old', long), said('', ...ids), ...ids.map((id) => result(id, 'y'.repeat(20_000)))]
  const fitted = fitOutputs(messages, 10_000)
  assert.ok(totalTokens(fitted) <= 10_100)
  assert.equal(fitted[2] !== undefined && 'text' in fitted[2] && fitted[2].text, cutShort)
  for (const message of fitted.slice(4)) assert.match(message.text, /^y{7000,}\n\[cut: \d+ of 20000 characters\. Ask for a part of it\.\]$/)
  // However little is left, something of each is told.
  for (const message of fitOutputs(messages, 500).slice(4)) assert.match(message.text, /^y{2000}\n/)
})

test('data of the provider counts as tokens, up to a limit for each message', () => {
  const message = { role: 'assistant' as const, text: 'So.', toolCalls: [] }
  const bare = estimateTokens(message)
  assert.equal(estimateTokens({ ...message, vendor: { provider: 'p', data: 'x'.repeat(398) } }) - bare, 100)
  assert.equal(estimateTokens({ ...message, vendor: { provider: 'p', data: 'x'.repeat(1_000_000) } }) - bare, maxVendorTokens)
})
