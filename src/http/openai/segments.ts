import { isLastEvent, type LoggedEvent } from '../../runs/run.ts'

/** A piece of text; `begins` where something else came between it and what was told before. */
export interface Piece {
  text: string
  begins: boolean
}

/**
 * The answer for a client that can't take text back: `answer` text is told as it comes, and stays told when it turns out that it was not
 * yet the answer. Each stretch of it is a segment, the last one is the answer. An answer that a run only repeats is not told twice.
 */
export class Segments {
  private current = ''
  private isBroken = true

  /** Undefined where there is nothing to tell. */
  take(event: LoggedEvent): Piece | undefined {
    if (isLastEvent(event)) return undefined
    if (event.type !== 'text' || event.label !== 'answer') {
      this.isBroken = true
      return undefined
    }
    const { text } = event
    const begins = this.isBroken
    if (text === '') return undefined
    this.isBroken = false
    if (begins && text === this.current) return undefined
    this.current = begins ? text : this.current + text
    return { text, begins }
  }
}

/** What the model thought or planned, in its own words: thoughts that another event parts stand a blank line apart. */
export class Thoughts {
  /** Label of the thought that the next event may continue. */
  private current: string | undefined
  private isFirst = true

  /** Empty where the event has no thought. */
  take(event: LoggedEvent): string {
    if (event.type === 'text' && event.text === '') return ''
    if (event.type !== 'text' || event.label === 'answer') {
      this.current = undefined
      return ''
    }
    const text = this.isFirst || this.current === event.label ? event.text : `\n\n${event.text}`
    this.current = event.label
    this.isFirst = false
    return text
  }
}
