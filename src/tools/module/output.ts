import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

const maxLineCharacters = 4_000
/** More is noise; what is left out is counted. */
const maxLinesPerSecond = 100

/** Tells what a process writes, line by line, however it writes. */
export function readLines(stream: Readable, tell: (line: string) => void): void {
  const decoder = new StringDecoder()
  let rest = ''
  let windowStart = 0
  let told = 0
  let leftOut = 0

  function line(text: string): void {
    const now = performance.now()
    if (now - windowStart > 1000) {
      if (leftOut > 0) tell(`[${leftOut} lines left out]`)
      windowStart = now
      told = leftOut = 0
    }
    if (told++ < maxLinesPerSecond) tell(text.slice(0, maxLineCharacters))
    else leftOut++
  }

  stream.on('data', (bytes: Buffer) => {
    const lines = (rest + decoder.write(bytes)).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) if (text !== '') line(text)
    if (rest.length <= maxLineCharacters) return
    line(rest)
    rest = ''
  })
  stream.on('end', () => rest !== '' && line(rest))
  // A pipe that breaks has nothing more to tell.
  stream.on('error', () => undefined)
}
