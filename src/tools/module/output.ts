import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

const maxLineCharacters = 4_000
/** More is noise; what is left out is counted. */
const maxLinesPerSecond = 100
/** Who writes more waits for the next second: reading it all would take the time of those who wait for answers. */
const maxBytesPerSecond = 1024 * 1024
const windowMs = 1_000

/** Tells what a process writes, line by line, however it writes. */
export function readLines(stream: Readable, tell: (line: string) => void): void {
  const decoder = new StringDecoder()
  let rest = ''
  let windowStart = -Infinity
  let told = 0
  let leftOut = 0
  let bytesRead = 0

  function beginWindow(): void {
    if (leftOut > 0) tell(`[${leftOut} lines left out]`)
    windowStart = performance.now()
    told = leftOut = bytesRead = 0
  }

  function line(text: string): void {
    if (told++ < maxLinesPerSecond) tell(text.slice(0, maxLineCharacters))
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
  // A pipe that breaks has nothing more to tell.
  stream.on('error', () => undefined)
}
