import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from './limits.ts'
import { toLine } from '../plain-text.ts'
import type { HideSecrets } from './secrets.ts'

/** Characters of a line before hiding secrets: longer than the logged part, so that a secret at the cut is still found whole. */
const maxLine = 8 * limits.logLineCharacters
/** Reading rate: back-pressure slows down a server that writes endlessly. */
const bytesPerSecond = 1024 * 1024

/** Logs the standard error of a server line by line, up to a number of lines per minute. Resolves at the end of the stream. */
export async function followStderr(stderr: Readable, hide: HideSecrets, log: (line: string) => void): Promise<void> {
  let pending = ''
  let minute = { until: 0, lines: 0 }
  const decoder = new TextDecoder()
  const logLine = (line: string) => {
    if (Date.now() > minute.until) minute = { until: Date.now() + 60_000, lines: 0 }
    if (minute.lines++ < limits.logLinesPerMinute && line.trim() !== '') log(toLine(hide(line), limits.logLineCharacters))
  }
  try {
    for await (const chunk of stderr as AsyncIterable<Buffer>) {
      const lines = (pending + decoder.decode(chunk, { stream: true })).split('\n')
      pending = (lines.pop() ?? '').slice(0, maxLine)
      for (const line of lines) logLine(line.slice(0, maxLine))
      await sleep((chunk.length / bytesPerSecond) * 1000, undefined, { ref: false })
    }
  } catch {
    // The stream ended with the process, in the middle of a read.
  }
  logLine(pending)
}
