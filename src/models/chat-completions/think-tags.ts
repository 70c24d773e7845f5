const opening = '<think>'
const closing = '</think>'

/** A piece of what a model wrote, taken apart; either may be empty. Reasoning comes first. */
export interface Split {
  reasoning: string
  text: string
}

/** Takes a leading `<think>...</think>` out of a text that arrives in pieces, wherever they are cut. Tags further behind are text. */
export class ThinkTags {
  private state: 'before' | 'inside' | 'behind' | 'past' = 'before'
  /** What may be the beginning of a tag, or blanks around one. */
  private held = ''

  /** Once true, all further pieces are text: there is no need to split them. */
  get isPast(): boolean {
    return this.state === 'past'
  }

  split(piece: string): Split {
    const reasoning = this.readReasoning(piece)
    return { reasoning, text: this.readText() }
  }

  /** What was held back when the text ended. */
  rest(): Split {
    const { held, state } = this
    this.held = ''
    this.state = 'past'
    if (state === 'inside') return { reasoning: held, text: '' }
    return { reasoning: '', text: state === 'behind' ? '' : held }
  }

  private readReasoning(piece: string): string {
    this.held += piece
    if (this.state === 'before') this.open()
    return this.state === 'inside' ? this.inside() : ''
  }

  private open(): void {
    const start = this.held.trimStart()
    if (start.startsWith(opening)) {
      this.state = 'inside'
      this.held = start.slice(opening.length).trimStart()
    } else if (!opening.startsWith(start)) this.state = 'past'
  }

  private inside(): string {
    const end = this.held.indexOf(closing)
    const length = end >= 0 ? end : this.held.length - tailLength(this.held)
    const reasoning = this.held.slice(0, length)
    this.held = this.held.slice(end >= 0 ? end + closing.length : length)
    if (end >= 0) this.state = 'behind'
    return reasoning
  }

  private readText(): string {
    if (this.state === 'behind') {
      this.held = this.held.trimStart()
      if (this.held !== '') this.state = 'past'
    }
    if (this.state !== 'past') return ''
    const text = this.held
    this.held = ''
    return text
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
function tailLength(text: string): number {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length--) {
    if (closing.startsWith(text.slice(-length))) return length
  }
  return 0
}
