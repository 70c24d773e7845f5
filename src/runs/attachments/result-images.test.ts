import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Image } from '../../agent/messages.ts'
import { newestImages, toEarlierMessage } from './result-images.ts'
import { toNewMessages, toTranscript } from '../window/window.ts'
import type { HistoryMessage } from '../run-store.ts'

const names = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `${at + 1}.png`, mediaType: 'image/png' }))
const withImages = (idx: number, requestId: string, count: number): HistoryMessage => ({
  idx,
  role: 'human',
  content: `of ${requestId}`,
  data: { requestId, images: names(count) },
})
const image = (data: string): Image => ({ mediaType: 'image/png', data })

test('at most five images are shown: first those of the question, then the newest', () => {
  const history = [withImages(0, 'a', 2), withImages(2, 'b', 1), withImages(4, 'c', 3), withImages(6, 'now', 1)]
  assert.deepEqual(
    [...newestImages({ requestId: 'now', images: 1 }, history).questions],
    [
      ['now', 1],
      ['c', 3],
      ['b', 1],
    ],
  )
  assert.deepEqual([...newestImages({ requestId: 'now', images: 5 }, history).questions], [['now', 5]])
  assert.deepEqual([...newestImages({ requestId: 'now', images: 0 }, []).questions], [])
  assert.deepEqual(
    [...newestImages({ requestId: 'x', images: 0 }, history).questions],
    [
      ['now', 1],
      ['c', 3],
      ['b', 1],
    ],
  )
})

test('attachments of an earlier message that are not shown are named', () => {
  const data = { requestId: 'a', images: names(3), contextFiles: ['b.md'] }
  assert.deepEqual(toEarlierMessage('Look.', data, { images: new Map([['a', [image('AA')]]]) }), {
    role: 'user',
    text: 'Look.\n\n[Images that came with this message, not shown here: 2.png, 3.png]\n\n[Files that came with this message, not shown again: b.md]',
    images: [{ ...image('AA'), earlier: { name: '1.png' } }],
  })
})

test('images stay with their messages and context files before the question, even in a small window', () => {
  const history = [withImages(0, 'first', 1), withImages(2, 'now', 1)]
  const images = new Map([
    ['first', [image('AA')]],
    ['now', [image('BB')]],
  ])
  const input = { history, messageIndex: 2, requestId: 'now', messages: [{ role: 'user' as const, content: 'of now' }], summary: undefined }
  const context = { text: 'The files.', files: [] }
  const parts = { question: 'of now', files: [] }
  const question = { role: 'user', text: 'The files.\n\nof now', images: [image('BB')], parts }
  assert.deepEqual(toTranscript({ ...input, tokens: 10_000, images, context }).messages, [
    { role: 'user', text: 'of first', images: [{ ...image('AA'), earlier: { name: '1.png' } }] },
    question,
  ])
  assert.deepEqual(toTranscript({ ...input, tokens: 500, images, context }).messages, [
    { ...question, parts: { ...parts, summary: '- User: of first' } },
  ])
})

test('a question keeps its images after the window has moved past the question', () => {
  const input = {
    history: [],
    messageIndex: 2,
    requestId: 'now',
    messages: [{ role: 'user' as const, content: 'Old' }],
    summary: undefined,
  }
  const { messages } = toTranscript({ ...input, tokens: 10_000, images: new Map([['now', [image('BB')]]]) })
  assert.deepEqual(messages, [{ role: 'user', text: 'Old', images: [image('BB')] }])
})

test('attachments of a request are stored with its human message only', () => {
  const messages = [
    { role: 'system' as const, content: 'Be short.' },
    { role: 'user' as const, content: 'One' },
    { role: 'assistant' as const, content: 'Two' },
    { role: 'user' as const, content: 'Three' },
  ]
  const stored = toNewMessages({ messages, images: names(1), contextFiles: ['a.md'] }, 'r', 7)
  assert.deepEqual(
    stored.map(({ data }) => data),
    [{ requestId: 'r', system: 'Be short.' }, { requestId: 'r' }, { requestId: 'r', images: names(1), contextFiles: ['a.md'] }],
  )
  const [message] = toNewMessages({ messages: messages.slice(-1), contextFiles: ['a.md'] }, 'r', 7)
  assert.deepEqual(message!.data, { contextFiles: ['a.md'] })
})
