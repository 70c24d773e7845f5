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
