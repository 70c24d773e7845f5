/** Pieces that are joined at a time. */
const piecesPerJoin = 32

/**
 * A text that grows by small pieces, such as the tokens of an answer. Concatenation would build a tree of strings, which takes 32 bytes for
 * each piece until the text is read, and keeps what each piece was cut from.
 */
export class TextBuilder {
  private joined: string[] = []
  private recent: string[] = []

  get isEmpty(): boolean {
    return this.joined.length === 0 && this.recent.length === 0
  }

  add(piece: string): void {
    if (piece === '') return
    this.recent.push(piece)
    if (this.recent.length < piecesPerJoin) return
    this.joined.push(this.recent.join(''))
    this.recent = []
  }

  clear(): void {
    this.joined = []
    this.recent = []
  }

  toText(): string {
    if (this.isEmpty) return ''
    const text = [...this.joined, ...this.recent].join('')
    this.joined = [text]
    this.recent = []
    return text
  }
}

/**
 * Combining marks kept behind one letter, as in Unicode's Stream-Safe Text Format (UAX #15); no script needs more. ICU
 * sorts the marks of a letter in quadratic time, so 40,000 of them would block the event loop for seconds.
 */
const excess = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * `text.normalize(form)` in linear time: marks beyond the 30th of a letter are dropped. All normalisation of text goes
 * through this function.
 */
export function normaliseText(text: string, form: 'NFC' | 'NFD' | 'NFKD'): string {
  return text.replace(excess, '$1').normalize(form)
}
