import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from './limits.ts'
import { toLine } from '../plain-text.ts'
import type { HideSecrets } from './secrets.ts'

/** What a line may grow to before it is cut, so that a secret in it is found whole. */
const maxLine = 8 * limits.logLineCharacters
/** A server that writes without end waits. */
const bytesPerSecond = 1024 * 1024

/** Tells a server's standard error line by line, some in a minute. Resolves at its end. */
export async function followStderr(stderr: Readable, hide: HideSecrets, tell: (line: string) => void): Promise<void> {
  let begun = ''
  let minute = { until: 0, lines: 0 }
  const decoder = new TextDecoder()
  const say = (line: string) => {
    if (Date.now() > minute.until) minute = { until: Date.now() + 60_000, lines: 0 }
    if (minute.lines++ < limits.logLinesPerMinute && line.trim() !== '') tell(toLine(hide(line), limits.logLineCharacters))
  }
  try {
    for await (const chunk of stderr as AsyncIterable<Buffer>) {
      const lines = (begun + decoder.decode(chunk, { stream: true })).split('\n')
      begun = (lines.pop() ?? '').slice(0, maxLine)
      for (const line of lines) say(line.slice(0, maxLine))
      await sleep((chunk.length / bytesPerSecond) * 1000, undefined, { ref: false })
    }
  } catch {
    // It ended with the process, in the middle of a read.
  }
  say(begun)
}
