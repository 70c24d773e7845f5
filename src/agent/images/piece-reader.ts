/** Characters that are held back until the end of a picture, or of a tag, has arrived. A longer text is no picture. */
export const maxHeld = 4096

/** Takes a character, and returns the mode for the next. */
export type Mode = (character: string) => Mode

/** Reads a text that arrives in pieces, each character once, so pieces make no difference. Text that may have to go is held back. */
export abstract class PieceReader {
  protected held = ''
  /** The last character of the released text. */
  protected last = ''
  private out = ''
  protected abstract mode: Mode
  /** The mode in which nothing is held. */
  protected abstract readonly plain: Mode
  /** The characters with a meaning in plain text. */
  protected abstract readonly special: RegExp

  /** Called when too much is held. */
  protected abstract giveUp(): void

  /** Called with text that has no meaning. */
  protected skipped(_text: string): void {}

  protected read(piece: string): string {
    for (let at = 0; at < piece.length; at++) {
      if (this.mode === this.plain) at = this.skip(piece, at)
      if (at < piece.length) this.step(piece[at]!)
    }
    return this.flush()
  }

  protected step(character: string): void {
    this.mode = this.mode(character)
    if (this.held.length >= maxHeld) this.giveUp()
  }

  protected hold(character: string, next: Mode): Mode {
    this.held += character
    return next
  }

  /** Releases a text in the place of the held text. */
  protected release(text: string): Mode {
    this.held = ''
    this.emit(text)
    return this.plain
  }

  protected emit(text: string): void {
    if (text === '') return
    this.out += text
    this.last = text.at(-1)!
  }

  protected flush(): string {
    const { out } = this
    this.out = ''
    return out
  }

  /** Releases the text before the next special character, and returns the place of that character. */
  private skip(piece: string, start: number): number {
    this.special.lastIndex = start
    const end = this.special.exec(piece)?.index ?? piece.length
    const text = piece.slice(start, end)
    this.skipped(text)
    this.emit(text)
    return end
  }
}
