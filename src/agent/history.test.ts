import { test } from 'node:test'
import assert from 'node:assert/strict'
import { estimateTokens, fit, outcomeUnknown, repair } from './history.ts'
import type { Message } from './messages.ts'

const user = (text: string): Message => ({ role: 'user', text })
const said = (text: string, ...ids: string[]): Message => ({
  role: 'assistant',
  text,
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
})
const result = (callId: string, text = `of ${callId}`): Message => ({ role: 'tool', callId, name: 'look', text, isError: false })
const unknown = (callId: string): Message => ({ role: 'tool', callId, name: 'look', text: outcomeUnknown, isError: true })

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

test('an answer without text and calls is left out: some providers refuse it in every later request', () => {
  assert.deepEqual(repair([user('a'), said(''), user('b')]), [user('a'), user('b')])
})

test('a transcript inside of its budget is not changed', () => {
  const messages = [user('a'), said('', 'x'), result('x', 'long '.repeat(500)), said('b'), user('c')]
  assert.deepEqual(fit(messages, 10_000), messages)
})

test('first the tool output of earlier turns is cut, oldest first, as far as needed', () => {
  const long = 'x'.repeat(4000)
  const messages = [user('a'), said('', 'x', 'y'), result('x', long), result('y', long), said('b'), user('c')]
  const fitted = fit(messages, 1200)
  assert.deepEqual(fitted, [...messages.slice(0, 2), result('x', `${'x'.repeat(400)}\n[old output, cut]`), ...messages.slice(3)])
})

test('then whole earlier turns are left out, oldest first', () => {
  const long = 'x'.repeat(2000)
  const messages = [user(long), said('', 'x'), result('x'), said('a'), user(long), said('b'), user('c')]
  assert.deepEqual(fit(messages, 600), messages.slice(4))
  assert.deepEqual(fit(messages, 100), messages.slice(6))
})

test('what begins with the last user message is never touched', () => {
  const long = 'x'.repeat(4000)
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
