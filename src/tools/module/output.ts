import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

const maxLineCharacters = 4_000
/** Further lines are only counted. */
const maxLinesPerSecond = 100
/** Reading pauses until the next second after this amount: reading endless output would delay the calls. */
const maxBytesPerSecond = 1024 * 1024
const windowMs = 1_000

/** Reads the output of a process line by line, with limits for lines and bytes per second. */
export function readLines(stream: Readable, log: (line: string) => void): void {
  const decoder = new StringDecoder()
  let rest = ''
  let windowStart = -Infinity
  let logged = 0
  let leftOut = 0
  let bytesRead = 0

  function beginWindow(): void {
    if (leftOut > 0) log(`[${leftOut} lines left out]`)
    windowStart = performance.now()
    logged = leftOut = bytesRead = 0
  }

  function line(text: string): void {
    if (logged++ < maxLinesPerSecond) log(text.slice(0, maxLineCharacters))
    else leftOut++
  }

  function wait(): void {
    stream.pause()
    setTimeout(() => stream.resume(), Math.max(0, windowStart + windowMs - performance.now())).unref()
  }

  stream.on('data', (bytes: Buffer) => {
    if (performance.now() - windowStart >= windowMs) beginWindow()
    bytesRead += bytes.length
    const lines = (rest + decoder.write(bytes)).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) if (text !== '') line(text)
    if (rest.length > maxLineCharacters) {
      line(rest)
      rest = ''
    }
    if (bytesRead > maxBytesPerSecond) wait()
  })
  stream.on('end', () => {
    if (rest !== '') line(rest)
    beginWindow()
  })
  // A broken pipe delivers no more data.
  stream.on('error', () => undefined)
}
