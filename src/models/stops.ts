import type { ModelReply, ModelSink } from '../agent/model.ts'
import { TextBuilder } from '../agent/answer.ts'

/** Stop texts that a provider does not take are applied here: the answer ends before the first of them, and the rest is read for its usage. */

/** Finds the first stop text in a text that arrives in pieces. */
class StopFilter {
  isStopped = false
  /** The text before the stop. */
  readonly text = new TextBuilder()
  private readonly stops: readonly string[]
  /** The end of the text that may be the begin of a stop. */
  private held = ''

  constructor(stops: readonly string[]) {
    this.stops = stops
  }

  /** Returns the text that is certain to be part of the answer. */
  accept(piece: string): string {
    if (this.isStopped) return ''
    const text = this.held + piece
    const places = this.stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
    this.isStopped = places.length > 0
    return this.pass(text, this.isStopped ? Math.min(...places) : this.startOfStop(text))
  }

  /** Returns the text that was held back, which is no stop. */
  flush(): string {
    return this.isStopped ? '' : this.pass(this.held, this.held.length)
  }

  private pass(text: string, end: number): string {
    this.held = text.slice(end)
    const passed = text.slice(0, end)
    this.text.add(passed)
    return passed
  }

  private startOfStop(text: string): number {
    const longest = Math.max(...this.stops.map((stop) => stop.length)) - 1
    for (let at = Math.max(0, text.length - longest); at < text.length; at++) {
      if (this.stops.some((stop) => stop.startsWith(text.slice(at)))) return at
    }
    return text.length
  }
}

/**
 * Ends the answer of a reply before the first of the stop texts. Calls behind the stop are dropped, and so is what belongs to the whole text.
 * `ask` asks the model with a sink.
 */
export async function withStops(
  stops: readonly string[],
  sink: ModelSink,
  ask: (sink: ModelSink) => Promise<ModelReply>,
): Promise<ModelReply> {
  const filter = new StopFilter(stops)
  const whole = await ask((event) => {
    const text = event.type === 'text' ? filter.accept(event.text) : filter.flush()
    const storing = text === '' ? undefined : sink({ type: 'text', text })
    if (event.type === 'text') return storing
    return storing ? storing.then(() => sink(event)) : sink(event)
  })
  const rest = filter.flush()
  if (rest !== '') await sink({ type: 'text', text: rest })
  return filter.isStopped ? toStopped(whole, filter.text.toText()) : whole
}

function toStopped(whole: ModelReply, text: string): ModelReply {
  const { vendor: _, sources = [], ...reply } = whole
  const sourcesBefore = sources.filter(({ end = 0 }) => end <= text.length)
  return { ...reply, text, toolCalls: [], finish: 'stop', ...(sourcesBefore.length > 0 && { sources: sourcesBefore }) }
}
