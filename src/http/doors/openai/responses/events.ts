import { errorOf } from '../../../../runs/log/outcome.ts'
import { isLastEvent, type EndEvent, type LastEvent } from '../../../../runs/run.ts'
import type { UsageEntry } from '../../../../sessions/message.ts'
import type { AnswerFile } from '../../../../artifacts/answer-files.ts'
import type { RunStream } from '../../core/stream-chunks.ts'
import { isPartEnd } from './parts.ts'
import { createOutput, endedResponse, openResponse, type ResponseHead } from './response.ts'
import { endStatusOf } from './state.ts'

interface StreamOptions {
  /** True where the answer of the run has a schema. */
  hasSchema: boolean
  /** The last event that the reader has; -1 for none. */
  startingAfter?: number
  /** True for a run that the reader knows: the stream begins at once. */
  isReplay?: boolean
  /** Epoch milliseconds of the end of the run; undefined for a run that goes on. */
  endedAt?: number | undefined
  /** Events of the run from before a lost process: later events may have other contents than the reader has seen. */
  restoredAt?: number | undefined
}

/**
 * Renders a run, from its first event on, as the events of a streamed response, numbered from 0. The events of earlier parts, and those up to
 * `startingAfter`, are left out, so each reader gets the same numbers. The opening is what a background response sends before its run has begun.
 */
export function streamResponse(head: ResponseHead, options: StreamOptions): RunStream {
  const { hasSchema, endedAt, restoredAt, isReplay } = options
  let startingAfter = options.startingAfter ?? -1
  let number = 0
  let text = ''
  let part = 1
  let usageBefore: readonly UsageEntry[] = []

  function event(type: string, fields: object): void {
    if (part < head.part) return
    if (number > startingAfter) text += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`
    number++
  }

  function delta(type: string, place: string, piece: string): void {
    if (part < head.part) return
    if (number > startingAfter)
      text += `event: ${type}\ndata: {"type":"${type}","sequence_number":${number}${place}${JSON.stringify(piece)}}\n\n`
    number++
  }

  const output = createOutput(head, hasSchema, { event, delta })

  function begin(): void {
    const { background } = head.fields
    const status = background ? 'queued' : 'in_progress'
    event('response.created', { response: openResponse(head, status) })
    if (background) event('response.queued', { response: openResponse(head, status) })
  }

  function progress(): void {
    event('response.in_progress', { response: openResponse(head, 'in_progress') })
  }

  function end(last: LastEvent, files: readonly AnswerFile[] | undefined): void {
    const items = output.finish(last, files)
    const status = endStatusOf(last)
    const type = errorOf(last) ? 'failed' : status
    event(`response.${type}`, { response: endedResponse(head, items, { end: last, endedAt, files, usageBefore }) })
  }

  /** Sends `response.failed` with the number of the last event that the reader has: the events that would close the items are still to come. */
  function fail(fault: EndEvent): void {
    if (part < head.part) {
      part = head.part
      begin()
    }
    const response = endedResponse(head, output.completed(), { end: fault, endedAt, files: undefined, usageBefore })
    const fields = { type: 'response.failed', sequence_number: Math.max(number - 1, startingAfter), response }
    text += `event: response.failed\ndata: ${JSON.stringify(fields)}\n\n`
  }

  function flush(): string {
    const flushed = text
    text = ''
    return flushed
  }

  if (head.part === 1) begin()
  // `response.in_progress` comes before all that the run does: it is the next event of a first part, and is never made anew.
  if (restoredAt === 0) startingAfter = Math.min(startingAfter, head.part === 1 ? number : -1)
  let isFirst = true
  return {
    opening: isReplay || head.fields.background ? flush() : '',
    toChunk(eventNumber, logged, isLast, files) {
      if (isFirst && part === head.part) {
        isFirst = false
        progress()
      }
      if (isPartEnd(logged) && part < head.part) {
        output.skip(logged)
        usageBefore = logged.usage
        part++
        if (part === head.part) begin()
      } else if (isLast && isLastEvent(logged)) {
        if (part < head.part) {
          // The run could not be followed.
          part = head.part
          begin()
        }
        end(logged, files)
      } else output.take(logged)
      // The reader has events of a lost attempt, which the current attempt has made anew.
      if (eventNumber === restoredAt) startingAfter = Math.min(startingAfter, number - 1)
      return flush()
    },
    toFault(fault) {
      fail(fault)
      return flush()
    },
  }
}
