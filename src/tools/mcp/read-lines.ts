import { setTimeout as sleep } from 'node:timers/promises'
import type { Pace } from './pace.ts'

export interface LineLimits {
  /** Maximum size of a line; a longer line rejects. */
  maxBytes: number
  pace: Pace
}

/** Yields the lines of a stream without line ends. Unread data stays with the writer (back-pressure). */
export async function* readLines(source: AsyncIterable<Buffer>, { maxBytes, pace }: LineLimits): AsyncGenerator<string, void> {
  let pieces: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end))
      const line = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      start = end + 1
      pieces = []
      size = 0
      if (line.length > maxBytes) throw tooLong(maxBytes)
      yield line.toString().replace(/\r$/, '')
      const waitMs = pace.spend(line.length)
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > maxBytes) throw tooLong(maxBytes)
  }
}

function tooLong(maxBytes: number): Error {
  return new Error(`The server sent a message of more than ${maxBytes / 1024 / 1024} MB.`)
}
