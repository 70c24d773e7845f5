import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../agent/messages.ts'
import { toRequestBody } from './request.ts'

const image = (n: number) => ({ mediaType: 'image/png', data: `data${n}`, name: `${n}.png`, requestId: 'r', n })
const call = (id: string) => ({ id, name: 'look', arguments: '{}' })
const result = (callId: string, ...images: number[]): Message => ({
  role: 'tool',
  callId,
  name: 'look',
  text: 'Seen.',
  isError: false,
  ...(images.length > 0 && { images: images.map(image) }),
})
const asked: Message[] = [
  { role: 'user', text: 'Look.' },
  { role: 'assistant', text: '', toolCalls: [call('a'), call('b'), call('c')] },
  result('a', 1, 2),
  result('b'),
  result('c', 3),
]

function messagesOf(provider: 'openai' | 'mistral', messages: Message[]): any[] {
  return JSON.parse(toRequestBody({ provider, model: 'm' }, { system: '', messages, tools: [] })).messages
}

const picture = (n: number) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,data${n}` } })

test('pictures of results follow the last result of their turn, each set under a label', () => {
  const [, , , , , shown, ...rest] = messagesOf('openai', asked)
  assert.deepEqual(rest, [])
  assert.equal(shown.role, 'user')
  const [first, one, two, second, three] = shown.content
  assert.equal(first.text, '[Output of the tool look (call a), not a message of the user: 1.png, 2.png]')
  assert.equal(second.text, '[Output of the tool look (call c), not a message of the user: 3.png]')
  assert.deepEqual([one, two, three], [picture(1), picture(2), picture(3)])
})

test('pictures of results stand in the message of the user that follows, where there is one', () => {
  const roles = messagesOf('openai', [...asked, { role: 'user', text: 'Go on.' }]).map(({ role }) => role)
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'tool', 'user'])
  const between = messagesOf('openai', [...asked, { role: 'assistant', text: 'Well.', toolCalls: [] }]).map(({ role }) => role)
  assert.deepEqual(between, ['user', 'assistant', 'tool', 'tool', 'tool', 'user', 'assistant'])
})

test('Mistral gets pictures in the result itself', () => {
  const [, , a, b, c, ...rest] = messagesOf('mistral', asked)
  assert.deepEqual(a.content, [{ type: 'text', text: 'Seen.' }, picture(1), picture(2)])
  assert.equal(b.content, 'Seen.')
  assert.deepEqual(c.content, [{ type: 'text', text: 'Seen.' }, picture(3)])
  assert.deepEqual(rest, [])
})
