import { Buffer } from 'node:buffer'

/** Text that a program prints, of which the beginning and the end are kept. */
export interface Printed {
  write(bytes: Uint8Array): number
  /** What is kept, with a note of what is not; then it begins anew. */
  take(): string
}

/** Keeps up to about `limit` bytes. */
export function keepPrinted(limit: number): Printed {
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
      const left = total - start.length - tail.length
      // A character that is cut in two is shown as one that is unknown.
      const text = left > 0 ? `${start.toString()}\n[${left} bytes left out]\n${tail.toString()}` : Buffer.concat([start, tail]).toString()
      head = []
      headSize = total = 0
      tail = Buffer.alloc(0)
      return text
    },
  }
}
