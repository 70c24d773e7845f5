import type { Writable } from 'node:stream'
import { Deserializer, Serializer } from 'node:v8'

/**
 * Messages between the service and its processes, as bytes: two lengths, the structure of the message, and the bytes that the message holds. They
 * are apart because a few bytes of structure may become twenty times as much in memory, and the bytes of a file stay what they are.
 */

/** What one message may have at most. */
export interface MessageLimits {
  /** Bytes of the message without its byte arrays. */
  structure: number
  /** Bytes of all its byte arrays. */
  bytes: number
}

/** A message is larger than it may be, or is none. The message of the error ends a sentence. */
export class FrameFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'FrameFault'
  }
}

const headBytes = 8
const noLimits: MessageLimits = { structure: 0xffff_ffff, bytes: 0xffff_ffff }

/** Throws for what can not be cloned, as `structuredClone` does. */
export function writeFrame(stream: Writable, message: unknown, done?: (error: Error | null) => void): void {
  const parts = toFrame(message)
  stream.cork()
  for (const part of parts) stream.write(part)
  stream.write('', (error) => done?.(error ?? null))
  stream.uncork()
}

/** Byte arrays are not copied. */
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
  writer.writeHeader()
  writer.writeValue(message)
  const structure = writer.releaseBuffer()
  const head = Buffer.alloc(headBytes)
  head.writeUInt32LE(structure.length, 0)
  head.writeUInt32LE(
    arrays.reduce((sum, { byteLength }) => sum + byteLength, 0),
    4,
  )
  return [head, structure, ...arrays]
}

function fromFrame(structure: Buffer, bytes: Buffer): unknown {
  let offset = 0
  const reader = new Deserializer(structure) as Deserializer & { _readHostObject(): unknown }
  reader._readHostObject = () => {
    const end = offset + reader.readUint32()
    if (end > bytes.length) throw new FrameFault('it is no message')
    const array = bytes.subarray(offset, end)
    offset = end
    return array
  }
  reader.readHeader()
  return reader.readValue()
}

/** Reads messages out of bytes as they come. No more than one message of the size allowed is in memory at a time. */
export class FrameReader {
  private readonly limits: MessageLimits
  private readonly hear: (message: unknown) => void
  private readonly head = Buffer.alloc(headBytes)
  private body: Buffer | undefined
  private filled = 0

  constructor(hear: (message: unknown) => void, limits: MessageLimits = noLimits) {
    this.hear = hear
    this.limits = limits
  }

  /** Throws `FrameFault`; nothing more can be read then. */
  push(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0;) {
      const target = this.body ?? this.head
      const taken = rest.copy(target, this.filled)
      this.filled += taken
      rest = rest.subarray(taken)
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
    if (this.body.length === 0) throw new FrameFault('it is no message')
  }

  private end(body: Buffer): void {
    const [structure] = this.lengths()
    this.body = undefined
    this.hear(toMessage(body.subarray(0, structure), body.subarray(structure)))
  }

  private lengths(): [number, number] {
    return [this.head.readUInt32LE(0), this.head.readUInt32LE(4)]
  }
}

function toMessage(structure: Buffer, bytes: Buffer): unknown {
  try {
    return fromFrame(structure, bytes)
  } catch (cause) {
    throw new FrameFault('its answer can not be read', { cause })
  }
}
