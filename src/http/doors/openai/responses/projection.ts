import type { EventLog } from '../../../../runs/log/event-log.ts'
import { errorOf } from '../../../../runs/log/outcome.ts'
import { lastOfPart } from '../../../../runs/parts.ts'
import { toStream, type Projection, type RunStream } from '../../../send-run.ts'
import { createOutput, endedResponse, endStatusOf, openResponse, type ResponseHead } from './response.ts'

/** An event of a streamed response. */
export interface ResponseEvent {
  type: string
  sequence_number: number
  fields: object
  /** A piece of text, as a field behind `fields`, which are the same object for all pieces of a text. */
  delta: string | undefined
}

interface StreamOptions {
  /** True where the answer of the run has a schema. */
  hasSchema: boolean
  /** The last event that the reader has; -1 for none. */
  startingAfter?: number
  /** True for a run that the reader knows: the stream begins at once. */
  isReplay?: boolean
  /** Epoch milliseconds of the end of the run; undefined for a run that goes on. */
  endedAt?: number | undefined
  /** The log of a run that the reader knows: events that were made again may have other contents than the reader has seen. */
  log?: Pick<EventLog, 'restoredAt'>
}

/**
 * The part of a run as the events of a streamed response, numbered from 0. The events up to `startingAfter` are left out, so each reader gets the
 * same numbers. The opening is what a background response sends before its run has begun.
 */
export function responseEventsOf(head: ResponseHead, options: StreamOptions): Projection<ResponseEvent> {
  const { hasSchema, endedAt, log, isReplay } = options
  const { part } = head
  const { background } = head.fields
  let startingAfter = options.startingAfter ?? -1
  let number = 0
  let events: ResponseEvent[] = []

  function send(type: string, fields: object, delta?: string): void {
    if (number > startingAfter) events.push({ type, sequence_number: number, fields, delta })
    number++
  }

  function flush(): ResponseEvent[] {
    const flushed = events
    events = []
    return flushed
  }

  let isBegun = false
  const output = createOutput(head, hasSchema, (type, fields, delta) => {
    if (isBegun) send(type, fields, delta)
  })
  isBegun = true
  const status = background ? 'queued' : 'in_progress'
  send('response.created', { response: openResponse(head, status) })
  if (background) send('response.queued', { response: openResponse(head, status) })
  let isInProgress = false

  /** What the event of this number shows is made. `response.in_progress` comes before all that the run does, and is never made anew. */
  function begin(eventNumber: number): void {
    if (!isInProgress) send('response.in_progress', { response: openResponse(head, 'in_progress') })
    isInProgress = true
    // The reader may have events of a lost attempt, which the current attempt has made anew.
    if (log?.restoredAt !== undefined && eventNumber > log.restoredAt) startingAfter = Math.min(startingAfter, number - 1)
  }

  return {
    opening: isReplay || background ? flush() : [],
    take(event, eventNumber) {
      begin(eventNumber)
      output.take(event)
      return flush()
    },
    last(event, eventNumber, files) {
      begin(eventNumber)
      const end = lastOfPart(part, event)
      const items = output.finish(end, files)
      const type = errorOf(end) ? 'failed' : endStatusOf(end)
      send(`response.${type}`, { response: endedResponse(head, items, { end, endedAt, files }) })
      return flush()
    },
    // The number is that of the last event that the reader has: the events that would close the items are still to come.
    fault(end) {
      const fields = { response: endedResponse(head, output.completed(), { end, endedAt }) }
      const failed = { type: 'response.failed', sequence_number: Math.max(number - 1, startingAfter), fields, delta: undefined }
      return [...flush(), failed]
    },
  }
}

/** The events of a response as server-sent events. */
export function streamResponse(head: ResponseHead, options: StreamOptions): RunStream {
  let place: object | undefined
  let placeText = ''
  return toStream(responseEventsOf(head, options), ({ type, sequence_number: number, fields, delta }) => {
    const open = `event: ${type}\ndata: {"type":"${type}","sequence_number":${number}`
    if (delta === undefined) return `${open},${JSON.stringify(fields).slice(1)}\n\n`
    if (fields !== place) {
      place = fields
      placeText = `,${JSON.stringify(fields).slice(1, -1)},"delta":`
    }
    return `${open}${placeText}${JSON.stringify(delta)}}\n\n`
  })
}
