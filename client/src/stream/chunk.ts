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
  const digits = digitsOf(id)
  const chunk = parseJson(data)
  if (isObject(chunk) && digits !== undefined) return { ...(chunk as Schema<'StreamChunk'>), number: Number(digits) }
  throw new AgentCoreError('An event of the stream cannot be read.', { status: 200, errorType: 'InvalidReply' })
}

/** How far a running call is. `message` is a text of the tool. */
export type StepProgress = NonNullable<Schema<'StreamChunk'>['progress']> & {
  /** `tool:<name>`, or `sub_agent:<name>`. */
  agent_step: string
}

/** Reads an event named `progress`; undefined for events with other names, which are skipped. */
export function toProgress({ type, data }: ServerSentEvent): StepProgress | undefined {
  const chunk = type === 'progress' ? parseJson(data) : undefined
  if (!isObject(chunk)) return undefined
  const { progress, agent_step } = chunk as Schema<'StreamChunk'>
  return progress && { ...progress, agent_step }
}

/** The number of an event id, or the number itself, as its digits; undefined for any other text. */
export function digitsOf(id: string | number): string | undefined {
  return /(?:^|:)(\d{1,9})$/.exec(String(id))?.[1]
}

/** True for the last chunk of a stream: the run has ended, or waits for a decision. */
export function isLast({ finish_reason: reason }: Chunk): boolean {
  return reason !== 'null'
}

/** Error types of a process that stops, or has lost the database. The run itself has not ended: another process resumes the run. */
const handOvers = new Set(['Overloaded', 'StoreUnavailable'])

/**
 * Returns the error of a process that cannot send the rest of a run, although the run goes on; undefined for any other chunk. Such a chunk
 * has the number of the event before. Earlier versions of the service send the next number.
 */
export function readFailureOf({ number, error }: Chunk, after: number): AgentCoreError | undefined {
  if (!error) return undefined
  const { body, status_code: status, details = { error_type: 'Exception' } } = error
  const isHandOver = status === 503 && handOvers.has(details.error_type)
  if (number > after && !isHandOver) return undefined
  return new AgentCoreError(body, { status, errorType: details.error_type, details })
}

/** Position of a reader in the log of a run. */
export interface Position {
  /** Number of the last chunk that was accepted. */
  readonly number: number
  /** The number as the event had it. A zero in front tells the last event from an event of a lost attempt. */
  readonly digits: string
  /** Moves the position to a chunk of an event. Returns false for a repeated chunk. Throws `AgentCoreError` if chunks are missing. */
  accept(chunk: Chunk, id: string): boolean
}

export function createPosition(after: string): Position {
  let digits = after
  let last = Number(after)
  return {
    get number() {
      return last
    },
    get digits() {
      return digits
    },
    accept({ number, agent_step: label }, id) {
      if (number > last + 1) throw networkError(`Event ${last + 1} of the stream is missing.`)
      // A rewinding chunk has the number of the last event that is still valid.
      const isRewind = label === 'retrying' && number <= last
      if (number <= last && !isRewind) return false
      last = number
      digits = digitsOf(id) ?? String(number)
      return true
    },
  }
}
