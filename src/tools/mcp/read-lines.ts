import { setTimeout as sleep } from 'node:timers/promises'
import type { Pace } from './pace.ts'

export interface LineLimits {
  /** Of a line; a longer one rejects. */
  maxBytes: number
  pace: Pace
}

/** Lines of a stream as they come, without their ends. What is not read waits with who writes it. */
export async function* readLines(source: AsyncIterable<Buffer>, { maxBytes, pace }: LineLimits): AsyncGenerator<string, void> {
  let begun: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      begun.push(chunk.subarray(from, end))
      const line = begun.length === 1 ? begun[0]! : Buffer.concat(begun)
      from = end + 1
      begun = []
      size = 0
      if (line.length > maxBytes) throw tooLong(maxBytes)
      yield line.toString().replace(/\r$/, '')
      const waitMs = pace.spend(line.length)
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
    }
    if (from < chunk.length) begun.push(chunk.subarray(from))
    size += chunk.length - from
    if (size > maxBytes) throw tooLong(maxBytes)
  }
}

function tooLong(maxBytes: number): Error {
  return new Error(`It sent a message of more than ${maxBytes / 1024 / 1024} MB.`)
}
