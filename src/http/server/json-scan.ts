import { invalid, ServiceError } from '../../errors.ts'

/** Most JSON values in a body: objects, lists and their elements. A value of two bytes takes up to 64 bytes of memory, an object with one key 250. */
export const maxJsonValues = 100_000

/** Deepest nesting of a body, ignored fields included: recursive functions overflow the stack some thousands of levels down. */
export const maxBodyDepth = 1000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c

/** Counts the values of JSON texts while their chunks arrive, so that a text with too many values is never parsed. */
export class JsonScan {
  values = 0
  private depth = 0
  private inString = false
  /** Whether the last chunk ends inside a string with an open escape. */
  private isEscaped = false

  /** Starts a new text, whether or not the text before was complete. `values` counts the values of all texts. */
  begin(): void {
    this.depth = 0
    this.inString = false
    this.isEscaped = false
  }

  /** Scans one more chunk. Returns an error once there are too many values or levels. */
  add(chunk: Buffer): ServiceError | undefined {
    let at = 0
    while (at < chunk.length) {
      if (this.inString) {
        at = this.skipString(chunk, at)
        continue
      }
      const byte = chunk[at++]
      if (byte === quote) this.inString = true
      else if (byte === comma) this.values++
      // `[` is 0x5b and `{` 0x7b, `]` 0x5d and `}` 0x7d.
      else if (byte === 0x5b || byte === 0x7b) {
        this.values++
        if (++this.depth > maxBodyDepth) return invalid(['body'], 'is nested too deeply')
      } else if (byte === 0x5d || byte === 0x7d) this.depth--
      if (this.values > maxJsonValues) return tooManyValues()
    }
    return undefined
  }

  /** Returns the offset after the closing quote of a string, or the end of the chunk. */
  private skipString(chunk: Buffer, offset: number): number {
    let start = offset
    for (;;) {
      const end = chunk.indexOf(quote, start)
      const isEscaped = this.endsInEscape(chunk, start, end < 0 ? chunk.length : end)
      this.isEscaped = end < 0 && isEscaped
      if (end < 0) return chunk.length
      start = end + 1
      if (isEscaped) continue
      this.inString = false
      return start
    }
  }

  /** Whether an odd number of backslashes precedes `end`. */
  private endsInEscape(chunk: Buffer, start: number, end: number): boolean {
    let at = end
    while (at > start && chunk[at - 1] === backslash) at--
    // An open escape of the previous chunk consumes the first character.
    const count = end - at + (at === start && this.isEscaped ? 1 : 0)
    return count % 2 === 1
  }
}

function tooManyValues(): ServiceError {
  return new ServiceError('input_too_large', `The body must have at most ${maxJsonValues} values.`)
}
