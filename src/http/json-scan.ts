import { invalid, ServiceError } from '../errors.ts'

/** Objects, lists and their elements. A value of two bytes becomes up to 64 in memory, an object with a name of its own 250. */
export const maxJsonValues = 100_000

/** Levels of JSON in a body, in fields that are ignored too: functions that recurse fail some thousands of levels down. */
export const maxBodyDepth = 1000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c

/** Counts the values of JSON texts while their pieces arrive, so that a text whose values take too much memory is never parsed. */
export class JsonScan {
  values = 0
  private depth = 0
  private inText = false
  /** Whether the text of the last piece ends with an open escape. */
  private isEscaped = false

  /** A new text begins, wherever the one before ended, complete or not. The values of all texts count together. */
  begin(): void {
    this.depth = 0
    this.inText = false
    this.isEscaped = false
  }

  /** Counts one more piece; the refusal, once there are too many values or levels. */
  add(piece: Buffer): ServiceError | undefined {
    let at = 0
    while (at < piece.length) {
      if (this.inText) {
        at = this.skipText(piece, at)
        continue
      }
      const byte = piece[at++]
      if (byte === quote) this.inText = true
      else if (byte === comma) this.values++
      // `[` is 0x5b and `{` 0x7b, `]` 0x5d and `}` 0x7d.
      else if (byte === 0x5b || byte === 0x7b) {
        this.values++
        if (++this.depth > maxBodyDepth) return invalid(['body'], 'is nested too deeply')
      } else if (byte === 0x5d || byte === 0x7d) this.depth--
      if (this.values > maxJsonValues) return tooMany()
    }
    return undefined
  }

  /** The place behind the quote that ends the text, or the end of the piece. */
  private skipText(piece: Buffer, from: number): number {
    let start = from
    for (;;) {
      const end = piece.indexOf(quote, start)
      const upTo = end < 0 ? piece.length : end
      const isEscaped = this.endsInEscape(piece, start, upTo)
      this.isEscaped = end < 0 && isEscaped
      if (end < 0) return piece.length
      start = end + 1
      if (isEscaped) continue
      this.inText = false
      return start
    }
  }

  /** Whether an odd number of backslashes stands before `end`. */
  private endsInEscape(piece: Buffer, start: number, end: number): boolean {
    let at = end
    while (at > start && piece[at - 1] === backslash) at--
    // An escape of the piece before takes the first of them.
    const count = end - at + (at === start && this.isEscaped ? 1 : 0)
    return count % 2 === 1
  }
}

function tooMany(): ServiceError {
  return new ServiceError('input_too_large', `The body has more than ${maxJsonValues} values.`)
}
