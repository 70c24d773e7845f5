import process from 'node:process'
import type { Writable } from 'node:stream'
import { Deserializer, Serializer } from 'node:v8'

/**
 * Frames between the service and its processes: two lengths, the serialized structure of the message, and the contents of its byte arrays.
 * The parts are separate because a few bytes of structure may take twenty times as much memory, while byte arrays keep their size.
 */

/** Maximum sizes of a message. */
export interface MessageLimits {
  /** Bytes of the message without byte arrays. */
  structure: number
  /** Total bytes of the byte arrays. */
  bytes: number
}

/** A message is larger than allowed, or is malformed. The text of the error is the end of a sentence. */
export class FrameFault extends Error {
  override readonly name = 'FrameFault'
}

const headBytes = 8
const emptyHead = Buffer.alloc(headBytes)
const noLimits: MessageLimits = { structure: 0xffff_ffff, bytes: 0xffff_ffff }

type WriteCallback = (error: Error | null) => void

/**
 * Throws for values which cannot be cloned, as `structuredClone` does. `isGrouped`: the messages of a turn of the event loop share a system call,
 * and wake the other process once. Otherwise a message is sent at once, also before code that blocks.
 */
export function writeFrame(stream: Writable, message: unknown, { callback, isGrouped = false }: SendOptions = {}): void {
  const parts = toFrame(message)
  const last = parts.pop()
  stream.cork()
  for (const part of parts) stream.write(part)
  stream.write(last, (error) => callback?.(error ?? null))
  if (isGrouped) process.nextTick(() => stream.uncork())
  else stream.uncork()
}

interface SendOptions {
  callback?: WriteCallback | undefined
  isGrouped?: boolean
}

/** The function `send` of a channel, as Node's IPC channel has it: a callback is among the arguments. */
export function createSend(stream: Writable, { isGrouped = false }: Pick<SendOptions, 'isGrouped'> = {}) {
  return (message: unknown, ...rest: unknown[]): boolean => {
    const callback = rest.find((argument): argument is WriteCallback => typeof argument === 'function')
    writeFrame(stream, message, { callback, isGrouped })
    return true
  }
}

/** The lengths and the structure, then the byte arrays, which are not copied. */
function toFrame(message: unknown): Uint8Array[] {
  const arrays: Uint8Array[] = []
  const writer = new Serializer() as Serializer & {
    _writeHostObject(value: unknown): void
    _setTreatArrayBufferViewsAsHostObjects(on: boolean): void
  }
  writer._setTreatArrayBufferViewsAsHostObjects(true)
  writer._writeHostObject = (value) => {
    if (!(value instanceof Uint8Array)) throw new TypeError('A message holds bytes as Uint8Array alone.')
    writer.writeUint32(value.byteLength)
    arrays.push(value)
  }
  writer.writeRawBytes(emptyHead)
  writer.writeHeader()
  writer.writeValue(message)
  const frame = writer.releaseBuffer()
  frame.writeUInt32LE(frame.length - headBytes, 0)
  frame.writeUInt32LE(
    arrays.reduce((sum, { byteLength }) => sum + byteLength, 0),
    4,
  )
  return [frame, ...arrays]
}

function fromFrame(structure: Buffer, bytes: Buffer): unknown {
  let offset = 0
  const reader = new Deserializer(structure) as Deserializer & { _readHostObject(): unknown }
  reader._readHostObject = () => {
    const end = offset + reader.readUint32()
    if (end > bytes.length) throw new FrameFault('it is not a valid message')
    const array = bytes.subarray(offset, end)
    offset = end
    return array
  }
  reader.readHeader()
  return reader.readValue()
}

/** Parses messages from chunks of bytes. Keeps at most one message, of the allowed size, in memory. */
export class FrameReader {
  private readonly limits: MessageLimits
  private readonly onMessage: (message: unknown) => void
  private readonly head = Buffer.alloc(headBytes)
  private body: Buffer | undefined
  private filled = 0

  constructor(onMessage: (message: unknown) => void, limits: MessageLimits = noLimits) {
    this.onMessage = onMessage
    this.limits = limits
  }

  /** Throws `FrameFault`. The reader cannot be used after an error. */
  push(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0;) {
      const target = this.body ?? this.head
      const copiedBytes = rest.copy(target, this.filled)
      this.filled += copiedBytes
      rest = rest.subarray(copiedBytes)
      if (this.filled < target.length) return
      this.filled = 0
      if (this.body) this.end(this.body)
      else this.begin()
    }
  }

  private begin(): void {
    const [structure, bytes] = this.lengths()
    const { limits } = this
    if (structure > limits.structure) throw new FrameFault(`its answer has more than ${limits.structure} bytes`)
    if (bytes > limits.bytes) throw new FrameFault(`its files have more than ${limits.bytes} bytes`)
    this.body = Buffer.allocUnsafeSlow(structure + bytes)
    if (this.body.length === 0) throw new FrameFault('it is not a valid message')
  }

  private end(body: Buffer): void {
    const [structure] = this.lengths()
    this.body = undefined
    this.onMessage(toMessage(body.subarray(0, structure), body.subarray(structure)))
  }

  private lengths(): [number, number] {
    return [this.head.readUInt32LE(0), this.head.readUInt32LE(4)]
  }
}

function toMessage(structure: Buffer, bytes: Buffer): unknown {
  try {
    return fromFrame(structure, bytes)
  } catch (cause) {
    throw new FrameFault('its answer cannot be read', { cause })
  }
}
