import type { AnswerFile } from '../artifacts/answer-files.ts'
import type { EventLog, LogReader } from '../runs/log/event-log.ts'
import type { EndEvent, LastEvent, LoggedEvent } from '../runs/run.ts'
import { isLastEvent } from '../runs/log/event-log.ts'
import type { ToReaderFiles } from './reader.ts'

/** The events of one run as the objects of a protocol. A projection has a state, so each reader has a projection of its own. */
export interface Projection<T> {
  /** Objects that are sent at once, before the first event; default: none. */
  opening?: readonly T[]
  /** Takes an event that is not the last one. After an `interrupt`, the run has resumed. `number`: of the event, from 1. */
  take(event: LoggedEvent, number: number): readonly T[]
  /** Takes the last event. `files`: the files of the run. */
  last(event: LastEvent, number: number, files: readonly AnswerFile[]): readonly T[]
  /** Takes a failure that is no event of the run. Default: `last`, with the number of the last event that the reader has received. */
  fault?(fault: EndEvent): readonly T[]
}

/** A projection as the text of server-sent events. */
export interface RunStream {
  opening: string
  take(event: LoggedEvent, number: number): string
  last(event: LastEvent, number: number, files: readonly AnswerFile[]): string
  /** `received`: number of the last event that the reader has received. */
  fault(fault: EndEvent, received: number): string
}

/** `frame` writes one object as a server-sent event. Every token takes this path, so a frame has the constant parts as prebuilt text. */
export function toStream<T>(projection: Projection<T>, frame: (object: T) => string): RunStream {
  function toText(objects: readonly T[] = []): string {
    let text = ''
    for (const object of objects) text += frame(object)
    return text
  }
  return {
    opening: toText(projection.opening),
    take: (event, number) => toText(projection.take(event, number)),
    last: (event, number, files) => toText(projection.last(event, number, files)),
    // The reader resumes after `received`, so the failure must not use the number of an event that is still to come.
    fault: (fault, received) => toText(projection.fault ? projection.fault(fault) : projection.last(fault, received, [])),
  }
}

/** The frame of protocols whose events have data alone. */
export function toData(object: unknown): string {
  return `data: ${JSON.stringify(object)}\n\n`
}

/** The last text of protocols that end a stream by a word. */
export const doneText = 'data: [DONE]\n\n'

export interface StreamReader {
  stream: RunStream
  /** Number of the last event that the reader has received. */
  after: number
  disconnected: AbortSignal
  toFiles: ToReaderFiles
}

const maxTextLength = 65_536

/** Where the texts of a stream go. A promise of `write` is back-pressure. */
export interface TextSink {
  write(text: string): Promise<void> | undefined
  /** Ends the stream, with a last text. */
  end(text?: string): void
  destroy(): void
}

/**
 * Writes the events of a log as text, one text for each batch. A fault of the log is the last text. Resolves when the sink is ended, or destroyed
 * after a failure of the sink or the projection.
 */
export function sendLog(log: EventLog, reader: StreamReader, sink: TextSink): Promise<void> {
  return new Promise((resolve) => log.subscribe(reader.after, reader.disconnected, new LogSender(log, reader, sink, resolve)))
}

class LogSender implements LogReader {
  private readonly log: EventLog
  private readonly reader: StreamReader
  private readonly sink: TextSink
  private readonly onEnd: () => void
  /** Number of the last event that the reader has received. */
  private received: number

  constructor(log: EventLog, reader: StreamReader, sink: TextSink, onEnd: () => void) {
    this.log = log
    this.reader = reader
    this.sink = sink
    this.onEnd = onEnd
    this.received = reader.after
  }

  batch(first: number, events: LoggedEvent[]): Promise<void> | undefined {
    this.received = first + events.length - 1
    const { text, next } = this.toText(first, events, 0)
    if (next < events.length) return this.writeRest(first, events, text, next)
    return text === '' ? undefined : this.sink.write(text)
  }

  /** A failure here would end the process: the log calls from a timer. */
  end(failure?: unknown): void {
    const { log, reader, sink } = this
    try {
      if (failure !== undefined) sink.destroy()
      else sink.end(log.fault && reader.stream.fault(log.fault, this.received))
    } catch {
      sink.destroy()
    }
    this.onEnd()
  }

  /** The text of events from index `from`, up to the last event of the log or the limit of a text, and the index behind them. */
  private toText(first: number, events: readonly LoggedEvent[], from: number): { text: string; next: number } {
    const { stream } = this.reader
    let text = ''
    let next = from
    for (; next < events.length && text.length < maxTextLength; next++) {
      const event = events[next]!
      if (this.isLast(event, first + next)) break
      text += stream.take(event, first + next)
    }
    return { text, next }
  }

  private isLast(event: LoggedEvent, number: number): event is LastEvent {
    return isLastEvent(event) && number === this.log.events.length && this.log.isComplete
  }

  /** Writes the last event with its files. A client that joins late gets a long log in pieces, so that no socket buffers the whole log. */
  private async writeRest(first: number, events: readonly LoggedEvent[], begin: string, from: number): Promise<void> {
    const { stream, toFiles } = this.reader
    let text = begin
    let next = from
    for (;;) {
      const event = events[next]
      if (event && text.length < maxTextLength && this.isLast(event, first + next)) {
        text += stream.last(event, first + next, event.files ? await toFiles(event.files) : [])
        next++
      }
      if (text !== '') await this.sink.write(text)
      if (next >= events.length) return
      ;({ text, next } = this.toText(first, events, next))
    }
  }
}
