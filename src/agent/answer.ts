import type { AgentEvent, TextLabel } from './events.ts'

/**
 * Keeps the rule that the answer is the `answer` text behind the last event with another label: reasoning that comes after the answer
 * has begun is held back until the model has finished, and an answer that something came behind is told once more.
 */
export class Answer {
  /** The best answer before the model call that runs. */
  private earlier: string
  private current = ''
  private held: string[] = []
  /** A run that goes on has steps behind what was said before. */
  private somethingBehind = true

  constructor(earlier = '') {
    this.earlier = earlier
  }

  turnStarts(): void {
    this.earlier = this.best
    this.current = ''
  }

  stepsFollow(): void {
    this.somethingBehind = true
  }

  /** The best answer is this now, without having been told as one. */
  gains(text: string): void {
    this.earlier = text
    this.current = ''
    this.somethingBehind = true
  }

  startsAnew(): void {
    this.current = ''
    this.held = []
    this.somethingBehind = true
  }

  holds(reasoning: string): boolean {
    if (this.current === '') return false
    this.held.push(reasoning)
    return true
  }

  add(label: TextLabel, text: string): AgentEvent {
    if (label === 'answer') this.current += text
    if (text !== '') this.somethingBehind = label !== 'answer'
    return { type: 'text', label, text }
  }

  heldReasoning(): string[] {
    return this.held.splice(0)
  }

  /** What a broken attempt said is void, and no answer. */
  private get best(): string {
    return this.current === '' ? this.earlier : this.current
  }

  get needsRepeat(): boolean {
    return this.somethingBehind && this.best !== ''
  }

  repeat(): AgentEvent {
    this.somethingBehind = false
    return { type: 'text', label: 'answer', text: this.best }
  }
}
