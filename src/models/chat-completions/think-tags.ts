const opening = '<think>'
const closing = '</think>'

/** The reasoning and the answer text in a piece of output. Either may be empty; the reasoning comes first. */
export interface SplitText {
  reasoning: string
  text: string
}

/** Extracts a leading `<think>...</think>` from text that arrives in pieces of any size. Later tags are ordinary text. */
export class ThinkTags {
  private state: 'before' | 'inside' | 'behind' | 'past' = 'before'
  /** Buffered text: a possible beginning of a tag, or white space around a tag. */
  private buffer = ''

  /** True once all further pieces are text, which need no splitting. */
  get isPast(): boolean {
    return this.state === 'past'
  }

  split(piece: string): SplitText {
    const reasoning = this.readReasoning(piece)
    return { reasoning, text: this.readText() }
  }

  /** Returns the buffered text at the end of the stream. */
  rest(): SplitText {
    const { buffer, state } = this
    this.buffer = ''
    this.state = 'past'
    if (state === 'inside') return { reasoning: buffer, text: '' }
    return { reasoning: '', text: state === 'behind' ? '' : buffer }
  }

  private readReasoning(piece: string): string {
    this.buffer += piece
    if (this.state === 'before') this.open()
    return this.state === 'inside' ? this.inside() : ''
  }

  private open(): void {
    const start = this.buffer.trimStart()
    if (start.startsWith(opening)) {
      this.state = 'inside'
      this.buffer = start.slice(opening.length).trimStart()
    } else if (!opening.startsWith(start)) this.state = 'past'
  }

  private inside(): string {
    const end = this.buffer.indexOf(closing)
    const length = end >= 0 ? end : this.buffer.length - tailLength(this.buffer)
    const reasoning = this.buffer.slice(0, length)
    this.buffer = this.buffer.slice(end >= 0 ? end + closing.length : length)
    if (end >= 0) this.state = 'behind'
    return reasoning
  }

  private readText(): string {
    if (this.state === 'behind') {
      this.buffer = this.buffer.trimStart()
      if (this.buffer !== '') this.state = 'past'
    }
    if (this.state !== 'past') return ''
    const text = this.buffer
    this.buffer = ''
    return text
  }
}

/** Number of characters at the end of the text that may be the beginning of the closing tag. */
function tailLength(text: string): number {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length--) {
    if (closing.startsWith(text.slice(-length))) return length
  }
  return 0
}
