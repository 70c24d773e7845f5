import { AgentCoreError, isObject, networkError, parseJson } from '../error.ts'
import type { Schema } from '../operation.ts'
import type { ServerSentEvent } from './event-parser.ts'

/** A part of an answer, with the number of its event in the log of the run. */
export type Chunk = Schema<'StreamChunk'> & {
  /** From 1 without gaps. After the loss of a process, a `retrying` chunk goes back to an earlier number. */
  number: number
}

/** Reads the chunk of an event, whose id is `<request id>:<number>`. */
export function toChunk({ id, data }: ServerSentEvent): Chunk {
  const number = numberOf(id)
  const chunk = parseJson(data)
  if (isObject(chunk) && number !== undefined) return { ...(chunk as Schema<'StreamChunk'>), number }
  throw new AgentCoreError('An event of the stream cannot be read.', { status: 200, errorType: 'InvalidReply' })
}

/** The number of an event id, or the number itself; undefined for any other text. */
export function numberOf(id: string | number): number | undefined {
  const digits = /(?:^|:)(\d{1,9})$/.exec(String(id))?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Whether a chunk is the last one that comes by itself: the run has ended, or waits for somebody. */
export function isLast({ finish_reason: reason }: Chunk): boolean {
  return reason !== 'null'
}

/** Whether the run goes on after this last chunk, once its calls are decided. */
export function isInterruption(chunk: Chunk): boolean {
  return chunk.approval_required !== undefined
}

/** The place of a reader in the log of a run. */
export interface Position {
  /** Number of the last chunk that was accepted. */
  readonly number: number
  /** Whether a chunk is the next one. False for a chunk that was accepted before; throws `AgentCoreError` if chunks are missing. */
  accept(chunk: Chunk): boolean
}

export function createPosition(after: number): Position {
  let last = after
  return {
    get number() {
      return last
    },
    accept({ number, agent_step: label }) {
      if (number > last + 1) throw networkError(`Event ${last + 1} of the stream is missing.`)
      // The chunk itself has the number of the last event that still counts.
      const isRewind = label === 'retrying' && number <= last
      if (number <= last && !isRewind) return false
      last = number
      return true
    },
  }
}
