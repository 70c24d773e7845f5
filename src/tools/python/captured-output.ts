import { Buffer } from 'node:buffer'

/** Captures the beginning and the end of the text printed by a program. */
export interface CapturedOutput {
  write(bytes: Uint8Array): number
  /** Returns the captured text with a note about omitted bytes, and starts again with empty buffers. */
  take(): string
}

/** Captures up to about `limit` bytes. */
export function captureOutput(limit: number): CapturedOutput {
  const headRoom = Math.ceil((limit * 3) / 4)
  const tailRoom = limit - headRoom
  let head: Buffer[] = []
  let headSize = 0
  let tail = Buffer.alloc(0)
  let total = 0

  return {
    write(bytes) {
      total += bytes.length
      const first = bytes.subarray(0, headRoom - headSize)
      if (first.length > 0) head.push(Buffer.from(first))
      headSize += first.length
      const rest = bytes.subarray(first.length)
      if (rest.length > 0) tail = Buffer.concat([tail, rest.subarray(-tailRoom)]).subarray(-tailRoom)
      return bytes.length
    },
    take() {
      const start = Buffer.concat(head)
      const omitted = total - start.length - tail.length
      // A split character is decoded as U+FFFD.
      const text =
        omitted > 0 ? `${start.toString()}\n[${omitted} bytes left out]\n${tail.toString()}` : Buffer.concat([start, tail]).toString()
      head = []
      headSize = total = 0
      tail = Buffer.alloc(0)
      return text
    },
  }
}
