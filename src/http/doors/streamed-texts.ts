import type { EndEvent, LoggedEvent } from '../../runs/run.ts'
import { Segments, type Holding } from './segments.ts'

export type TextKind = 'text' | 'reasoning'

/** How a protocol writes one text that is streamed, as server-sent events. */
export interface TextForm {
  opening: string
  /** Prebuilt JSON before the text of a delta. */
  delta: string
  closing: string
}

/** The form of the text with a number, counted from 0 in a run. */
export type ToTextForm = (kind: TextKind, number: number) => TextForm

const nothing = () => ''

/** The texts of a run for protocols that name each text: an uninterrupted stretch of the answer, and each thought, is one. */
export class StreamedTexts {
  private readonly segments: Segments
  private readonly toForm: ToTextForm
  private count = 0
  /** The text that is being streamed. Thoughts and the text of a plan have different labels, and are different texts. */
  private current: (TextForm & { label: string }) | undefined

  constructor(toForm: ToTextForm, holding: Holding) {
    this.toForm = toForm
    this.segments = new Segments(holding)
  }

  /** `beforeText`: written before a text that begins. */
  take(event: Extract<LoggedEvent, { type: 'text' }>, beforeText: () => string = nothing): string {
    const piece = this.segments.take(event)
    if (event.label !== 'answer') return event.text === '' ? '' : this.toDelta('reasoning', event.label, event.text, beforeText)
    if (!piece) return ''
    // An answer that does not continue its predecessor is a text of its own.
    const closing = piece.startsSegment ? this.close() : ''
    return closing + this.toDelta('text', event.label, piece.text, beforeText)
  }

  /** Ends the current text: another event comes between. */
  interrupt(event: LoggedEvent): string {
    this.segments.take(event)
    return this.close()
  }

  /** Ends the texts. A held answer is the last one. `beforeText`: as of `take`. */
  end(event: EndEvent, beforeText: () => string = nothing): string {
    const ending = this.interrupt(event)
    const answer = this.heldAnswer(event)
    return answer === '' ? ending : ending + this.toDelta('text', 'answer', answer, beforeText) + this.close()
  }

  /** The answer with a schema; empty for none. */
  heldAnswer(event: EndEvent): string {
    return this.segments.heldAnswer(event)
  }

  private toDelta(kind: TextKind, label: string, text: string, beforeText: () => string): string {
    const opening = this.current?.label === label ? '' : this.close() + beforeText() + this.open(kind, label)
    return `${opening}${this.current!.delta}${JSON.stringify(text)}}\n\n`
  }

  private open(kind: TextKind, label: string): string {
    this.current = { ...this.toForm(kind, this.count++), label }
    return this.current.opening
  }

  private close(): string {
    const closing = this.current?.closing ?? ''
    this.current = undefined
    return closing
  }
}
