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
const messages: Message[] = [
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

test('images of results follow the last result of their turn, each group with a label', () => {
  const [, , , , , roles, ...rest] = messagesOf('openai', messages)
  assert.deepEqual(rest, [])
  assert.equal(roles.role, 'user')
  const [first, message, two, second, three] = roles.content
  assert.equal(first.text, '[Output of the tool look (call a), not a message of the user: 1.png, 2.png]')
  assert.equal(second.text, '[Output of the tool look (call c), not a message of the user: 3.png]')
  assert.deepEqual({ message, two, three }, { message: picture(1), two: picture(2), three: picture(3) })
})

test('images of results are merged into the following user message, if any', () => {
  const roles = messagesOf('openai', [...messages, { role: 'user', text: 'Go on.' }]).map(({ role }) => role)
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'tool', 'user'])
  const between = messagesOf('openai', [...messages, { role: 'assistant', text: 'Well.', toolCalls: [] }]).map(({ role }) => role)
  assert.deepEqual(between, ['user', 'assistant', 'tool', 'tool', 'tool', 'user', 'assistant'])
})

test('Mistral gets images in the result itself', () => {
  const [, , a, b, c, ...rest] = messagesOf('mistral', messages)
  assert.deepEqual(a.content, [{ type: 'text', text: 'Seen.' }, picture(1), picture(2)])
  assert.equal(b.content, 'Seen.')
  assert.deepEqual(c.content, [{ type: 'text', text: 'Seen.' }, picture(3)])
  assert.deepEqual(rest, [])
})
