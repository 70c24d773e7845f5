import type { TextLabel } from '../../agent/events.ts'
import type { LoggedEvent } from '../../runs/run.ts'

/** A piece of text; `begins` where something else came between it and what was told before. */
export interface TextPiece {
  text: string
  startsSegment: boolean
}

/**
 * The answer for a client that can't take text back: `answer` text is told as it comes, and stays told when it turns out that it was not
 * yet the answer. Each stretch of it is a segment, the last one is the answer. An answer that a run only repeats is not told twice.
 */
export class Segments {
  private current = ''
  private isBroken = true

  /** Undefined where there is nothing to tell. */
  take(event: LoggedEvent): TextPiece | undefined {
    switch (event.type) {
      case 'text':
        if (event.label === 'answer') return this.takeAnswer(event.text)
        this.isBroken = true
        return undefined
      case 'retrying':
      case 'step_start':
      case 'step_end':
        this.isBroken = true
        return undefined
      case 'interrupt':
      case 'end':
        return undefined
    }
  }

  private takeAnswer(text: string): TextPiece | undefined {
    const startsSegment = this.isBroken
    if (text === '') return undefined
    this.isBroken = false
    if (startsSegment && text === this.current) return undefined
    this.current = startsSegment ? text : this.current + text
    return { text, startsSegment }
  }
}

/** What the model thought or planned, in its own words: thoughts that another event parts stand a blank line apart. */
export class Thoughts {
  /** Label of the thought that the next event may continue. */
  private current: string | undefined
  private isFirst = true

  /** Empty where the event has no thought. */
  take(event: LoggedEvent): string {
    switch (event.type) {
      case 'text':
        return event.text === '' ? '' : this.takeText(event.label, event.text)
      case 'retrying':
      case 'step_start':
      case 'step_end':
      case 'interrupt':
      case 'end':
        this.current = undefined
        return ''
    }
  }

  private takeText(label: TextLabel, text: string): string {
    if (label === 'answer') {
      this.current = undefined
      return ''
    }
    const continues = this.isFirst || this.current === label
    this.current = label
    this.isFirst = false
    return continues ? text : `\n\n${text}`
  }
}
