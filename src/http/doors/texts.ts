import type { TextLabel } from '../../agent/events.ts'
import { TextBuilder } from '../../agent/answer.ts'
import type { LastEvent, LoggedEvent, EndEvent } from '../../runs/run.ts'

/** Text to send. `startsSegment`: another event came between the text and the answer text before. */
export interface TextPiece {
  text: string
  startsSegment: boolean
}

export interface Holding {
  /** True for an answer with a schema: clients parse the text, so only an answer that fits is sent, at its end. */
  isHeld: boolean
}

/**
 * Splits `answer` text into segments for clients that cannot retract text. Text is sent at once, even if a later segment turns out to be the final
 * answer; each uninterrupted stretch of text is a segment, and the last segment is the answer. A segment that only repeats its predecessor is not sent.
 */
export class Segments {
  private readonly current = new TextBuilder()
  private isBroken = true
  private readonly isHeld: boolean

  constructor({ isHeld }: Holding) {
    this.isHeld = isHeld
  }

  /** The answer that was held until the end of its run; empty where none was held, or none fits. */
  heldAnswer(last: LastEvent): string {
    return this.isHeld && last.type === 'end' && last.structured ? this.current.toText() : ''
  }

  /** Returns the text to send for an event; undefined for none. */
  take(event: LoggedEvent): TextPiece | undefined {
    switch (event.type) {
      case 'text':
        if (event.label === 'answer') return this.takeAnswer(event.text)
        this.isBroken = true
        return undefined
      case 'retrying':
      case 'step_start':
      case 'step_end':
      case 'user_message':
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
    if (startsSegment && text === this.current.toText()) return undefined
    if (startsSegment) this.current.clear()
    this.current.add(text)
    return this.isHeld ? undefined : { text, startsSegment }
  }
}

/** The thoughts and plans of the model as one text. A blank line separates thoughts that another event interrupts. */
export class Thoughts {
  /** Label of the thought that the next event may continue. */
  private current: string | undefined
  private isFirst = true

  /** Returns the text of a thought; empty for other events. */
  take(event: LoggedEvent): string {
    switch (event.type) {
      case 'text':
        return event.text === '' ? '' : this.takeText(event.label, event.text)
      case 'retrying':
      case 'step_start':
      case 'step_end':
      case 'user_message':
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

/** How a protocol writes one text that is streamed. */
export interface TextForm<T> {
  opening: readonly T[]
  delta(text: string): T
  closing: readonly T[]
}

/** The form of the text with a number, counted from 0 in a run. */
export type ToTextForm<T> = (kind: 'text' | 'reasoning', number: number) => TextForm<T>

/** The texts of a run for protocols that name each text: an uninterrupted stretch of the answer, and each thought, is one. */
export class StreamedTexts<T> {
  private readonly segments: Segments
  private readonly toForm: ToTextForm<T>
  private count = 0
  /** The text that is being streamed. Thoughts and the text of a plan have different labels, and are different texts. */
  private current: { form: TextForm<T>; label: string } | undefined

  constructor(toForm: ToTextForm<T>, holding: Holding) {
    this.toForm = toForm
    this.segments = new Segments(holding)
  }

  /** `beforeText`: written before a text that begins. */
  take(event: Extract<LoggedEvent, { type: 'text' }>, beforeText?: () => readonly T[]): T[] {
    const piece = this.segments.take(event)
    if (event.label !== 'answer') return event.text === '' ? [] : this.toDelta(event.label, event.text, beforeText)
    if (!piece) return []
    if (!piece.startsSegment) return this.toDelta('answer', piece.text, beforeText)
    // An answer that does not continue its predecessor is a text of its own.
    const closing = this.close()
    return [...closing, ...this.toDelta('answer', piece.text, beforeText)]
  }

  /** Ends the current text: another event comes between. */
  interrupt(event: LoggedEvent): readonly T[] {
    this.segments.take(event)
    return this.close()
  }

  /** Ends the texts. A held answer is the last one. `beforeText`: as of `take`. */
  end(event: EndEvent, beforeText?: () => readonly T[]): readonly T[] {
    const ending = this.interrupt(event)
    const answer = this.heldAnswer(event)
    return answer === '' ? ending : [...ending, ...this.toDelta('answer', answer, beforeText), ...this.close()]
  }

  /** The answer with a schema; empty for none. */
  heldAnswer(event: EndEvent): string {
    return this.segments.heldAnswer(event)
  }

  private toDelta(label: string, text: string, beforeText?: () => readonly T[]): T[] {
    if (this.current?.label === label) return [this.current.form.delta(text)]
    const closing = this.close()
    const before = beforeText?.() ?? []
    const form = this.toForm(label === 'answer' ? 'text' : 'reasoning', this.count++)
    this.current = { form, label }
    return [...closing, ...before, ...form.opening, form.delta(text)]
  }

  private close(): readonly T[] {
    const closing = this.current?.form.closing ?? []
    this.current = undefined
    return closing
  }
}
