import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { FrameReader, writeFrame, type MessageLimits } from './message-frames.ts'

function framesOf(...messages: unknown[]): Buffer {
  const stream = new PassThrough({ highWaterMark: 64 * 1024 * 1024 })
  for (const message of messages) writeFrame(stream, message)
  return (stream.read() as Buffer | null) ?? Buffer.alloc(0)
}

function read(frames: Buffer, { limits, step = Infinity }: { limits?: MessageLimits; step?: number } = {}): unknown[] {
  const received: unknown[] = []
  const reader = new FrameReader((message) => received.push(message), limits)
  for (let at = 0; at < frames.length; at += step) reader.push(frames.subarray(at, Math.min(frames.length, at + step)))
  return received
}

test('messages arrive unchanged, whatever chunks their bytes come in', () => {
  const messages = [
    { text: 'zwölf 🦊', list: [1, null, undefined, true, 2n], nested: { at: new Date(0) } },
    { files: [{ path: 'a', bytes: Buffer.from('abc') }, { bytes: Buffer.alloc(0) }], last: Buffer.from('z') },
    {},
  ]
  const frames = framesOf(...messages)
  for (const step of [Infinity, 1, 7, 64]) assert.deepEqual(read(frames, { step }), messages)
})

test('a message above its size limit is refused before its bytes are read', () => {
  const limits = { structure: 200, bytes: 10 }
  assert.equal(read(framesOf({ text: 'x'.repeat(150), bytes: Buffer.alloc(10) }), { limits }).length, 1)
  const tooMuch = { text: framesOf({ text: 'x'.repeat(250) }), bytes: framesOf({ bytes: Buffer.alloc(11) }) }
  // The head alone is enough.
  assert.throws(() => read(tooMuch.text.subarray(0, 8), { limits }), /^FrameFault: its answer has more than 200 bytes$/)
  assert.throws(() => read(tooMuch.bytes.subarray(0, 8), { limits }), /^FrameFault: its files have more than 10 bytes$/)
})

test('malformed frames are refused', () => {
  const head = (structure: number, bytes: number) => Buffer.from(Uint32Array.of(structure, bytes).buffer)
  const good = framesOf({ bytes: Buffer.from('abcdef') })
  const structure = good.subarray(8, 8 + good.readUInt32LE(0))
  const broken = [
    head(0, 0),
    Buffer.concat([head(4, 0), Buffer.from('what')]),
    Buffer.concat([head(structure.length, 2), structure, Buffer.from('ab')]),
    Buffer.concat([head(3, 0), Buffer.from([0xff, 0x0f, 0x5c])]),
  ]
  for (const frame of broken) assert.throws(() => read(frame), { name: 'FrameFault' })
})

test('a message that cannot be cloned is refused by its sender', () => {
  assert.throws(() => framesOf({ work: () => 1 }))
  assert.throws(() => framesOf({ numbers: new Float64Array(2) }), /as Uint8Array alone/)
})
