import type { AnswerFile } from '../artifacts/answer-files.ts'
import type { EventLog } from '../runs/log/event-log.ts'
import { isLastEvent, type EndEvent, type LastEvent, type LoggedEvent } from '../runs/run.ts'
import type { ToReaderFiles } from './answer-files.ts'

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

/** Yields the text of all events since the previous text, in pieces of at most about `maxTextLength` characters. A fault of the log is the last text. */
export async function* toTexts(log: EventLog, { stream, after, disconnected, toFiles }: StreamReader): AsyncGenerator<string, void> {
  let received = after
  for await (const { first, events } of log.follow(after, disconnected)) {
    let text = ''
    let number = first
    for (const event of events) {
      if (isLastEvent(event) && number === log.events.length && log.isComplete)
        text += stream.last(event, number, event.files ? await toFiles(event.files) : [])
      else text += stream.take(event, number)
      number++
      // A client that joins late gets a long log in pieces, so that no socket buffers the whole log.
      if (text.length < maxTextLength) continue
      yield text
      text = ''
    }
    if (text !== '') yield text
    received = number - 1
  }
  if (log.fault) yield stream.fault(log.fault, received)
}
