import type { AgentEvent, TextLabel } from './events.ts'

/**
 * Enforces one rule of the event stream: the answer is the `answer` text behind the last event with another label.
 * Reasoning that arrives after the answer has begun is held back until the model call ends, and an answer with later
 * events behind it is repeated at the end.
 *
 * A model may write, let its provider run a tool, and write on in one reply. The whole text is the answer, so the text
 * before the call is repeated, in one event, when the text behind the call begins. Readers that cannot
 * retract text recognise the repeated text and go on (`Segments`).
 */
export class Answer {
  /** True when another event followed the last answer text. Initially true: a resumed run has steps behind its earlier text. */
  isStale = true
  /** True when this model call has answer text. */
  hasText = false
  /** Reasoning to emit when the model call ends. */
  readonly heldReasoning: string[] = []
  /** The best answer of earlier model calls. */
  private earlier = ''
  private readonly current = new TextBuilder()

  startTurn(): void {
    if (!this.hasText) return
    this.earlier = this.best
    this.clear()
  }

  /** Sets the best answer to a text that was not published as `answer`. */
  replaceBest(text: string): void {
    this.earlier = text
    this.clear()
    this.isStale = true
  }

  restart(): void {
    this.clear()
    this.heldReasoning.length = 0
    this.isStale = true
  }

  holdBack(reasoning: string): boolean {
    if (!this.hasText || this.isStale) return false
    this.heldReasoning.push(reasoning)
    return true
  }

  add(label: TextLabel, text: string): AgentEvent {
    if (text !== '') {
      this.isStale = label !== 'answer'
      if (!this.isStale) {
        this.current.add(text)
        this.hasText = true
      }
    }
    return { type: 'text', label, text }
  }

  /** The best answer so far. Text of an attempt that broke off is void and never an answer. */
  get best(): string {
    return this.hasText ? this.current.toText() : this.earlier
  }

  repeat(): AgentEvent {
    this.isStale = false
    return { type: 'text', label: 'answer', text: this.best }
  }

  private clear(): void {
    this.current.clear()
    this.hasText = false
  }
}

/** Pieces that are joined at a time. */
const piecesPerJoin = 16

/**
 * A text that grows by small pieces, such as the tokens of an answer. Concatenation would build a tree of strings, which takes 32 bytes for
 * each piece until the text is read, and keeps what each piece was cut from.
 */
export class TextBuilder {
  /** Joined texts, and behind them the newest pieces. */
  private parts: string[] = []
  private joinedCount = 0

  get isEmpty(): boolean {
    return this.parts.length === 0
  }

  add(piece: string): void {
    if (piece === '') return
    this.parts.push(piece)
    if (this.parts.length - this.joinedCount === piecesPerJoin) this.parts.push(this.parts.splice(this.joinedCount++).join(''))
  }

  clear(): void {
    this.parts = []
    this.joinedCount = 0
  }

  toText(): string {
    if (this.parts.length > 1) this.parts = [this.parts.join('')]
    this.joinedCount = this.parts.length
    return this.parts[0] ?? ''
  }
}
