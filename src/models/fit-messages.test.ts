import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, MessageFile } from '../agent/messages.ts'
import type { ModelRequest } from '../agent/model.ts'
import { unseenIn, withoutUnseen } from './fit-messages.ts'

const pdf: MessageFile = { name: 'a.pdf', mediaType: 'application/pdf', data: 'AAAA', text: 'The pump needs oil.' }
const scan: MessageFile = { name: 'scan.pdf', mediaType: 'application/pdf', data: 'AAAA' }
const song: MessageFile = { name: 'a.mp3', mediaType: 'audio/mpeg', data: 'AAAA' }
const film: MessageFile = { name: 'a.mp4', mediaType: 'video/mp4', data: 'AAAA' }
const requestOf = (...messages: Message[]): ModelRequest => ({ system: '', messages, tools: [] })
const asking = (...files: MessageFile[]) => requestOf({ role: 'user', text: 'What is it?', files })
const modelOf = (...types: string[]) => ({ seesImages: true, readsFiles: (type: string) => types.includes(type) })
const plain = { seesImages: true }

test('a model is named unfit for audio, videos and documents without a text that it does not read', () => {
  assert.equal(unseenIn(asking(song), plain), 'hear audio')
  assert.equal(unseenIn(asking(film), modelOf('audio/mpeg')), 'watch videos')
  assert.equal(unseenIn(asking(scan), plain), 'read files of the type application/pdf')
  assert.equal(unseenIn(asking(pdf), plain), undefined)
  assert.equal(unseenIn(asking(song, film, scan), modelOf('audio/mpeg', 'video/mp4', 'application/pdf')), undefined)
  assert.equal(unseenIn(asking({ ...song, isEarlier: true }), plain), undefined)
})

test('a model that does not read documents gets their text before the question', () => {
  const { messages } = withoutUnseen(asking(pdf, song), modelOf('audio/mpeg'))
  assert.deepEqual(messages, [{ role: 'user', text: 'The pump needs oil.\n\nWhat is it?', files: [song] }])
})

test('files of earlier turns become notes for a model that does not read them, and parts of the message stay', () => {
  const message: Message = { role: 'user', text: 'Hello', files: [{ ...song, isEarlier: true }], parts: { question: 'Hello' } }
  assert.deepEqual(withoutUnseen(requestOf(message), plain).messages, [
    { role: 'user', text: 'Hello\n\n[Files that came with this message, not shown again: a.mp3]', parts: { question: 'Hello' } },
  ])
})

test('a request whose files the model reads is not copied', () => {
  const request = asking(pdf)
  assert.equal(withoutUnseen(request, modelOf('application/pdf')), request)
})
