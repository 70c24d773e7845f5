import type { EndEvent, LoggedEvent } from '../../runs/run.ts'
import { Segments, type Holding } from './segments.ts'

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
  take(event: Extract<LoggedEvent, { type: 'text' }>, beforeText: () => readonly T[] = () => []): T[] {
    const piece = this.segments.take(event)
    if (event.label !== 'answer') return event.text === '' ? [] : this.toDelta(event.label, event.text, beforeText)
    if (!piece) return []
    // An answer that does not continue its predecessor is a text of its own.
    const closing = piece.startsSegment ? this.close() : []
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

  private toDelta(label: string, text: string, beforeText: () => readonly T[] = () => []): T[] {
    if (this.current?.label === label) return [this.current.form.delta(text)]
    const closing = this.close()
    const before = beforeText()
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
