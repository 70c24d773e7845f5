import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMedia, makePdf } from '../../test/fixtures/make-documents.ts'
import { mediaKindOf, mediaTypeOfBytes } from './media.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')

test('documents, audio and videos are known by their first bytes', () => {
  assert.equal(mediaTypeOfBytes(makePdf(['x'])), 'application/pdf')
  for (const type of ['audio/wav', 'audio/mpeg', 'audio/ogg', 'audio/flac', 'audio/mp4', 'audio/webm'] as const)
    assert.equal(mediaTypeOfBytes(makeMedia(type)), type)
  for (const type of ['video/mp4', 'video/webm', 'video/quicktime'] as const) assert.equal(mediaTypeOfBytes(makeMedia(type)), type)
  assert.equal(mediaTypeOfBytes(bytes('\xff\xfb\x90\x64\0\0\0\0\0\0')), 'audio/mpeg')
  assert.equal(mediaTypeOfBytes(bytes('\0\0\0\x20ftypisom\0\0\0\0 moov hdlr soun')), 'audio/mp4')
  assert.equal(mediaTypeOfBytes(bytes('\0\0\0\x20ftypisom\0\0\0\0 moov hdlr vide hdlr soun')), 'video/mp4')
})

test('other files are no media: text in UTF-16, pictures, archives, and texts that mention a format', () => {
  const others = [
    '',
    'ID',
    'ID3 is a tag of MP3 files',
    'RIFF and WAVE',
    'PK\x03\x04',
    '\x89PNG\r\n\x1a\n',
    '\xff\xd8\xff\xe0\0\x10JFIF\0\0',
  ]
  for (const other of others) assert.equal(mediaTypeOfBytes(bytes(other)), undefined, other)
  assert.equal(mediaTypeOfBytes(Buffer.from('\ufeffHello, world', 'utf16le')), undefined)
  assert.equal(mediaTypeOfBytes(bytes('RIFF\0\0\0\0WEBPVP8 ')), undefined)
  assert.equal(mediaTypeOfBytes(bytes('\0\0\0\x20ftypheic\0\0\0\0')), undefined)
  assert.equal(mediaTypeOfBytes(bytes('\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska V_MPEG4')), undefined)
})

test('the kind of a media type is its first part', () => {
  assert.deepEqual(['application/pdf', 'audio/ogg', 'video/mp4'].map(mediaKindOf), ['document', 'audio', 'video'])
})
